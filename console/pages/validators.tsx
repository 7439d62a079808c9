// The validators page: search, one validator, the watched ones, or a comparison, depending on the address.
import { Busy } from '../parts/query-result.tsx'
import type { PageProps } from '../route.ts'
import { Compare } from './validators/compare.tsx'
import { Find } from './validators/find.tsx'
import { MyValidators } from './validators/mine.tsx'
import { useDefaultNetwork } from './validators/networks.ts'
import { Validator } from './validators/validator.tsx'
import { parseView } from './validators/view.ts'
import './validators/validators.css'

export function Validators({ route }: PageProps) {
  const network = useDefaultNetwork()
  if (network === undefined && !route.query.has('network')) return <Busy />
  const [first] = route.parts
  const view = parseView(route.query, network)
  if (first === undefined) return <Find route={route} view={view} />
  if (first === 'compare') return <Compare route={route} view={view} />
  if (first === 'mine') return <MyValidators view={view} />
  return <Validator id={first} view={view} />
}
