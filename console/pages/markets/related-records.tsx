// What stands around a market: its event with the other markets of it, its series, its tags.
import type { Event, Market } from '#api/wire/markets.ts'
import { hrefOf } from '../../route.ts'

export function RelatedRecords({ market }: { readonly market: Market }) {
  const { events = [], tags = [], categories = [] } = market
  const labels = [...new Set([...tags, ...categories].map(({ label }) => label))].filter((label) => label !== undefined)
  return (
    <section className="card" aria-labelledby="around-title">
      <h2 id="around-title">Event and tags</h2>
      {events.length === 0 && <p className="note">This market belongs to no event.</p>}
      {events.map((event) => (
        <OneEvent key={event.id} event={event} slug={market.slug} />
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
    </section>
  )
}

function OneEvent({ event, slug }: { readonly event: Event; readonly slug: string | undefined }) {
  const { title, subtitle, markets = [], series = [] } = event
  return (
    <>
      <h3>{title || event.slug}</h3>
      {subtitle && <p className="soft">{subtitle}</p>}
      <ul className="siblings">
        {markets.map((one) => (
          <li key={one.id}>
            {one.slug === undefined ? (
              one.question
            ) : (
              <a href={hrefOf('markets', [one.slug])} aria-current={one.slug === slug ? 'page' : undefined}>
                {one.question || one.slug}
              </a>
            )}
          </li>
        ))}
      </ul>
      {series.map(({ id, title: name, recurrence }) => (
        <p key={id} className="soft small">
          Part of the series {name}
          {recurrence && `, ${recurrence}`}.
        </p>
      ))}
    </>
  )
}
