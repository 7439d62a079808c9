// Things to try, taken from what this server has: the first validator of its largest pool, with all that names it.
import type { Network } from '#api/wire/validators.ts'
import { useEndpoint } from '../../calls.ts'
import { shortenHex } from '../../parts/format.ts'
import { hrefOf } from '../../route.ts'

export function Examples({ network }: { readonly network: Network }) {
  const pools = useEndpoint('validators.find', { network })
  const pool = pools.data?.reply.pools[0]?.pool
  const members = useEndpoint('validators.find', { network, pool: pool ?? '', limit: 1 }, { when: pool !== undefined })
  const one = members.data?.reply.validators[0]
  if (!one) return null
  const found = (term: string, shown = term) => <a href={hrefOf('validators', [], { network, q: term })}>{shown}</a>
  const [operator] = one.nodeOperators
  return (
    <p className="small examples">
      Try the validator <a href={hrefOf('validators', [one.validatorIndex], { network })}>{one.validatorIndex}</a>
      {', '}the key {found(one.validatorPubkey.slice(0, 10))}
      {pool !== undefined && <>, the pool {found(pool)}</>}
      {operator !== undefined && <>, the operator {found(operator)}</>}
      {one.withdrawalAddress !== null && (
        <>, the address {found(one.withdrawalAddress, shortenHex(one.withdrawalAddress))}</>
      )}
      .
    </p>
  )
}
