// Stores, by epoch, balance changes that the rules do not explain.
import type { Network } from '#api/contract/wire/validators.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { networkId } from './layout.ts'

/** Balance changes that neither duties nor deposits, withdrawals and consolidations explain. */
export interface UnexplainedBalanceChanges {
  readonly validators: number
  /** Sums of the increases and of the decreases, both zero or more. */
  readonly inGwei: number
  readonly outGwei: number
}

export interface UnexplainedChange extends UnexplainedBalanceChanges {
  readonly epoch: number
  /** Some of the validators, with what differs in gwei. */
  readonly listed: readonly (readonly [validator: number, gwei: number])[]
}

export async function writeUnexplained(
  tx: StateWriter,
  network: Network,
  changes: readonly UnexplainedChange[],
): Promise<void> {
  const id = networkId(network)
  const rows = changes.map(({ epoch, validators, inGwei, outGwei }) => [id, epoch, validators, inGwei, outGwei])
  const columns = ['network', 'epoch', 'validators', 'in_gwei', 'out_gwei']
  await tx.insertMany('unexplained_balance_changes', columns, rows)
}

/** Since an epoch. A balance that differs in several epochs counts as often. */
export async function countUnexplained(duties: StateReader, network: Network, fromEpoch: number): Promise<number> {
  const sql =
    'select cast(coalesce(sum(validators), 0) as bigint) as count from unexplained_balance_changes where network = ? and epoch >= ?'
  return (await duties.get<{ count: number }>(sql, networkId(network), fromEpoch))?.count ?? 0
}
