// Example searches from stored data: the first validator of the largest pool, and its key, pool, operator and address.
import type { Network } from '#api/contract/wire/validators.ts'
import { shortenHex } from '../../parts/format.ts'
import { hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'

export function Examples({ network }: { readonly network: Network }) {
  const pools = useEndpoint('validators.find', { network })
  const pool = pools.data?.reply.pools[0]?.pool
  const members = useEndpoint(
    'validators.find',
    { network, pool: pool ?? '', limit: 1 },
    { isEnabled: pool !== undefined },
  )
  const validator = members.data?.reply.validators[0]
  if (!validator) return null
  const searchLink = (q: string, text = q) => <a href={hrefOf('validators', [], { network, q })}>{text}</a>
  const [operator] = validator.nodeOperators
  return (
    <p className="small examples">
      Examples: validator{' '}
      <a href={hrefOf('validators', [validator.validatorIndex], { network })}>{validator.validatorIndex}</a>
      {', '}public key {searchLink(validator.validatorPubkey.slice(0, 10))}
      {pool !== undefined && <>, pool {searchLink(pool)}</>}
      {operator !== undefined && <>, operator {searchLink(operator)}</>}
      {validator.withdrawalAddress !== null && (
        <>, address {searchLink(validator.withdrawalAddress, shortenHex(validator.withdrawalAddress))}</>
      )}
      .
    </p>
  )
}
