// One market as a page: how it stands, what stands around it, its past, and its changes as they happen.
import { useMemo } from 'react'
import type { ResponseMeta } from '#api/client.ts'
import type { MarketChange } from '#api/wire/market-changes.ts'
import type { Market as MarketRecord } from '#api/wire/markets.ts'
import { useEndpoint } from '../../calls.ts'
import { formatTime } from '../../parts/format.ts'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { hrefOf } from '../../route.ts'
import { Addresses } from './addresses.tsx'
import { Changes } from './changes.tsx'
import { Facts } from './facts.tsx'
import { type Live, useChanges, useLive } from './follow.ts'
import { applied, merged } from './history.ts'
import { MarketHistory, PastNote } from './market-history.tsx'
import { marketStatus } from './market-values.ts'
import { Outcomes } from './outcomes.tsx'
import { RelatedRecords } from './related-records.tsx'
import { plainly } from './values.ts'

/** The stream tells what changes; this finds out when the server itself is gone. */
const everyMs = 15_000

interface MarketProps {
  readonly slug: string
  readonly query: URLSearchParams
}

export function Market({ slug, query }: MarketProps) {
  const asOf = query.get('asOf') ?? undefined
  const now = useEndpoint('markets.bySlug', { slug }, { everyMs })
  const then = useEndpoint(
    'markets.bySlug',
    { slug, asOf: asOf ?? '' },
    { when: asOf !== undefined, keepPrevious: true },
  )
  const kept = useChanges(slug, query.get('related') === '1')
  const known = useMemo(() => kept.data?.pages.flatMap(({ changes }) => changes) ?? [], [kept.data])
  const live = useLive(slug, asOf === undefined && kept.data !== undefined, known[0]?.cursor)
  const changes = useMemo(() => merged(live.changes, known), [live.changes, known])
  const present = useMemo(
    () => now.data && (live.state === 'live' ? applied(now.data.reply, live.changes) : now.data.reply),
    [now.data, live],
  )
  const shown = asOf === undefined ? now : then
  return (
    <>
      <p className="small">
        <a href={hrefOf('markets')}>All markets</a>
      </p>
      {asOf !== undefined && <PastNote slug={slug} query={query} />}
      {shown.error && !shown.data ? (
        <MarketMissing slug={slug} error={shown.error} />
      ) : (
        <QueryResult of={shown} waiting="Asking for the market…">
          {({ reply, meta }) => {
            const market = asOf === undefined ? (present ?? reply) : reply
            return (
              <>
                <Head market={market} slug={slug} live={live} lost={now.error !== null} past={asOf !== undefined} />
                <MarketStatus market={market} meta={meta} />
                <MarketHistory key={asOf} slug={slug} market={present ?? market} changes={changes} query={query} />
                <div className="cards">
                  <RelatedRecords market={market} />
                  <Addresses market={market} />
                </div>
                <Log kept={kept} slug={slug} changes={changes} query={query} />
                <FullRecord market={market} />
              </>
            )
          }}
        </QueryResult>
      )}
    </>
  )
}

function MarketStatus({ market, meta }: { readonly market: MarketRecord; readonly meta: ResponseMeta | undefined }) {
  return (
    <div className="cards">
      <section className="card" aria-labelledby="outcomes-title">
        <h2 id="outcomes-title">Outcomes</h2>
        <Outcomes market={market} />
        <h3>How it is decided</h3>
        <p className="prose">{market.description || 'The source gives no description.'}</p>
      </section>
      <section className="card" aria-labelledby="facts-title">
        <h2 id="facts-title">Figures and dates</h2>
        <Facts market={market} />
        {meta?.asOf !== undefined && <p className="soft small">Last seen in a feed: {formatTime(meta.asOf)}.</p>}
      </section>
    </div>
  )
}

interface LogProps extends MarketProps {
  readonly kept: ReturnType<typeof useChanges>
  readonly changes: readonly MarketChange[]
}

function Log({ kept, ...props }: LogProps) {
  return (
    <QueryResult of={kept} waiting="Reading what changed…">
      {() => (
        <Changes
          {...props}
          onOlder={kept.hasNextPage ? () => void kept.fetchNextPage() : undefined}
          busy={kept.isFetchingNextPage}
        />
      )}
    </QueryResult>
  )
}

interface HeadProps {
  readonly market: MarketRecord
  readonly slug: string
  readonly live: Live
  readonly lost: boolean
  readonly past: boolean
}

function Head({ market, slug, live, lost, past }: HeadProps) {
  const { label, tone } = marketStatus(market)
  return (
    <>
      <h1>{market.question || market.slug || slug}</h1>
      <p className="row tags">
        <span className={`badge ${tone}`}>{label}</span>
        {market.category && <span className="badge">{market.category}</span>}
        {!past && <LiveStatus live={live} lost={lost} />}
        {market.slug !== undefined && market.slug !== slug && (
          <span className="soft">
            {past ? 'Then called' : 'Now called'} <code>{market.slug}</code>
          </span>
        )}
      </p>
    </>
  )
}

function LiveStatus({ live: { state, error }, lost }: { readonly live: Live; readonly lost: boolean }) {
  const text = lost
    ? 'The server does not answer; trying again'
    : state === 'live'
      ? 'Live'
      : state === 'stopped'
        ? `Not live: ${error instanceof Error ? error.message.replace(/^[a-z]+\.[A-Za-z]+: /, '') : 'the stream ended'}`
        : 'Connecting'
  return (
    <span
      className={`pulse ${lost || state === 'stopped' ? 'warn' : state === 'live' ? 'good' : 'soft'}`}
      role="status"
    >
      {text}
    </span>
  )
}

function MarketMissing({ slug, error }: { readonly slug: string; readonly error: unknown }) {
  return (
    <>
      <h1>{slug}</h1>
      <Failure
        error={error}
        nothing={
          <>
            There is no market with this slug, now or at the time asked for. A slug is exact, in capital and small
            letters too.{' '}
            <a href={hrefOf('markets', [], { q: slug.replaceAll(/[-_.~]+/g, ' ') })}>Search for its words</a>.
          </>
        }
      />
    </>
  )
}

/** Everything, for those who build on it. */
function FullRecord({ market }: { readonly market: MarketRecord }) {
  return (
    <details>
      <summary>The whole record as the interface answers it</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{JSON.stringify(market, plainly, 2)}</pre>
    </details>
  )
}
