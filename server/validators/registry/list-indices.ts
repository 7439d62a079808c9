// Lists validators by pool, operator, address or key. Each query reads one range of a database index, so its cost does
// not grow with the network (behaviour/validators.md#find-validators).
import type { Network } from '#api/wire/validators.ts'
import type { StateReader, Value } from '#storage/state.ts'
import { toBytes } from './registry.ts'

export const criteria = ['index', 'pubkey', 'pool', 'nodeOperator', 'depositAddress', 'withdrawalAddress'] as const
export type Criterion = (typeof criteria)[number]

/** A key may be incomplete: its first digits. */
export interface Selection {
  readonly by: Criterion
  readonly value: string | number
}

/** The first `count` validators with an index of at least `from`, in ascending order. Without a selection: of all. */
export async function listIndices(
  state: StateReader,
  network: Network,
  selection: Selection | undefined,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<number[]> {
  const [where, ...values] = selection ? conditionOf(selection) : ['validators where network = ?']
  // With the plus, SQLite uses the index on keys instead of scanning all validators in order.
  const column = selection?.by === 'pubkey' ? '+validator_index' : 'validator_index'
  const rows = await state.all<{ validator_index: number }>(
    `select validator_index from ${where} and ${column} >= ? order by ${column} limit ?`,
    ...[network, ...values, from, count],
  )
  return rows.map((row) => row.validator_index)
}

function conditionOf({ by, value }: Selection): [where: string, ...values: Value[]] {
  switch (by) {
    case 'index':
      return ['validators where network = ? and validator_index = ?', value]
    case 'pubkey': {
      const digits = String(value).replace(/^0x/i, '')
      const [low, high] = [digits.padEnd(96, '0'), digits.padEnd(96, 'f')].map(toBytes) as [Value, Value]
      return ['validators where network = ? and pubkey >= ? and pubkey <= ?', low, high]
    }
    case 'pool':
      return ['validator_entities where network = ? and pool = ?', value]
    case 'nodeOperator':
      return ['validator_operators where network = ? and operator = ?', value]
    case 'depositAddress':
      return ['validator_deposits where network = ? and address = ?', toBytes(String(value))]
    case 'withdrawalAddress':
      return ['validators where network = ? and withdrawal_address = ?', toBytes(String(value))]
  }
}
