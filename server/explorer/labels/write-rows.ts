// Writes rows of the label registry, both entities and tagged addresses: only rows that differ, with one history entry
// each. The changes can be planned without writing, because a large import must not block other writes for long
// (import/staging.ts).
import { replaceOnConflict } from '#storage/put-row.ts'
import type { StateReader, Value } from '#storage/state.ts'
import type { Edit, EditKind, HistoryWriter } from './history.ts'

export interface Counts {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
}

export interface RegistryRow {
  readonly chain: string
  readonly updatedUnix: number
}

/** Fields to set. Undefined fields stay as they are. */
export type Changes<Row> = { readonly [Field in keyof Row]?: Row[Field] | undefined }

export type RowPatch = Pick<RegistryRow, 'chain'> & Changes<RegistryRow>

/** One of the two tables. A patch has the key of a row and the fields to set. */
export interface RegistryTable<Row extends RegistryRow, Patch extends RowPatch> {
  readonly kind: EditKind
  /** Unique within a chain. */
  keyOf(row: Patch): string
  subjectOf(row: Row): { readonly subject: string; readonly source: string }
  /** The existing rows of the patches, which are all of one chain. */
  read(state: StateReader, chain: string, patches: readonly Patch[]): Promise<Row[]>
  applyPatch(patch: Patch, before: Row | undefined, nowUnix: number): Row
  readonly stored: { readonly table: string; readonly key: readonly string[]; readonly columns: readonly string[] }
  /** In the order of the columns. */
  valuesOf(row: Row): Value[]
}

export const rowsPerStatement = 100

/** The rows to write, with one edit for each. */
export interface PlannedWrites<Row> {
  readonly chain: string
  readonly rows: readonly Row[]
  readonly edits: readonly Edit[]
  readonly unchanged: number
}

/** If two patches are for the same row, the later one counts. */
export async function writeRows<Row extends RegistryRow, Patch extends RowPatch>(
  history: HistoryWriter,
  table: RegistryTable<Row, Patch>,
  patches: Iterable<Patch>,
): Promise<WriteTotals> {
  const totals = new WriteTotals()
  const { table: name, key, columns } = table.stored
  for await (const planned of planWrites(history.tx, table, patches, history.nowUnix)) {
    totals.add(planned)
    await history.tx.insertMany(name, columns, planned.rows.map(table.valuesOf), replaceOnConflict(key, columns))
    await history.write(planned.edits)
  }
  return totals
}

/** Computes what writeRows would write, without writing, up to `rowsPerStatement` rows at a time. */
export async function* planWrites<Row extends RegistryRow, Patch extends RowPatch>(
  state: StateReader,
  table: RegistryTable<Row, Patch>,
  patches: Iterable<Patch>,
  nowUnix: number,
): AsyncGenerator<PlannedWrites<Row>, undefined> {
  for (const [chain, ofChain] of Map.groupBy(patches, (patch) => patch.chain)) {
    const rows = [...new Map(ofChain.map((patch) => [table.keyOf(patch), patch])).values()]
    for (let at = 0; at < rows.length; at += rowsPerStatement) {
      yield planChunk(state, table, chain, rows.slice(at, at + rowsPerStatement), nowUnix)
    }
  }
}

export class WriteTotals {
  readonly counts = { added: 0, changed: 0, unchanged: 0 }
  /** Chains on which anything changed. */
  readonly chains = new Set<string>()

  add({ chain, edits, unchanged }: PlannedWrites<unknown>): void {
    for (const { action } of edits) this.counts[action === 'added' ? 'added' : 'changed'] += 1
    this.counts.unchanged += unchanged
    if (edits.length > 0) this.chains.add(chain)
  }
}

async function planChunk<Row extends RegistryRow, Patch extends RowPatch>(
  state: StateReader,
  table: RegistryTable<Row, Patch>,
  chain: string,
  patches: readonly Patch[],
  nowUnix: number,
): Promise<PlannedWrites<Row>> {
  const existing = await table.read(state, chain, patches)
  const before = new Map(existing.map((row) => [table.keyOf(row as unknown as Patch), row]))
  const rows: Row[] = []
  const edits: Edit[] = []
  for (const patch of patches) {
    const old = before.get(table.keyOf(patch))
    const next = table.applyPatch(patch, old, nowUnix)
    if (old && changedFields(old, next).length === 0) continue
    const row = old && patch.updatedUnix === undefined ? { ...next, updatedUnix: nowUnix } : next
    const head = { kind: table.kind, chain, ...table.subjectOf(row) }
    const fields = old ? changedFields(old, row) : []
    rows.push(row)
    edits.push(
      old
        ? { ...head, action: 'changed', before: pickFields(old, fields), after: pickFields(row, fields) }
        : { ...head, action: 'added', after: row },
    )
  }
  return { chain, rows, edits, unchanged: patches.length - rows.length }
}

const changedFields = <Row extends object>(a: Row, b: Row): (keyof Row)[] =>
  (Object.keys(a) as (keyof Row)[]).filter((field) => a[field] !== b[field])

const pickFields = <Row extends object>(row: Row, fields: readonly (keyof Row)[]): object =>
  Object.fromEntries(fields.map((field) => [field, row[field]]))
