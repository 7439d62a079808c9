// Market search as you type; without a search, the most traded open markets.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/compat'
import { Card } from '../../parts/card.tsx'
import { Form, Submit, TextField } from '../../parts/controls.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { currentRoute, hrefOf, navigate, type PageProps, type PageRoute } from '../../route.ts'
import { RecentLinks } from '../../search/recent-links.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { MarketTable } from './market-table.tsx'

const rows = { default: 20, max: 50 } as const
const debounceMs = 250
const refreshMs = 10_000

/** The search in the address. */
const textOf = ({ query }: PageRoute): string => query.get('q')?.trim() ?? ''

export function Find({ route }: PageProps) {
  const text = textOf(route)
  const showMore = route.query.has('all')
  const limit = showMore ? rows.max : rows.default
  const query = useEndpoint('markets.search', { q: text, limit }, { refreshMs, keepPrevious: true })
  return (
    <>
      <h1>Markets</h1>
      <p className="lead">
        Prediction markets from the feeds of this server: prices, history, and the first funding of the addresses in
        them.
      </p>
      <SearchBox text={text} />
      {text === '' && <RecentLinks page="markets" />}
      <Card id="found-title" title={text === '' ? 'Most traded open markets' : `Markets matching “${text}”`}>
        <QueryResult of={query} waiting="Loading markets…">
          {({ reply: { markets } }) =>
            markets.length === 0 ? (
              <NoMatches text={text} />
            ) : (
              <MarketTable
                name="Found markets"
                markets={markets}
                statusOf={({ open }) => (
                  <span className={`badge status ${open ? 'good' : ''}`}>{open ? 'open' : 'not open'}</span>
                )}
              />
            )
          }
        </QueryResult>
        {query.data?.reply.markets.length === rows.default && !showMore && (
          <p>
            <a href={hrefOf('markets', [], { q: text, all: 1 })}>Show more</a>
          </p>
        )}
      </Card>
    </>
  )
}

/**
 * Searches while you type. The first letter of a search adds a history entry and the others replace it, so that the back
 * button returns to the previous search, not to the previous letter.
 */
function SearchBox({ text: initialText }: { readonly text: string }) {
  const [text, setText] = useState(initialText)
  /** The search that this field put into the address. Any other value came from a link or the back button. */
  const written = useRef(initialText)
  const isTyping = useRef(false)
  const timer = useRef<number>()
  useEffect(() => () => window.clearTimeout(timer.current), [])
  // Before the browser paints, so that the field and the heading above the results change together.
  useLayoutEffect(() => {
    if (written.current === initialText) return
    // The field has changed the address since this search was rendered.
    if (initialText !== textOf(currentRoute())) return
    window.clearTimeout(timer.current)
    written.current = initialText
    isTyping.current = false
    setText(initialText)
  }, [initialText])
  const search = (query: string) => {
    window.clearTimeout(timer.current)
    if (query === written.current) return
    written.current = query
    const href = hrefOf('markets', [], { q: query })
    navigate(href, { replace: isTyping.current })
    isTyping.current = true
  }
  const type = (typed: string) => {
    setText(typed)
    window.clearTimeout(timer.current)
    timer.current = window.setTimeout(() => search(typed.trim()), debounceMs)
  }
  /** The next letter starts a new history entry. */
  const endTyping = () => {
    isTyping.current = false
  }
  const submit = () => {
    search(text.trim())
    endTyping()
  }
  return (
    <search>
      <Form className="card row" onSubmit={submit}>
        <TextField
          isWide
          label="Question, slug or tag"
          type="search"
          autoComplete="off"
          maxLength={200}
          value={text}
          onText={type}
          onBlur={endTyping}
        />
        <Submit>Search</Submit>
      </Form>
    </search>
  )
}

function NoMatches({ text }: { readonly text: string }) {
  if (text === '')
    return (
      <p className="note">
        No open markets. Import a file with <code>tetrad import markets FILE</code>, or add a feed to{' '}
        <code>tetrad.yaml</code> under <code>markets.feeds</code>.
      </p>
    )
  return (
    <p className="note">
      No matches. Search matches the start of each word. Use fewer words, or see the{' '}
      <a href={hrefOf('markets')}>most traded markets</a>.
    </p>
  )
}
