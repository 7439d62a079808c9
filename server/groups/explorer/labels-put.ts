// How rows of the registry are written, entities and tagged addresses alike: what differs is written, what does not is
// left alone, and the history gets one edit per row that changed. A hundred rows per statement, because an import of
// 100 000 holds the store's only writing turn while it lasts.
import type { StateWriter } from '#store/state.ts'
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
  read(tx: StateWriter, chain: string, patches: readonly Patch[]): Promise<Row[]>
  filled(patch: Patch, before: Row | undefined, nowUnix: number): Row
  write(tx: StateWriter, rows: readonly Row[]): Promise<void>
}

const rowsPerStatement = 100

/** Of two patches of one row the later counts. Also tells which chains changed. */
export async function putRows<Row extends Registered, Patch extends { chain: string; updatedUnix?: number }>(
  book: Book,
  shelf: Shelf<Row, Patch>,
  patches: Iterable<Patch>,
): Promise<Counts & { readonly chains: ReadonlySet<string> }> {
  const counts = { added: 0, changed: 0, unchanged: 0 }
  const chains = new Set<string>()
  for (const [chain, ofChain] of byChain(shelf, patches)) {
    for (let at = 0; at < ofChain.length; at += rowsPerStatement) {
      const edits = await putChunk(book, shelf, chain, ofChain.slice(at, at + rowsPerStatement))
      for (const edit of edits) counts[edit?.action === 'added' ? 'added' : edit ? 'changed' : 'unchanged'] += 1
      if (edits.some(Boolean)) chains.add(chain)
    }
  }
  return { ...counts, chains }
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

/** One edit per patch, undefined where it changes nothing. */
async function putChunk<Row extends Registered, Patch extends { chain: string; updatedUnix?: number }>(
  book: Book,
  shelf: Shelf<Row, Patch>,
  chain: string,
  patches: readonly Patch[],
): Promise<(Edit | undefined)[]> {
  const there = await shelf.read(book.tx, chain, patches)
  const before = new Map(there.map((row) => [shelf.keyOf(row as unknown as Patch), row]))
  const rows: Row[] = []
  const edits = patches.map((patch): Edit | undefined => {
    const old = before.get(shelf.keyOf(patch))
    const next = shelf.filled(patch, old, book.nowUnix)
    if (old && changedFields(old, next).length === 0) return undefined
    const row = old && patch.updatedUnix === undefined ? { ...next, updatedUnix: book.nowUnix } : next
    rows.push(row)
    const head = { kind: shelf.kind, chain, ...shelf.subjectOf(row) }
    if (!old) return { ...head, action: 'added', is: row }
    const fields = changedFields(old, row)
    return { ...head, action: 'changed', was: only(old, fields), is: only(row, fields) }
  })
  if (rows.length > 0) await shelf.write(book.tx, rows)
  await book.write(edits.filter((edit) => edit !== undefined))
  return edits
}

const changedFields = <Row extends object>(one: Row, other: Row): (keyof Row)[] =>
  (Object.keys(one) as (keyof Row)[]).filter((field) => one[field] !== other[field])

const only = <Row extends object>(row: Row, fields: readonly (keyof Row)[]): object =>
  Object.fromEntries(fields.map((field) => [field, row[field]]))
