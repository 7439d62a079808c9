// Validators: find one, see how it did and why, set several beside each other. Which of these is in the address.
import type { Place } from '../place.ts'
import { Compare } from './validators/compare.tsx'
import { Find } from './validators/find.tsx'
import { lookOf } from './validators/look.ts'
import { One } from './validators/one.tsx'

export function Validators({ place }: { readonly place: Place }) {
  const [first] = place.parts
  if (first === undefined) return <Find place={place} />
  if (first === 'compare') return <Compare place={place} />
  return <One id={first} look={lookOf(place.query)} />
}
