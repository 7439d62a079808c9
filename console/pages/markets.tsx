// Markets: find one, see how it stands and how it came to stand so.
import type { PageRoute } from '../route.ts'
import { Find } from './markets/find.tsx'
import { Market } from './markets/market.tsx'

export function Markets({ place }: { readonly place: PageRoute }) {
  const [slug] = place.parts
  return slug === undefined ? (
    <Find words={place.query.get('q')?.trim() ?? ''} all={place.query.has('all')} />
  ) : (
    <Market key={slug} slug={slug} query={place.query} />
  )
}
