// The history of the label registry: who changed what and when (behaviour/explorer.md#label-history).
//
// 1. Entries become visible in the transaction of the change, so there is never one without the other. Large imports
//    write their entries before: those of a number that is not in label_changes yet are not read (import/staging.ts).
// 2. Entries are only added, never modified. A write that changes nothing leaves no entry.
import type { StateReader, StateWriter } from '#storage/state.ts'

export interface Author {
  /** A person or a program. */
  readonly by: string
  /** The command, or the import with its file. */
  readonly via: string
  readonly atMs: number
}

export type EditKind = 'entity' | 'address'

export interface Edit {
  readonly kind: EditKind
  readonly chain: string
  /** Slug or address. */
  readonly subject: string
  /** Source of the tag; empty for entities. */
  readonly source: string
  readonly action: 'added' | 'changed' | 'removed'
  /** The changed fields before the change; undefined if added. */
  readonly before?: object
  /** The same fields after the change; undefined if removed. */
  readonly after?: object
}

export interface HistoryEntry extends Edit, Author {
  readonly change: number
}

/** Writes the history of one transaction. */
export class HistoryWriter {
  readonly tx: StateWriter
  readonly author: Author
  #change: number | undefined
  #items = 0

  constructor(tx: StateWriter, author: Author) {
    this.tx = tx
    this.author = author
  }

  get nowUnix(): number {
    return Math.floor(this.author.atMs / 1000)
  }

  async write(edits: readonly Edit[]): Promise<void> {
    if (edits.length === 0) return
    this.#change ??= await this.#insertChange()
    await insertEdits(this.tx, this.#change, this.#items, edits)
    this.#items += edits.length
  }

  async #insertChange(): Promise<number> {
    const change = await nextChange(this.tx)
    await insertChange(this.tx, change, this.author)
    return change
  }
}

/** Greater than all changes, and than the numbers that imports have reserved. */
export async function nextChange(tx: StateWriter): Promise<number> {
  const reserved = await tx.get<{ change: number | null }>('select max(change) as change from label_imports')
  return Math.max(await lastChange(tx), reserved?.change ?? 0) + 1
}

export const insertChange = (tx: StateWriter, change: number, { atMs, by, via }: Author): Promise<number> =>
  tx.run('insert into label_changes (change, at_ms, author, via) values (?, ?, ?, ?)', change, atMs, by, via)

export async function insertEdits(
  tx: StateWriter,
  change: number,
  firstItem: number,
  edits: readonly Edit[],
): Promise<void> {
  const rows = edits.map(({ kind, chain, subject, source, action, before, after }, at) => [
    ...[change, firstItem + at, kind, chain, subject, source, action, encodeFields(before), encodeFields(after)],
  ])
  const columns = ['change', 'item', 'kind', 'chain', 'subject', 'source', 'action', 'before', 'after']
  await tx.insertMany('label_history', columns, rows)
}

/** The number of the last change, which serves as the revision of the registry. 0: no change yet. */
export async function lastChange(state: StateReader): Promise<number> {
  const last = await state.get<{ change: number | null }>('select max(change) as change from label_changes')
  return last?.change ?? 0
}

const encodeFields = (fields: object | undefined): string | null =>
  fields === undefined ? null : JSON.stringify(fields)

type StoredEntry = Omit<HistoryEntry, 'before' | 'after'> & { before: string | null; after: string | null }

/** Newest first. Without `subject`, of everything. */
export async function readHistory(
  state: StateReader,
  filter: { readonly subject?: string; readonly chain?: string; readonly limit: number },
): Promise<HistoryEntry[]> {
  const { subject = '', chain = '', limit } = filter
  const rows = await state.all<StoredEntry>(
    `select change, via, kind, chain, subject, source, action, at_ms as "atMs", author as "by", before, after
     from label_history join label_changes using (change)
     where ${subject === '' ? "? = ''" : 'subject = ?'} and (? = '' or chain = ?)
     order by change desc, item desc limit ?`,
    subject,
    chain,
    chain,
    limit,
  )
  return rows.map(({ before, after, ...row }) => ({
    ...row,
    ...(before !== null && { before: JSON.parse(before) as object }),
    ...(after !== null && { after: JSON.parse(after) as object }),
  }))
}
