// Snapshots of records among their versions (decisions/store-market-versions-as-differences.md). A past state is computed
// from the next snapshot after it, by undoing at most `snapshotEvery` changes, however old it is. Fast values have rows of
// their own (ticks/block-values.ts).
//
// 1. A snapshot with number n is the record after all versions up to n. It never changes.
// 2. It is written in the transaction that writes the version.
import type { StateReader } from '#storage/state.ts'
import { undoChanges } from '../records/diff-records.ts'
import type { StoredRecord } from '../records/documents.ts'
import { type KindName, ownFields } from '../records/kinds.ts'
import { parseStoredRecord } from '../records/record-graph.ts'
import { splitFields } from '../ticks/fast-fields.ts'
import { valuesAfter } from '../ticks/read-values.ts'
import { type VersionRow, versionColumns } from './versions.ts'

/** Versions per query. */
const blockRows = 250

/**
 * Reads records as they were after the version `seq`. Calls `spend` with the number of rows after each query.
 *
 * Concurrent commits do not matter: the current record is read before the versions, and the oldest change after `seq`
 * determines each field.
 */
export function recordsAfter(reader: StateReader, seq: number, spend: (rows: number) => Promise<void>) {
  const valuesOf = valuesAfter(reader, seq, spend)
  return async (kind: KindName, id: string): Promise<StoredRecord | undefined> => {
    const row = await reader.get<{ fields: string; links: string; number: number | null }>(
      'select fields, links, number from market_records where kind = ? and id = ?',
      ...[kind, id],
    )
    const slow = row && (await undoSlowChanges(reader, kind, id, row, seq, spend))
    if (!slow || row.number === null) return slow
    const fields: Record<string, unknown> = { ...splitFields(kind, slow.fields)[0], ...(await valuesOf(row.number)) }
    const ordered = [...ownFields[kind]].flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]]))
    return { fields: Object.fromEntries(ordered), links: slow.links }
  }
}

async function undoSlowChanges(
  reader: StateReader,
  kind: KindName,
  id: string,
  current: { readonly fields: string; readonly links: string },
  seq: number,
  spend: (rows: number) => Promise<void>,
): Promise<StoredRecord | undefined> {
  const snapshot = await reader.get<{ seq: number; fields: string; links: string }>(
    'select seq, fields, links from market_snapshots where kind = ? and id = ? and seq >= ? order by seq limit 1',
    ...[kind, id, seq],
  )
  let stored: StoredRecord | undefined = parseStoredRecord(snapshot ?? current)
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
