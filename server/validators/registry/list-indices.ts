// Lists validators by pool, operator, address or key. Each query reads one range of a database index, so its cost does
// not grow with the network (behaviour/validators.md#find-validators).
import type { Network } from '#api/contract/wire/validators.ts'
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
  const where = selection ? conditions[selection.by] : 'validators where network = ?'
  const values = selection ? valuesOf(selection) : []
  // With the plus, SQLite uses the index on keys instead of scanning all validators in order.
  const column = selection?.by === 'pubkey' ? '+validator_index' : 'validator_index'
  const rows = await state.all<{ validator_index: number }>(
    `select validator_index from ${where} and ${column} >= ? order by ${column} limit ?`,
    ...[network, ...values, from, count],
  )
  return rows.map((row) => row.validator_index)
}

const conditions: Readonly<Record<Criterion, string>> = {
  index: 'validators where network = ? and validator_index = ?',
  pubkey: 'validators where network = ? and pubkey >= ? and pubkey <= ?',
  pool: `validator_entities where field = 'pool' and until_day is null and network = ? and name = ?`,
  nodeOperator: 'validator_operators where network = ? and operator = ?',
  depositAddress: 'validator_deposits where network = ? and address = ?',
  withdrawalAddress: 'validators where network = ? and withdrawal_address = ?',
}

function valuesOf({ by, value }: Selection): Value[] {
  if (by !== 'pubkey') return [by.endsWith('Address') ? toBytes(String(value)) : value]
  const digits = String(value).replace(/^0x/i, '')
  return [toBytes(digits.padEnd(96, '0')), toBytes(digits.padEnd(96, 'f'))]
}
