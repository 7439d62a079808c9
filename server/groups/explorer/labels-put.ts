// How rows of the registry are written, entities and tagged addresses alike: what differs is written, what does not is
// left alone, and the history gets one edit per row that changed. What that comes to can be worked out ahead of the
// writing, since a large import must not hold the store's only writing turn for long (import-stage.ts).
import type { StateReader, StateWriter } from '#store/state.ts'
import type { Book, Edit, EditKind } from './labels-history.ts'

export interface Counts {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
}

interface Registered {
  readonly chain: string
  readonly updatedUnix: number
}

/** One kind of row. A patch names a row and the fields to set; fields left out stay as they are. */
export interface Shelf<Row extends Registered, Patch extends { chain: string; updatedUnix?: number }> {
  readonly kind: EditKind
  /** What tells rows of one chain apart. */
  keyOf(row: Patch): string
  subjectOf(row: Row): { readonly subject: string; readonly source: string }
  /** The rows of these patches that are there; all are of one chain. */
  read(state: StateReader, chain: string, patches: readonly Patch[]): Promise<Row[]>
  filled(patch: Patch, before: Row | undefined, nowUnix: number): Row
  write(tx: StateWriter, rows: readonly Row[]): Promise<void>
}

const rowsPerStatement = 100

/** What a few patches come to: the rows to write, and an edit for each. */
export interface Planned<Row> {
  readonly chain: string
  readonly rows: readonly Row[]
  readonly edits: readonly Edit[]
  readonly unchanged: number
}

/** Of two patches of one row the later counts. Also tells which chains changed. */
export async function putRows<Row extends Registered, Patch extends { chain: string; updatedUnix?: number }>(
  book: Book,
  shelf: Shelf<Row, Patch>,
  patches: Iterable<Patch>,
): Promise<Sum> {
  const sum = new Counting()
  for await (const planned of plan(book.tx, shelf, patches, book.nowUnix)) {
    sum.add(planned)
    if (planned.rows.length > 0) await shelf.write(book.tx, planned.rows)
    await book.write(planned.edits)
  }
  return sum
}

/** The same in thought only, a hundred rows at a time; nothing is written. */
export async function* plan<Row extends Registered, Patch extends { chain: string; updatedUnix?: number }>(
  state: StateReader,
  shelf: Shelf<Row, Patch>,
  patches: Iterable<Patch>,
  nowUnix: number,
): AsyncGenerator<Planned<Row>, undefined> {
  for (const [chain, ofChain] of byChain(shelf, patches)) {
    for (let at = 0; at < ofChain.length; at += rowsPerStatement) {
      yield planChunk(state, shelf, chain, ofChain.slice(at, at + rowsPerStatement), nowUnix)
    }
  }
}

/** What was put, in sum. */
export interface Sum {
  readonly counts: Counts
  /** Chains on which anything changed. */
  readonly chains: ReadonlySet<string>
}

/** Adds up what was planned. */
export class Counting implements Sum {
  readonly counts = { added: 0, changed: 0, unchanged: 0 }
  readonly chains = new Set<string>()

  add({ chain, edits, unchanged }: Planned<unknown>): void {
    for (const { action } of edits) this.counts[action === 'added' ? 'added' : 'changed'] += 1
    this.counts.unchanged += unchanged
    if (edits.length > 0) this.chains.add(chain)
  }
}

function byChain<Row extends Registered, Patch extends { chain: string; updatedUnix?: number }>(
  shelf: Shelf<Row, Patch>,
  patches: Iterable<Patch>,
): Map<string, Patch[]> {
  const last = new Map<string, Map<string, Patch>>()
  for (const patch of patches) {
    const ofChain = last.get(patch.chain) ?? new Map<string, Patch>()
    last.set(patch.chain, ofChain.set(shelf.keyOf(patch), patch))
  }
  return new Map([...last].map(([chain, ofChain]) => [chain, [...ofChain.values()]]))
}

async function planChunk<Row extends Registered, Patch extends { chain: string; updatedUnix?: number }>(
  state: StateReader,
  shelf: Shelf<Row, Patch>,
  chain: string,
  patches: readonly Patch[],
  nowUnix: number,
): Promise<Planned<Row>> {
  const there = await shelf.read(state, chain, patches)
  const before = new Map(there.map((row) => [shelf.keyOf(row as unknown as Patch), row]))
  const rows: Row[] = []
  const edits: Edit[] = []
  for (const patch of patches) {
    const old = before.get(shelf.keyOf(patch))
    const next = shelf.filled(patch, old, nowUnix)
    if (old && changedFields(old, next).length === 0) continue
    const row = old && patch.updatedUnix === undefined ? { ...next, updatedUnix: nowUnix } : next
    const head = { kind: shelf.kind, chain, ...shelf.subjectOf(row) }
    const fields = old ? changedFields(old, row) : []
    rows.push(row)
    edits.push(
      old
        ? { ...head, action: 'changed', was: only(old, fields), is: only(row, fields) }
        : { ...head, action: 'added', is: row },
    )
  }
  return { chain, rows, edits, unchanged: patches.length - rows.length }
}

const changedFields = <Row extends object>(one: Row, other: Row): (keyof Row)[] =>
  (Object.keys(one) as (keyof Row)[]).filter((field) => one[field] !== other[field])

const only = <Row extends object>(row: Row, fields: readonly (keyof Row)[]): object =>
  Object.fromEntries(fields.map((field) => [field, row[field]]))
