// The page of one market: outcomes, figures, history, related records, addresses and live changes.
import { type ReactNode, useMemo } from 'preact/compat'
import type { ResponseMeta } from '#api/client/client.ts'
import { stringifyJson } from '#api/contract/json.ts'
import type { Market as MarketRecord } from '#api/contract/wire/markets.ts'
import { Card } from '../../parts/card.tsx'
import { formatTime } from '../../parts/format.ts'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { useItemTitle } from '../../parts/use-item-title.ts'
import { hrefOf } from '../../route.ts'
import { useRemember } from '../../search/recent.ts'
import { groupTitles } from '../../titles.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { Addresses } from './addresses.tsx'
import { Changes } from './changes.tsx'
import { EarlierPrices } from './earlier-prices.tsx'
import { type Live, useChanges, useLive } from './follow.ts'
import { applyChanges, mergeChanges } from './history.ts'
import { MarketBadge } from './market-badge.tsx'
import { MarketFacts } from './market-facts.tsx'
import { AsOfNotice, MarketHistory } from './market-history.tsx'
import type { MarketAddress } from './market-href.ts'
import { Outcomes } from './outcomes.tsx'
import { RelatedRecords } from './related-records.tsx'

/** The stream delivers changes. This polling detects that the server is down. */
const refreshMs = 15_000

export function Market({ slug, query }: MarketAddress) {
  const asOf = query.get('asOf') ?? undefined
  const current = useEndpoint('markets.bySlug', { slug }, { refreshMs })
  const past = useEndpoint(
    'markets.bySlug',
    { slug, asOf: asOf ?? '' },
    { isEnabled: asOf !== undefined, keepPrevious: true },
  )
  const stored = useChanges(slug, query.get('related') === '1')
  const storedChanges = useMemo(() => stored.data?.pages.flatMap(({ changes }) => changes) ?? [], [stored.data])
  const live = useLive(slug, asOf === undefined && stored.data !== undefined, storedChanges[0]?.cursor)
  const changes = useMemo(() => mergeChanges(live.changes, storedChanges), [live.changes, storedChanges])
  const currentMarket = useMemo(
    () => current.data && (live.state === 'live' ? applyChanges(current.data.reply, live.changes) : current.data.reply),
    [current.data, live],
  )
  const shown = asOf === undefined ? current : past
  const shownMarket = asOf === undefined ? (currentMarket ?? shown.data?.reply) : shown.data?.reply
  useItemTitle(current.data?.reply.question, groupTitles.markets)
  useRemember(
    current.data && { kind: 'Market', label: current.data.reply.question || slug, href: hrefOf('markets', [slug]) },
  )
  return (
    <>
      <p className="small">
        <a href={hrefOf('markets')}>All markets</a>
      </p>
      {asOf !== undefined && <AsOfNotice slug={slug} query={query} />}
      <h1>{shownMarket?.question || shownMarket?.slug || slug}</h1>
      <QueryResult
        of={shown}
        waiting="Loading the market…"
        failure={(error) => <MarketNotFound slug={slug} error={error} />}
      >
        {({ reply, meta }) => {
          const market = shownMarket ?? reply
          return (
            <>
              <MarketTags
                market={market}
                slug={slug}
                live={live}
                isOffline={current.error !== null}
                isPast={asOf !== undefined}
              />
              <MarketStatus market={market} meta={meta}>
                <EarlierPrices slug={slug} query={query} market={currentMarket ?? market} />
              </MarketStatus>
              <MarketHistory
                key={asOf}
                {...{ slug, changes, query }}
                market={currentMarket ?? market}
                onOlder={stored.hasNextPage ? () => void stored.fetchNextPage() : undefined}
                isLoading={stored.isFetchingNextPage}
              />
              <Card id="rules-title" title="Resolution rules">
                <p className="prose">{market.description || 'The source gives no description.'}</p>
              </Card>
              <div className="cards">
                <RelatedRecords market={market} />
                <Addresses market={market} />
              </div>
              <QueryResult of={stored} waiting="Loading changes…">
                {() => (
                  <Changes
                    {...{ slug, changes, query }}
                    onOlder={stored.hasNextPage ? () => void stored.fetchNextPage() : undefined}
                    isLoading={stored.isFetchingNextPage}
                  />
                )}
              </QueryResult>
              <FullRecord market={market} />
            </>
          )
        }}
      </QueryResult>
    </>
  )
}

interface MarketStatusProps {
  readonly market: MarketRecord
  readonly meta: ResponseMeta | undefined
  /** Below the outcomes. */
  readonly children: ReactNode
}

function MarketStatus({ market, meta, children }: MarketStatusProps) {
  return (
    <div className="cards">
      <Card id="outcomes-title" title="Outcomes">
        <Outcomes market={market} />
        {children}
      </Card>
      <Card id="facts-title" title="Figures and dates">
        <MarketFacts market={market} />
        {meta?.asOf !== undefined && <p className="soft small">Last seen in a feed: {formatTime(meta.asOf)}.</p>}
      </Card>
    </div>
  )
}

interface MarketTagsProps {
  readonly market: MarketRecord
  readonly slug: string
  readonly live: Live
  readonly isOffline: boolean
  readonly isPast: boolean
}

function MarketTags({ market, slug, live, isOffline, isPast }: MarketTagsProps) {
  return (
    <p className="row tags">
      <MarketBadge market={market} />
      {market.category && <span className="badge">{market.category}</span>}
      {!isPast && <LiveStatus live={live} isOffline={isOffline} />}
      {market.slug !== undefined && market.slug !== slug && (
        <span className="soft">
          {isPast ? 'Slug at that time:' : 'Present slug:'} <code>{market.slug}</code>
        </span>
      )}
    </p>
  )
}

function LiveStatus({ live: { state, error }, isOffline }: { readonly live: Live; readonly isOffline: boolean }) {
  const text = isOffline
    ? 'The server does not respond. Retrying'
    : state === 'live'
      ? 'Live'
      : state === 'stopped'
        ? `Not live: ${error instanceof Error ? error.message.replace(/^[a-z]+\.[A-Za-z]+: /, '') : 'the stream ended'}`
        : 'Connecting'
  return (
    <span
      className={`pulse ${isOffline || state === 'stopped' ? 'warn' : state === 'live' ? 'good' : 'soft'}`}
      role="status"
    >
      {text}
    </span>
  )
}

function MarketNotFound({ slug, error }: { readonly slug: string; readonly error: unknown }) {
  return (
    <Failure
      error={error}
      notFound={
        <>
          No market has this slug, or had it at this time. Slugs are case-sensitive.{' '}
          <a href={hrefOf('markets', [], { q: slug.replaceAll(/[-_.~]+/g, ' ') })}>Search for its words</a>.
        </>
      }
    />
  )
}

function FullRecord({ market }: { readonly market: MarketRecord }) {
  return (
    <details>
      <summary>Show the full record as JSON</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{stringifyJson(market, 2)}</pre>
    </details>
  )
}
