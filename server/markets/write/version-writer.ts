// Appends versions of records to the history and deletes old ones (read/versions.ts has the rules).
import { stringifyJson } from '#api/contract/json.ts'
import type { StateWriter, Value } from '#storage/state.ts'
import { readHistoryHead } from '../read/versions.ts'
import type { ChangeType, Diff } from '../records/diff-records.ts'
import type { KindName } from '../records/kinds.ts'

/** Appends versions within one transaction. `write` writes them. */
export async function openVersionWriter(tx: StateWriter, nowMs: number) {
  const head = await readHistoryHead(tx)
  const atMs = Math.max(nowMs, head.atMs)
  const rows: Value[][] = []
  let { seq } = head
  return {
    atMs,
    /** The number of the last version. */
    seq: () => seq,
    append(kind: KindName, id: string, changeType: ChangeType, diff: Diff = {}): void {
      seq += 1
      rows.push([seq, atMs, kind, id, changeType, stringifyJson(diff)])
    },
    async write(): Promise<void> {
      if (seq === head.seq) return
      await tx.insertMany('market_versions', ['seq', 'at_ms', 'kind', 'id', 'change_type', 'diff'], rows)
      await tx.run('update market_revision set seq = ?, at_ms = ?', seq, atMs)
    },
  }
}

export type VersionWriter = Awaited<ReturnType<typeof openVersionWriter>>

/** Deletes some versions before a time and returns how many. Call it until it returns less than `rowsMax`. */
export async function dropVersionsBefore(tx: StateWriter, cutoffMs: number, rowsMax = 500): Promise<number> {
  const dropped = await tx.run(
    'delete from market_versions where seq in (select seq from market_versions where at_ms < ? order by at_ms limit ?)',
    cutoffMs,
    rowsMax,
  )
  if (dropped > 0) {
    const sql = 'update market_revision set horizon_ms = ? where horizon_ms is null or horizon_ms < ?'
    await tx.run(sql, cutoffMs, cutoffMs)
    // Without the versions that follow it, a snapshot would be used for later times.
    await tx.run(
      `delete from market_snapshots where seq <
         coalesce((select min(seq) from market_versions), (select seq + 1 from market_revision))`,
    )
  }
  return dropped
}
