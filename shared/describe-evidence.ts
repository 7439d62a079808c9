// What names the entity of a validator, in words, for the console and the commands.
import type { EntityPeriod } from './console-calls.ts'

/** Such as `by a rule of pools.csv (index)`. */
export function describeEvidence({ kind, source, rule }: Pick<EntityPeriod, 'kind' | 'source' | 'rule'>): string {
  if (kind === 'label') return `by the label of its ${rule.startsWith('deposit') ? 'deposit' : 'withdrawal'} address`
  if (kind !== 'registry') return `by a ${kind} of ${source} (${rule})`
  const known = rule === 'pubkey' ? 'key and its withdrawal address' : 'withdrawal address'
  return `by the registry ${source} on the chain, which knows its ${known}`
}
