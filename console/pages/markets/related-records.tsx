// The event of a market with its other markets, its series and its tags.
import type { Event, Market } from '#api/contract/wire/markets.ts'
import { Card } from '../../parts/card.tsx'
import { hrefOf } from '../../route.ts'

export function RelatedRecords({ market }: { readonly market: Market }) {
  const { events = [], tags = [], categories = [] } = market
  const labels = [...new Set([...tags, ...categories].map(({ label }) => label))].filter((label) => label !== undefined)
  return (
    <Card id="related-title" title="Event and tags">
      {events.length === 0 && <p className="note">This market is not part of an event.</p>}
      {events.map((event) => (
        <EventDetails key={event.id} event={event} slug={market.slug} />
      ))}
      {labels.length > 0 && (
        <p className="row tags">
          {labels.map((label) => (
            <a key={label} className="badge" href={hrefOf('markets', [], { q: label })}>
              {label}
            </a>
          ))}
        </p>
      )}
    </Card>
  )
}

function EventDetails({ event, slug }: { readonly event: Event; readonly slug: string | undefined }) {
  const { title, subtitle, markets = [], series = [] } = event
  return (
    <>
      <h3>
        {slug === undefined || event.id === undefined ? (
          title || event.slug
        ) : (
          <a href={hrefOf('markets', [slug, 'event', event.id])}>{title || event.slug}</a>
        )}
      </h3>
      {subtitle && <p className="soft">{subtitle}</p>}
      <ul className="siblings">
        {markets.map((market) => (
          <li key={market.id}>
            {market.slug === undefined ? (
              market.question
            ) : (
              <a href={hrefOf('markets', [market.slug])} aria-current={market.slug === slug ? 'page' : undefined}>
                {market.question || market.slug}
              </a>
            )}
          </li>
        ))}
      </ul>
      {series.map(({ id, title: name, recurrence }) => (
        <p key={id} className="soft small">
          Series: {name}
          {recurrence && `, ${recurrence}`}.
        </p>
      ))}
    </>
  )
}
