// Whole records among their versions (decisions/store-market-versions-as-differences.md): a record as it was at a time is taken back from the next keyframe after that
// time, over `frameEvery` changes at most, however long ago it was and however often the record has changed since.
//
// 1. A keyframe with number n is the record after every version up to n, and never changes.
// 2. It is written in the transaction that writes the version.
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { StoredRecord } from '../records/documents.ts'
import type { KindName } from '../records/kinds.ts'
import { currentRecords, parseStoredRecord } from '../records/record-graph.ts'
import { parseVersion, undoChanges, type VersionRow } from './versions.ts'

/** Changes of a record from one keyframe to the next: about a tenth of what the versions between them take. */
export const snapshotEvery = 100

export async function putSnapshot(
  tx: StateWriter,
  kind: KindName,
  id: string,
  seq: number,
  { fields, links }: { readonly fields: string; readonly links: string },
): Promise<void> {
  await tx.run(
    `insert into market_keyframes (kind, id, seq, fields, links) values (?, ?, ?, ?, ?)
     on conflict (kind, id, seq) do nothing`,
    ...[kind, id, seq, fields, links],
  )
}

interface SnapshotRow {
  readonly seq: number
  readonly fields: string
  readonly links: string
}

/** Versions read at once. */
const blockRows = 250

/**
 * The record after the version with this number. What is read is told to `spend` before the next block.
 *
 * A change that is committed while this reads does no harm: the present is read before the versions, and what counts of each field
 * is the oldest change after `seq`.
 */
export async function readRecordAfter(
  reader: StateReader,
  kind: KindName,
  id: string,
  seq: number,
  spend: (rows: number) => Promise<void>,
): Promise<StoredRecord | undefined> {
  const snapshot = await reader.get<SnapshotRow>(
    'select seq, fields, links from market_keyframes where kind = ? and id = ? and seq >= ? order by seq limit 1',
    ...[kind, id, seq],
  )
  let stored = snapshot ? parseStoredRecord(snapshot) : await currentRecords(reader).record(kind, id)
  for (let from = snapshot?.seq ?? Number.MAX_SAFE_INTEGER; stored; ) {
    const rows = await readChangesBack(reader, kind, id, from, seq)
    await spend(rows.length)
    stored = undoChanges(kind, stored, rows.map(parseVersion))
    if (rows.length < blockRows) break
    from = (rows.at(-1)?.seq ?? 0) - 1
  }
  return stored
}

/** From `from` back to `after`, which is left out, newest first. Whether a feed shows a market is no change of it. */
const readChangesBack = (reader: StateReader, kind: KindName, id: string, from: number, after: number) =>
  reader.all<VersionRow>(
    `select * from market_versions where kind = ? and id = ? and seq <= ? and seq > ? and what in ('created', 'changed')
     order by seq desc limit ?`,
    ...[kind, id, from, after, blockRows],
  )
