// The markets page: search, or one market with its history.
import type { PageProps } from '../route.ts'
import { Find } from './markets/find.tsx'
import { Market } from './markets/market.tsx'

export function Markets({ route }: PageProps) {
  const [slug] = route.parts
  return slug === undefined ? (
    <Find text={route.query.get('q')?.trim() ?? ''} showMore={route.query.has('all')} />
  ) : (
    <Market key={slug} slug={slug} query={route.query} />
  )
}
