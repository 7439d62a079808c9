// Changes of past days: a filled gap, a repair, the past of an added validator. Summaries of these days are computed
// again, and copies outside this database read the table duty_changes to send them again (server/operations/mirror).
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { putRow } from '#storage/put-row.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { networkId, partsIn } from './layout.ts'

/** A day part that has changed. Its revision grows with each change, and is higher than all others of the network. */
export interface PastChange {
  readonly part: number
  readonly revision: number
}

/** Call this in the transaction that changes past days. */
export async function recordPastChange(
  tx: StateWriter,
  network: Network,
  time: ChainTime,
  epochs: Range,
): Promise<void> {
  await forgetSummaries(tx, network, time, epochs)
  let revision = await lastRevision(tx, network)
  for (const { number: part } of partsIn(time, epochs)) {
    revision += 1
    await putRow(tx, 'duty_changes', ['network', 'part'], { network: networkId(network), part, revision })
  }
}

/** A changed day gets a new summary (daily-summaries.ts). */
async function forgetSummaries(tx: StateWriter, network: Network, time: ChainTime, epochs: Range): Promise<void> {
  const calendar = chainDays(time)
  const [first, last] = [calendar.dayOf(epochs.from as Epoch), calendar.dayOf((epochs.until - 1) as Epoch)]
  const sql = 'delete from duty_summary_days where network = ? and day >= ? and day <= ?'
  await tx.run(sql, networkId(network), first, last)
}

/** 0 if no past day has changed. */
export async function lastRevision(duties: StateReader, network: Network): Promise<number> {
  const sql = 'select max(revision) as revision from duty_changes where network = ?'
  return (await duties.get<{ revision: number | null }>(sql, networkId(network)))?.revision ?? 0
}

/** The last revision of these day parts; 0 if none of them has changed. */
export async function lastRevisionOf(duties: StateReader, network: Network, parts: Range): Promise<number> {
  const sql = 'select max(revision) as revision from duty_changes where network = ? and part >= ? and part < ?'
  const row = await duties.get<{ revision: number | null }>(sql, networkId(network), parts.from, parts.until)
  return row?.revision ?? 0
}

/** The oldest change after this revision. */
export const nextChange = (duties: StateReader, network: Network, after: number): Promise<PastChange | undefined> =>
  duties.get<{ part: number; revision: number }>(
    'select part, revision from duty_changes where network = ? and revision > ? order by revision limit 1',
    networkId(network),
    after,
  )

export async function countChanges(duties: StateReader, network: Network, after: number): Promise<number> {
  const sql = 'select count(*) as count from duty_changes where network = ? and revision > ?'
  return (await duties.get<{ count: number }>(sql, networkId(network), after))?.count ?? 0
}
