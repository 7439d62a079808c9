// Validators: find one, see how it did and why, set several beside each other. Which of these is in the address.
import type { PageRoute } from '../route.ts'
import { Compare } from './validators/compare.tsx'
import { Find } from './validators/find.tsx'
import { useDefaultNetwork } from './validators/networks.ts'
import { One } from './validators/validator.tsx'
import { parseView } from './validators/view.ts'

export function Validators({ place }: { readonly place: PageRoute }) {
  const here = useDefaultNetwork()
  if (here === undefined && !place.query.has('network'))
    return (
      <p className="busy" role="status">
        Asking…
      </p>
    )
  const [first] = place.parts
  const view = parseView(place.query, here)
  if (first === undefined) return <Find place={place} look={view} />
  if (first === 'compare') return <Compare place={place} look={view} />
  return <One id={first} look={view} />
}
