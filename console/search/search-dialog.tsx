// The search of the whole console: results while you type, before that recent and suggested items. The arrow keys move
// between the results, Enter opens the first one.
import { useEffect, useId, useRef, useState } from 'preact/compat'
import { Form } from '../parts/controls.tsx'
import { formatCount } from '../parts/format.ts'
import { type DialogProps, Modal } from '../parts/modal.tsx'
import { Failure } from '../parts/query-result.tsx'
import { clearRecent, remember, useRecent } from './recent.ts'
import type { RecentItem } from './recent-items.ts'
import { type ResultGroup, type SearchOutcome, useSearchResults, useSuggestions } from './results.ts'
import { kindTitles } from './search-result.ts'
import './search.css'

/** Each search calls the label search twice, which allows ten calls per second. */
const debounceMs = 250

type Item = RecentItem & { readonly detail?: string | undefined }

interface SearchDialogProps extends DialogProps {
  /** What was typed before the dialog was loaded. */
  readonly takeTyped: () => string
}

export function SearchDialog({ onClose, takeTyped }: SearchDialogProps) {
  const [text, setText] = useState(takeTyped)
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
    const items = [...(box.current?.querySelectorAll<HTMLElement>('input, a, section button') ?? [])]
    const at = items.indexOf(document.activeElement as HTMLElement)
    items[Math.max(0, Math.min(items.length - 1, at + step))]?.focus()
  }
  return (
    <Modal className="search-dialog" aria-label="Search" onClose={onClose} onKeyDown={onKeyDown}>
      <div ref={box}>
        <Form onSubmit={openFirst}>
          <input
            type="search"
            aria-label="Name, address, transaction, validator, market, quote, page or documentation"
            placeholder="Name, address, validator, market, documentation…"
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
          <ResultList isMixed results={recent} onOpen={onOpen} />
        </>
      )}
      {suggestions.length > 0 && (
        <>
          <h2>Suggestions</h2>
          <ResultList isMixed results={suggestions} onOpen={onOpen} />
        </>
      )}
    </>
  )
}

function Results({ text, onOpen }: { readonly text: string; readonly onOpen: () => void }) {
  const { data, error, isPlaceholderData } = useSearchResults(text)
  if (error) return <Failure error={error} />
  const { groups = [], failures = [] } = data ?? {}
  return (
    <>
      <p className="small soft" role="status">
        {data === undefined || isPlaceholderData ? 'Searching…' : formatTotal(data)}
      </p>
      {failures.map(({ names, reason }) => (
        <p key={reason} className="small note warn">
          Not searched: {names.join(', ')}. {reason}
        </p>
      ))}
      {groups.map((group) => (
        <Group key={`${group.kind} ${text}`} group={group} onOpen={onOpen} />
      ))}
    </>
  )
}

function formatTotal({ groups, isSimilar }: SearchOutcome): string {
  const total = groups.reduce((sum, group) => sum + group.total, 0)
  if (total === 0) return noResults
  const count = total === 1 ? '1 result' : `${formatCount(total)} results`
  const atLeast = groups.some(({ hasMore }) => hasMore) ? `At least ${count}` : count
  return isSimilar ? `No name matches exactly. Similar: ${atLeast}` : atLeast
}

const noResults =
  'No results. Names of labels and markets match the start of each word, names of pools and operators any part.'

/** Results of a group before it is opened. */
const shownMax = 5

function Group({ group, onOpen }: { readonly group: ResultGroup; readonly onOpen: () => void }) {
  const { kind, results, total, hasMore } = group
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const isCut = total > results.length || hasMore
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {kindTitles[kind]} <span className="count">{`${formatCount(total)}${hasMore ? '+' : ''}`}</span>
      </h2>
      <ResultList results={isOpen ? results : results.slice(0, shownMax)} onOpen={onOpen} />
      {results.length > shownMax && !isOpen && (
        <button type="button" className="plain" onClick={() => setOpen(true)}>
          {isCut ? `First ${results.length} results` : `All ${results.length} results`}
        </button>
      )}
      {isCut && isOpen && <p className="small soft">Add a word to find others.</p>}
    </section>
  )
}

interface ResultListProps {
  readonly results: readonly Item[]
  /** Of several kinds, so each shows its own. */
  readonly isMixed?: boolean
  readonly onOpen: () => void
}

function ResultList({ results, isMixed = false, onOpen }: ResultListProps) {
  const open = (item: RecentItem) => {
    // The pages of the console remember what they show.
    if (item.kind === 'Documentation') remember(item)
    onOpen()
  }
  return (
    <ul className={isMixed ? 'results mixed' : 'results'}>
      {results.map(({ kind, label, href, detail }) => (
        <li key={href}>
          <a href={href} onClick={() => open({ kind, label, href })}>
            {isMixed && <span className="badge">{kind}</span>} <span className="label">{label}</span>{' '}
            {detail && <span className="detail soft small">{detail}</span>}
          </a>
        </li>
      ))}
    </ul>
  )
}
