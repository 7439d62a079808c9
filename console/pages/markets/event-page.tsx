// The page of an event: its description, and its markets with their prices and volumes. A record of an event contains only
// references to its markets, so each market is requested on its own.
import { useQueries } from '@tanstack/preact-query'
import type { Event } from '#api/contract/wire/markets.ts'
import { Card } from '../../parts/card.tsx'
import { Facts } from '../../parts/facts.tsx'
import { formatTime } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { useItemTitle } from '../../parts/use-item-title.ts'
import { hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { groupTitles } from '../../titles.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { MarketBadge } from './market-badge.tsx'
import { Source } from './market-facts.tsx'
import { MarketTable } from './market-table.tsx'

const marketsMax = 50
const refreshMs = 15_000

interface EventPageProps {
  /** A market of the event. */
  readonly slug: string
  readonly eventId: string
}

export function EventPage({ slug, eventId }: EventPageProps) {
  const market = useEndpoint('markets.bySlug', { slug })
  return (
    <>
      <p className="small">
        <a href={hrefOf('markets')}>All markets</a>
      </p>
      <QueryResult of={market} waiting="Loading the event…" notFound={`No market has the slug ${slug}.`}>
        {({ reply }) => {
          const event = reply.events?.find(({ id }) => id === eventId)
          return event ? (
            <EventDetails event={event} />
          ) : (
            <p className="note">
              The market is not part of this event. <a href={hrefOf('markets', [slug])}>Open the market</a>.
            </p>
          )
        }}
      </QueryResult>
    </>
  )
}

function EventDetails({ event }: { readonly event: Event }) {
  const { title, subtitle, description, markets = [] } = event
  useItemTitle(title || event.slug, groupTitles.markets)
  const slugs = markets.flatMap(({ slug }) => slug ?? []).slice(0, marketsMax)
  return (
    <>
      <h1>{title || event.slug}</h1>
      {subtitle && <p className="lead">{subtitle}</p>}
      <Card id="event-markets" title="Markets of this event">
        {slugs.length === 0 ? <p className="soft">This event has no markets.</p> : <EventMarkets slugs={slugs} />}
        {markets.length > marketsMax && <p className="soft small">Only the first {marketsMax} markets are shown.</p>}
      </Card>
      <Card id="event-facts" title="About the event">
        {description && <p className="prose">{description}</p>}
        <Facts
          of={{
            Starts: event.startDate && formatTime(event.startDate),
            Ends: event.endDate && formatTime(event.endDate),
            'Resolution source': event.resolutionSource && <Source text={event.resolutionSource} />,
          }}
        />
      </Card>
    </>
  )
}

/** The most traded first. */
function EventMarkets({ slugs }: { readonly slugs: readonly string[] }) {
  const { client } = useConsoleContext()
  const results = useQueries({
    queries: slugs.map((slug) => ({
      queryKey: ['event market', slug],
      refetchInterval: refreshMs,
      queryFn: ({ signal }: { signal: AbortSignal }) => client.markets.bySlug({ slug }, { signal }),
    })),
  })
  const markets = results
    .flatMap(({ data }) => data ?? [])
    .toSorted((a, b) => Number(b.volumeNum ?? 0) - Number(a.volumeNum ?? 0))
  const failed = results.filter(({ isError }) => isError).length
  return (
    <>
      <MarketTable
        name="Markets of this event: table"
        markets={markets}
        statusOf={(market) => <MarketBadge market={market} />}
      />
      {results.some(({ isPending }) => isPending) && <p className="busy">Loading…</p>}
      {failed > 0 && <p className="note warn">{failed} markets could not be loaded. They are not in the list.</p>}
    </>
  )
}
