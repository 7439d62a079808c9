// Appends versions of records to the history and deletes old ones (read/versions.ts has the rules).
import { stringifyJson } from '#api/contract/json.ts'
import type { StateWriter, Value } from '#storage/state.ts'
import { lastVersionAt, readHistoryHead } from '../read/versions.ts'
import type { ChangeType, Diff } from '../records/diff-records.ts'
import type { KindName } from '../records/kinds.ts'
import type { VersionHead } from './value-cache.ts'
import { advanceValues } from './value-set.ts'

/** Appends versions within one transaction. `write` writes them. */
export async function openVersionWriter(tx: StateWriter, nowMs: number) {
  const head = await readHistoryHead(tx)
  const atMs = Math.max(nowMs, head.atMs)
  const rows: Value[][] = []
  let { seq } = head
  return {
    atMs,
    /** The last version before this transaction, and now. */
    before: head as VersionHead,
    head: (): VersionHead => (seq === head.seq ? head : { seq, atMs }),
    seq: () => seq,
    /** A version that only changes fast values is stored as a tick. */
    append(kind: KindName, id: string, changeType: ChangeType, diff: Diff = {}, isTick = false): void {
      seq += 1
      if (!isTick) rows.push([seq, atMs, kind, id, changeType, stringifyJson(diff)])
    },
    async write(): Promise<void> {
      if (seq === head.seq) return
      await tx.insertMany('market_versions', ['seq', 'at_ms', 'kind', 'id', 'change_type', 'diff'], rows)
      await tx.run('update market_revision set seq = ?, at_ms = ?', seq, atMs)
    },
  }
}

export type VersionWriter = Awaited<ReturnType<typeof openVersionWriter>>

/**
 * From now on, changes of all records before a time are not listed any more (markets.history.fullDays). Returns the last
 * version before it.
 */
export async function endFullHistory(tx: StateWriter, cutoffMs: number): Promise<number> {
  const last = await lastVersionAt(tx, cutoffMs - 1)
  await tx.run('update market_revision set full_seq = ? where full_seq < ?', last, last)
  return (await readHistoryHead(tx)).fullSeq
}

/** Deletes some versions before a time and returns how many rows. Call it until it returns less than `rowsMax`. */
export async function dropVersionsBefore(tx: StateWriter, cutoffMs: number, rowsMax = 500): Promise<number> {
  const { horizonSeq } = await readHistoryHead(tx)
  const last = await lastVersionAt(tx, cutoffMs - 1)
  const due = (table: string) => `select seq from ${table} where seq <= ? order by seq limit ?`
  const drop = (table: string) => tx.run(`delete from ${table} where seq in (${due(table)})`, last, rowsMax)
  let dropped = await drop('market_versions')
  if (dropped < rowsMax) {
    const outdated = await tx.all<{ block: number }>(
      `select distinct v.block from market_ticks t join market_values v on v.block = t.block and v.seq < t.seq
       where t.seq in (${due('market_ticks')})`,
      ...[last, rowsMax],
    )
    await advanceValues(
      tx,
      outdated.map(({ block }) => block),
    )
    dropped += await drop('market_ticks')
  }
  if (dropped < rowsMax) dropped += await dropPacks(tx, last, rowsMax)
  if (dropped === 0) return 0
  // From the first step on, so that nobody sees a part of what is being deleted.
  const sql = `update market_revision set horizon_seq = ?,
    horizon_ms = case when horizon_ms > ? then horizon_ms else ? end`
  if (last > horizonSeq) await tx.run(sql, last, cutoffMs, cutoffMs)
  // These are before every time that can be asked for.
  await tx.run('delete from market_snapshots where seq < ?', last)
  if (dropped < rowsMax) await tx.run('delete from market_commits where seq <= ?', last)
  return dropped
}

/** A pack that ends later has the values before its first version, so nothing else is needed of those before. */
const dropPacks = (tx: StateWriter, last: number, rowsMax: number): Promise<number> =>
  tx.run(
    `delete from market_packs where until_seq <= ? and (block, until_seq) in
       (select block, until_seq from market_packs where merged in (0, 1) and until_seq <= ? limit ?)`,
    ...[last, last, rowsMax],
  )
