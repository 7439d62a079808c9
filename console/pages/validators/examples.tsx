// Things to try, taken from what this server has: the first validator of its largest pool, with all that names it.
import type { Network } from '#api/wire/validators.ts'
import { useAsk } from '../../calls.ts'
import { short } from '../../parts/words.ts'
import { hrefOf } from '../../place.ts'

export function Examples({ network }: { readonly network: Network }) {
  const pools = useAsk('validators.find', { network })
  const pool = pools.data?.reply.pools[0]?.pool
  const members = useAsk('validators.find', { network, pool: pool ?? '', limit: 1 }, { when: pool !== undefined })
  const one = members.data?.reply.validators[0]
  if (!one) return null
  const found = (word: string, shown = word) => <a href={hrefOf('validators', [], { network, q: word })}>{shown}</a>
  const [operator] = one.nodeOperators
  return (
    <p className="small examples">
      Try the validator <a href={hrefOf('validators', [one.validatorIndex], { network })}>{one.validatorIndex}</a>
      {', '}the key {found(one.validatorPubkey.slice(0, 10))}
      {pool !== undefined && <>, the pool {found(pool)}</>}
      {operator !== undefined && <>, the operator {found(operator)}</>}
      {one.withdrawalAddress !== null && (
        <>, the address {found(one.withdrawalAddress, short(one.withdrawalAddress))}</>
      )}
      .
    </p>
  )
}
