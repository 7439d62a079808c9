// The search of the whole console: results while you type, before that recent and suggested items. The arrow keys move
// between the results, Enter opens the first one.
import { useEffect, useRef, useState } from 'preact/compat'
import { Form } from '../parts/controls.tsx'
import { type DialogProps, Modal } from '../parts/modal.tsx'
import { clearRecent, useRecent } from './recent.ts'
import { type SearchResult, useSearchResults, useSuggestions } from './results.ts'
import './search.css'

const debounceMs = 150

export function SearchDialog({ onClose }: DialogProps) {
  const [text, setText] = useState('')
  const [search, setSearch] = useState('')
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const timer = setTimeout(() => setSearch(text.trim()), debounceMs)
    return () => clearTimeout(timer)
  }, [text])
  const openFirst = () => {
    // The results of an earlier text are not the ones to open.
    if (search !== text.trim()) setSearch(text.trim())
    else box.current?.querySelector('a')?.click()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // In a search field, browsers would only clear the text.
    if (event.key === 'Escape') onClose()
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const items = [...(box.current?.querySelectorAll<HTMLElement>('input, a') ?? [])]
    const at = items.indexOf(document.activeElement as HTMLElement)
    items[Math.max(0, Math.min(items.length - 1, at + step))]?.focus()
  }
  return (
    <Modal className="search-dialog" aria-label="Search" onClose={onClose} onKeyDown={onKeyDown}>
      <div ref={box}>
        <Form onSubmit={openFirst}>
          <input
            type="search"
            aria-label="Address, transaction, name, validator, pool, market or quote"
            placeholder="Address, transaction, name, validator, pool, market or quote"
            autoComplete="off"
            spellcheck={false}
            maxLength={200}
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
        </Form>
        {search === '' ? <Start onOpen={onClose} /> : <Results text={search} onOpen={onClose} />}
      </div>
      <p className="small soft">
        <kbd>↑</kbd> <kbd>↓</kbd> to move, <kbd>Enter</kbd> to open, <kbd>Esc</kbd> to close
      </p>
    </Modal>
  )
}

function Start({ onOpen }: { readonly onOpen: () => void }) {
  const recent = useRecent()
  const suggestions = useSuggestions()
  return (
    <>
      {recent.length > 0 && (
        <>
          <div className="spread">
            <h2>Recent</h2>
            <button type="button" className="plain" onClick={clearRecent}>
              Clear
            </button>
          </div>
          <ResultList results={recent} onOpen={onOpen} />
        </>
      )}
      {suggestions.length > 0 && (
        <>
          <h2>Suggestions</h2>
          <ResultList results={suggestions} onOpen={onOpen} />
        </>
      )}
    </>
  )
}

function Results({ text, onOpen }: { readonly text: string; readonly onOpen: () => void }) {
  const { data, isPlaceholderData } = useSearchResults(text)
  const isBusy = data === undefined || isPlaceholderData
  return (
    <>
      <p className="small soft" role="status">
        {isBusy ? 'Searching…' : data.length === 0 ? noResults : `${data.length} results`}
      </p>
      <ResultList results={data ?? []} onOpen={onOpen} />
    </>
  )
}

const noResults =
  'No results. Names of labels and markets match the start of each word, names of pools and operators any part.'

function ResultList({ results, onOpen }: { readonly results: readonly SearchResult[]; readonly onOpen: () => void }) {
  return (
    <ul className="results">
      {results.map(({ kind, label, href, detail }) => (
        <li key={href}>
          <a href={href} onClick={onOpen}>
            <span className="badge">{kind}</span> <span className="label">{label}</span>{' '}
            <span className="soft small">{detail}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}
