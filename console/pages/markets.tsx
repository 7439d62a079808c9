// The markets page: search, one market with its history, or an event with its markets.
import type { PageProps } from '../route.ts'
import { EventPage } from './markets/event-page.tsx'
import { Find } from './markets/find.tsx'
import { Market } from './markets/market.tsx'
import './markets/markets.css'

export function Markets({ route }: PageProps) {
  const [slug, part, eventId] = route.parts
  if (slug === undefined) return <Find route={route} />
  if (part === 'event' && eventId !== undefined) return <EventPage slug={slug} eventId={eventId} />
  return <Market key={slug} slug={slug} query={route.query} />
}
