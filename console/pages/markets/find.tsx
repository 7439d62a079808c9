// Finding a market: the most traded open ones to begin with, and any by its words while they are typed.
import { type FormEvent, useEffect, useEffectEvent, useRef, useState } from 'react'
import type { FoundMarket } from '#api/wire/market-search.ts'
import { useEndpoint } from '../../calls.ts'
import { formatTime } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { hrefOf } from '../../route.ts'
import { formatPercent, grouped, outcomesOf } from './market-values.ts'

const rows = { usual: 20, max: 50 } as const
const typingMs = 250
const everyMs = 10_000

export function Find({ words: text, all }: { readonly words: string; readonly all: boolean }) {
  const limit = all ? rows.max : rows.usual
  const query = useEndpoint('markets.search', { q: text, limit }, { everyMs, keepPrevious: true })
  return (
    <>
      <h1>Markets</h1>
      <p className="lead">
        Prediction markets from your feeds: how each stands, how it came to stand so, and who is behind the addresses in
        it.
      </p>
      <SearchBox words={text} />
      <section className="card" aria-labelledby="found-title">
        <h2 id="found-title">{text === '' ? 'Most traded open markets' : `Markets with “${text}”`}</h2>
        <QueryResult of={query} waiting="Looking for markets…">
          {({ reply: { markets } }) =>
            markets.length === 0 ? <NoMatches words={text} /> : <MarketResults markets={markets} />
          }
        </QueryResult>
        {query.data?.reply.markets.length === rows.usual && !all && (
          <p>
            <a href={hrefOf('markets', [], { q: text, all: 1 })}>Show more</a>
          </p>
        )}
      </section>
    </>
  )
}

/**
 * Follows what is typed. The first letter of a search adds to the history and the others replace it, so that the back
 * button leads from one search to the one before and not through its letters.
 */
function SearchBox({ words: initialText }: { readonly words: string }) {
  const [text, setText] = useState(initialText)
  /** What this field put into the address; anything else there came from outside. */
  const own = useRef(initialText)
  const typing = useRef(false)
  useEffect(() => {
    if (own.current === initialText) return
    own.current = initialText
    typing.current = false
    setText(initialText)
  }, [initialText])
  const show = (shown: string) => {
    if (shown === own.current) return
    own.current = shown
    const href = hrefOf('markets', [], { q: shown })
    if (typing.current) window.location.replace(href)
    else window.location.assign(href)
    typing.current = true
  }
  const showTyped = useEffectEvent(show)
  useEffect(() => {
    const timer = setTimeout(() => showTyped(text.trim()), typingMs)
    return () => clearTimeout(timer)
  }, [text])
  /** What is typed from here on is another search. */
  const settle = () => {
    typing.current = false
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    show(text.trim())
    settle()
  }
  return (
    <search>
      <form className="card row" onSubmit={submit}>
        <label className="field wide">
          Words of a question, a slug or a tag
          <input
            type="search"
            autoComplete="off"
            maxLength={200}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onBlur={settle}
          />
        </label>
        <button type="submit" className="main">
          Search
        </button>
      </form>
    </search>
  )
}

function NoMatches({ words }: { readonly words: string }) {
  if (words === '')
    return (
      <p className="note">
        No market is open here. The operator brings markets in with <code>tetrad import markets FILE</code>, or from a
        feed under <code>markets.feeds</code> in <code>tetrad.yaml</code>.
      </p>
    )
  return (
    <p className="note">
      None. Every word must begin a word of the market; try fewer of them, or{' '}
      <a href={hrefOf('markets')}>see the most traded ones</a>.
    </p>
  )
}

function MarketResults({ markets }: { readonly markets: readonly FoundMarket[] }) {
  return (
    <ul className="found">
      {markets.map((market) => (
        <li key={market.id}>
          <span className="question">
            <a href={hrefOf('markets', [market.slug])}>{market.question || market.slug}</a>
            {!market.open && <span className="badge">not open</span>}
          </span>
          <First market={market} />
          <span className="volume">
            {market.volumeNum !== undefined && (
              <>
                {grouped(String(market.volumeNum))} <span className="soft small">traded</span>
              </>
            )}
          </span>
          <span className="ends soft small">
            {market.endDate !== undefined && `ends ${formatTime(market.endDate).slice(0, 10)}`}
          </span>
        </li>
      ))}
    </ul>
  )
}

function First({ market }: { readonly market: FoundMarket }) {
  const [first] = outcomesOf(market)
  if (first?.price === undefined) return <span className="soft">no price</span>
  return (
    <span className="first">
      <span>
        {first.name} {formatPercent(first.price)}
      </span>
      <span className="track" aria-hidden="true">
        <span style={{ width: `${first.share * 100}%` }} />
      </span>
    </span>
  )
}
