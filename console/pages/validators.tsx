// Validators: find one, see how it did and why, set several beside each other. Which of these is in the address.
import type { Place } from '../place.ts'
import { Compare } from './validators/compare.tsx'
import { Find } from './validators/find.tsx'
import { lookOf } from './validators/look.ts'
import { useUsualNetwork } from './validators/networks.ts'
import { One } from './validators/one.tsx'

export function Validators({ place }: { readonly place: Place }) {
  const here = useUsualNetwork()
  if (here === undefined && !place.query.has('network'))
    return (
      <p className="busy" role="status">
        Asking…
      </p>
    )
  const [first] = place.parts
  const look = lookOf(place.query, here)
  if (first === undefined) return <Find place={place} look={look} />
  if (first === 'compare') return <Compare place={place} look={look} />
  return <One id={first} look={look} />
}
