// Stores, by epoch, how computed rewards compare with the node's own, and balance changes that nothing explains.
import type { Network } from '#api/contract/wire/validators.ts'
import { merge } from '#core/ranges.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { networkId } from './layout.ts'

export const auditParts = ['source', 'target', 'head', 'inactivity', 'block', 'sync'] as const
export type AuditPart = (typeof auditParts)[number]

export interface AuditLine {
  readonly epoch: number
  readonly part: AuditPart
  /** Rewards that both sides have; 0: the node does not report this part. */
  readonly compared: number
  readonly differing: number
  /** The node's rewards minus ours, added up. */
  readonly gwei: number
}

/** Replaces earlier audits of the same epochs. */
export async function writeAudits(
  tx: StateWriter,
  { network, lines }: { readonly network: Network; readonly lines: readonly AuditLine[] },
): Promise<void> {
  const id = networkId(network)
  for (const { from, until } of merge(lines.map(({ epoch }) => ({ from: epoch, until: epoch + 1 }))))
    await tx.run('delete from reward_audits where network = ? and epoch >= ? and epoch < ?', id, from, until)
  const rows = lines.map(({ epoch, part, compared, differing, gwei }) => [id, epoch, part, compared, differing, gwei])
  await tx.insertMany('reward_audits', ['network', 'epoch', 'part', 'compared', 'differing', 'gwei'], rows)
}

/** Totals of all epochs from `fromEpoch` on. */
export async function auditTotals(
  duties: StateReader,
  network: Network,
  fromEpoch: number,
): Promise<Pick<AuditLine, 'compared' | 'differing'>> {
  const row = await duties.get<{ compared: number; differing: number }>(
    `select cast(coalesce(sum(compared), 0) as bigint) as compared, cast(coalesce(sum(differing), 0) as bigint) as differing
     from reward_audits where network = ? and epoch >= ?`,
    networkId(network),
    fromEpoch,
  )
  return row ?? { compared: 0, differing: 0 }
}

/** Balance changes that neither duties nor deposits, withdrawals and consolidations explain. */
export interface UnexplainedBalanceChanges {
  readonly validators: number
  /** Sums of the increases and of the decreases, both zero or more. */
  readonly inGwei: number
  readonly outGwei: number
}

export interface UnexplainedChange extends UnexplainedBalanceChanges {
  readonly epoch: number
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
