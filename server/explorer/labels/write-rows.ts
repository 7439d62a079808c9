// How rows of the registry are written, entities and tagged addresses alike: what differs is written, what does not is
// left alone, and the history gets one edit per row that changed. What that comes to can be worked out ahead of the
// writing, since a large import must not hold the store's only writing turn for long (import-stage.ts).
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { Edit, EditKind, HistoryWriter } from './history.ts'

export interface Counts {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
}

interface RegistryRow {
  readonly chain: string
  readonly updatedUnix: number
}

/** One kind of row. A patch names a row and the fields to set; fields left out stay as they are. */
export interface RegistryTable<Row extends RegistryRow, Patch extends { chain: string; updatedUnix?: number }> {
  readonly kind: EditKind
  /** What tells rows of one chain apart. */
  keyOf(row: Patch): string
  subjectOf(row: Row): { readonly subject: string; readonly source: string }
  /** The rows of these patches that are there; all are of one chain. */
  read(state: StateReader, chain: string, patches: readonly Patch[]): Promise<Row[]>
  applyPatch(patch: Patch, before: Row | undefined, nowUnix: number): Row
  write(tx: StateWriter, rows: readonly Row[]): Promise<void>
}

const rowsPerStatement = 100

/** What a few patches come to: the rows to write, and an edit for each. */
export interface PlannedWrites<Row> {
  readonly chain: string
  readonly rows: readonly Row[]
  readonly edits: readonly Edit[]
  readonly unchanged: number
}

/** Of two patches of one row the later counts. Also tells which chains changed. */
export async function writeRows<Row extends RegistryRow, Patch extends { chain: string; updatedUnix?: number }>(
  history: HistoryWriter,
  table: RegistryTable<Row, Patch>,
  patches: Iterable<Patch>,
): Promise<WriteTotals> {
  const sum = new WriteTotalsCounter()
  for await (const planned of planWrites(history.tx, table, patches, history.nowUnix)) {
    sum.add(planned)
    if (planned.rows.length > 0) await table.write(history.tx, planned.rows)
    await history.write(planned.edits)
  }
  return sum
}

/** The same in thought only, a hundred rows at a time; nothing is written. */
export async function* planWrites<Row extends RegistryRow, Patch extends { chain: string; updatedUnix?: number }>(
  state: StateReader,
  table: RegistryTable<Row, Patch>,
  patches: Iterable<Patch>,
  nowUnix: number,
): AsyncGenerator<PlannedWrites<Row>, undefined> {
  for (const [chain, ofChain] of groupByChain(table, patches)) {
    for (let at = 0; at < ofChain.length; at += rowsPerStatement) {
      yield planChunk(state, table, chain, ofChain.slice(at, at + rowsPerStatement), nowUnix)
    }
  }
}

/** What was put, in sum. */
export interface WriteTotals {
  readonly counts: Counts
  /** Chains on which anything changed. */
  readonly chains: ReadonlySet<string>
}

/** Adds up what was planned. */
export class WriteTotalsCounter implements WriteTotals {
  readonly counts = { added: 0, changed: 0, unchanged: 0 }
  readonly chains = new Set<string>()

  add({ chain, edits, unchanged }: PlannedWrites<unknown>): void {
    for (const { action } of edits) this.counts[action === 'added' ? 'added' : 'changed'] += 1
    this.counts.unchanged += unchanged
    if (edits.length > 0) this.chains.add(chain)
  }
}

function groupByChain<Row extends RegistryRow, Patch extends { chain: string; updatedUnix?: number }>(
  table: RegistryTable<Row, Patch>,
  patches: Iterable<Patch>,
): Map<string, Patch[]> {
  const last = new Map<string, Map<string, Patch>>()
  for (const patch of patches) {
    const ofChain = last.get(patch.chain) ?? new Map<string, Patch>()
    last.set(patch.chain, ofChain.set(table.keyOf(patch), patch))
  }
  return new Map([...last].map(([chain, ofChain]) => [chain, [...ofChain.values()]]))
}

async function planChunk<Row extends RegistryRow, Patch extends { chain: string; updatedUnix?: number }>(
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
        ? { ...head, action: 'changed', was: pickFields(old, fields), is: pickFields(row, fields) }
        : { ...head, action: 'added', is: row },
    )
  }
  return { chain, rows, edits, unchanged: patches.length - rows.length }
}

const changedFields = <Row extends object>(one: Row, other: Row): (keyof Row)[] =>
  (Object.keys(one) as (keyof Row)[]).filter((field) => one[field] !== other[field])

const pickFields = <Row extends object>(row: Row, fields: readonly (keyof Row)[]): object =>
  Object.fromEntries(fields.map((field) => [field, row[field]]))
