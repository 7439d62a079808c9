// Snapshots of records among their versions (decisions/store-market-versions-as-differences.md). A past state is computed
// from the next snapshot after it, by undoing at most `snapshotEvery` changes, however old it is.
//
// 1. A snapshot with number n is the record after all versions up to n. It never changes.
// 2. It is written in the transaction that writes the version.
import type { StateReader } from '#storage/state.ts'
import { undoChanges } from '../records/diff-records.ts'
import type { StoredRecord } from '../records/documents.ts'
import type { KindName } from '../records/kinds.ts'
import { parseStoredRecord } from '../records/record-graph.ts'
import { currentRecords } from './current-records.ts'
import { type VersionRow, versionColumns } from './versions.ts'

/** Versions per query. */
const blockRows = 250

/**
 * The record after the version `seq`. Calls `spend` with the number of rows after each query.
 *
 * Concurrent commits do not matter: the current record is read before the versions, and the oldest change after `seq`
 * determines each field.
 */
export async function readRecordAfter(
  reader: StateReader,
  kind: KindName,
  id: string,
  seq: number,
  spend: (rows: number) => Promise<void>,
): Promise<StoredRecord | undefined> {
  const snapshot = await reader.get<{ seq: number; fields: string; links: string }>(
    'select seq, fields, links from market_snapshots where kind = ? and id = ? and seq >= ? order by seq limit 1',
    ...[kind, id, seq],
  )
  let stored = snapshot ? parseStoredRecord(snapshot) : await currentRecords(reader).record(kind, id)
  for (let from = snapshot?.seq ?? Number.MAX_SAFE_INTEGER; stored; ) {
    const rows = await readChangesBack(reader, kind, id, from, seq)
    await spend(rows.length)
    stored = undoChanges(kind, stored, rows)
    if (rows.length < blockRows) break
    from = (rows.at(-1)?.seq ?? 0) - 1
  }
  return stored
}

/** From `from` back to `after` (exclusive), newest first. `vanished` and `returned` do not change the record. */
const readChangesBack = (reader: StateReader, kind: KindName, id: string, from: number, after: number) =>
  reader.all<VersionRow>(
    `select ${versionColumns} from market_versions v
     where kind = ? and id = ? and seq <= ? and seq > ? and change_type in ('created', 'changed')
     order by seq desc limit ?`,
    ...[kind, id, from, after, blockRows],
  )
