// The search box: `/` focuses it, the arrow keys choose a result, Enter opens it, Escape closes the list. The index loads
// on first use.
import { loadIndex } from '../../../console/shared/load-index.ts'
import { createSearch, type SearchResult } from '../../../console/shared/text-search.ts'
import { element } from './element.ts'

export function addSearch(siteRoot: URL): void {
  const input = document.querySelector<HTMLInputElement>('#docs-search')
  const list = document.querySelector<HTMLElement>('#docs-search-results')
  const status = document.querySelector<HTMLElement>('#docs-search-status')
  if (!input || !list || !status) return
  let loading: Promise<ReturnType<typeof createSearch>> | undefined
  let selected = -1

  const load = () => {
    loading ??= loadIndex(siteRoot).then(createSearch)
    // Try again with the next character.
    loading.catch(() => {
      loading = undefined
    })
    return loading
  }
  const options = () => [...list.querySelectorAll<HTMLAnchorElement>('[role=option]')]
  /** None if `at` is undefined. */
  const select = (at: number | undefined) => {
    const all = options()
    selected = at === undefined || all.length === 0 ? -1 : (at + all.length) % all.length
    for (const [i, option] of all.entries()) option.setAttribute('aria-selected', String(i === selected))
    const option = all[selected]
    if (option) input.setAttribute('aria-activedescendant', option.id)
    else input.removeAttribute('aria-activedescendant')
    option?.scrollIntoView({ block: 'nearest' })
  }
  const close = () => {
    list.hidden = true
    input.setAttribute('aria-expanded', 'false')
    showStatus('', false)
    select(undefined)
  }
  const showStatus = (text: string, isVisible: boolean) => {
    status.textContent = text
    status.className = isVisible ? 'no-results' : 'unseen'
  }
  const show = async () => {
    const query = input.value.trim()
    if (query === '') return close()
    const search = await load().catch(() => undefined)
    // The user has typed on meanwhile.
    if (query !== input.value.trim()) return
    const results = search?.(query) ?? []
    list.replaceChildren(...results.map((result, at) => renderResult(result, at, siteRoot)))
    if (results.length === 0) {
      close()
      return showStatus(search ? `No results for "${query}".` : 'The search index could not be loaded.', true)
    }
    showStatus(results.length === 1 ? '1 result' : `${results.length} results`, false)
    list.hidden = false
    input.setAttribute('aria-expanded', 'true')
    select(0)
  }

  input.addEventListener('focus', () => void load().catch(() => {}))
  input.addEventListener('input', () => void show())
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (list.hidden) void show()
      else select(selected + (event.key === 'ArrowDown' ? 1 : -1))
    } else if (event.key === 'Enter') options()[selected]?.click()
    else if (event.key === 'Escape' && !list.hidden) {
      // Keep the text, which the browser would delete.
      event.preventDefault()
      close()
    } else if (event.key === 'Escape') close()
  })
  // A result on this page changes only the fragment, so the list must close by itself.
  list.addEventListener('click', close)
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    input.focus()
    input.select()
  })
  document.addEventListener('click', (event) => {
    if (!(event.target as Element).closest('.search-box')) close()
  })
}

function renderResult({ path, anchor, title, heading, excerpt }: SearchResult, at: number, siteRoot: URL): HTMLElement {
  const { href } = new URL(`${path}${anchor === '' ? '' : `#${anchor}`}`, siteRoot)
  return element(
    'a',
    { href, id: `docs-search-result-${at}`, tabindex: '-1', role: 'option' },
    element('span', { class: 'result-title' }, heading),
    ...(heading === title ? [] : [' ', element('span', { class: 'result-page' }, title)]),
    ' ',
    element('span', { class: 'result-text' }, excerpt),
  )
}
