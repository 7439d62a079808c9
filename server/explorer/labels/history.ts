// Who changed what when: the registry's history (behaviour/explorer.md#label-history).
//
// 1. An edit is written in the transaction that makes it, by the function that makes it: no change is without a trace,
//    and no trace is of a change that did not happen.
// 2. Rows are only ever added. A change that turns out to change nothing leaves none.
import type { StateReader, StateWriter } from '#storage/state.ts'

export interface Author {
  /** A person or a program. */
  readonly by: string
  /** How it was done: a command, or an import with its file. */
  readonly via: string
  readonly atMs: number
}

export type EditKind = 'entity' | 'address'

export interface Edit {
  readonly kind: EditKind
  readonly chain: string
  /** Slug or address. */
  readonly subject: string
  /** Whose word about an address it is; empty for entities. */
  readonly source: string
  readonly action: 'added' | 'changed' | 'removed'
  /** The fields that changed, as they were; undefined for what was added. */
  readonly was?: object
  /** The same fields as they became; undefined for what was removed. */
  readonly is?: object
}

/** An edit as it is told later. */
export interface HistoryEntry extends Edit, Author {
  readonly change: number
}

/** One transaction's page of the history. */
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
    const change = await this.change()
    const values = edits.flatMap(({ kind, chain, subject, source, action, was, is }) => [
      ...[change, this.#items++, kind, chain, subject, source, action, encodeFields(was), encodeFields(is)],
    ])
    await this.tx.run(
      `insert into label_history (change, item, kind, chain, subject, source, action, was, is_now)
       values ${rowPlaceholders(edits.length, 9)}`,
      ...values,
    )
  }

  /** The number of this page, which is begun with the first edit. */
  async change(): Promise<number> {
    this.#change ??= await this.#begin()
    return this.#change
  }

  async #begin(): Promise<number> {
    const change = (await lastChange(this.tx)) + 1
    const { atMs, by, via } = this.author
    await this.tx.run(
      'insert into label_changes (change, at_ms, by_whom, via) values (?, ?, ?, ?)',
      change,
      atMs,
      by,
      via,
    )
    return change
  }
}

/** The registry's edition: it moves with every change, and with nothing else. 0: nothing was ever changed. */
export async function lastChange(state: StateReader): Promise<number> {
  const last = await state.get<{ change: number | null }>('select max(change) as change from label_changes')
  return last?.change ?? 0
}

/** The fields of one side of an edit, as they are stored. */
export const encodeFields = (fields: object | undefined): string | null =>
  fields === undefined ? null : JSON.stringify(fields)

/** `(?, ?), (?, ?)`: placeholders for this many rows. */
export const rowPlaceholders = (rows: number, columns: number): string => {
  const one = `(${Array(columns).fill('?').join(', ')})`
  return Array(rows).fill(one).join(', ')
}

interface StoredEdit {
  readonly change: number
  readonly at_ms: number
  readonly by_whom: string
  readonly via: string
  readonly kind: EditKind
  readonly chain: string
  readonly subject: string
  readonly source: string
  readonly action: Edit['action']
  readonly was: string | null
  readonly is_now: string | null
}

/** Newest first; of one slug or address, or of everything. */
export async function readHistory(
  state: StateReader,
  filter: { readonly subject?: string; readonly chain?: string; readonly limit: number },
): Promise<HistoryEntry[]> {
  const { subject = '', chain = '', limit } = filter
  const rows = await state.all<StoredEdit>(
    `select change, at_ms, by_whom, via, kind, chain, subject, source, action, was, is_now
     from label_history join label_changes using (change)
     where ${subject === '' ? "? = ''" : 'subject = ?'} and (? = '' or chain = ?)
     order by change desc, item desc limit ?`,
    subject,
    chain,
    chain,
    limit,
  )
  return rows.map(({ at_ms, by_whom, was, is_now, ...row }) => ({
    ...row,
    atMs: at_ms,
    by: by_whom,
    ...(was !== null && { was: JSON.parse(was) as object }),
    ...(is_now !== null && { is: JSON.parse(is_now) as object }),
  }))
}
