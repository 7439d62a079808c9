// Large imports (decision 0069): what is to be written is worked out and laid down beside the registry in small steps, so that the
// transaction that brings it in is a few statements, however many rows they move.
//
// 1. What is staged was worked out against one edition of the registry, and is merged only into that one. If the registry
//    has moved meanwhile it is worked out again.
// 2. The merge is one transaction: all rows, their history and the chains' revisions, or nothing.
// 3. What a crash leaves staged is seen by nobody, and goes with a later import.
import { nextTurn } from '#io/clock.ts'
import type { State, StateWriter, Value } from '#store/state.ts'
import { bytesOf } from './fundings.ts'
import { entityShelf, type Label, type LabelPatch, moveList } from './labels.ts'
import { type Author, Book, type Edit, lastChange, rowsOf, wordsOf } from './labels-history.ts'
import { Counting, type Counts, type Planned, plan, type Sum } from './labels-put.ts'
import { type RefusedTag, strangers, type Tag, type TagPatch, tagShelf } from './tags.ts'

/** From so many records on it pays to stage. */
export const stagedFrom = 2000
const attemptsMax = 3
/** Each has up to a hundred rows. */
const piecesPerWrite = 10
const rowsPerDelete = 5000
const leftoverMs = 86_400_000

/** What an import came to. */
export interface Put {
  readonly entities: Counts
  readonly addresses: Counts
  readonly refused: readonly RefusedTag[]
  /** False when the caller did not want it after all. */
  readonly done: boolean
}

const none: Counts = { added: 0, changed: 0, unchanged: 0 }
export const nothingPut = { entities: none, addresses: none, refused: [], done: false } satisfies Put

/**
 * `wanted` is told which tags are refused, before anything is written. Undefined: the registry did not stand still for
 * long enough.
 */
export async function putStaged(
  state: State,
  author: Author,
  patches: { readonly entities: readonly LabelPatch[]; readonly tags: readonly TagPatch[] },
  wanted: (refused: readonly RefusedTag[]) => boolean,
): Promise<Put | undefined> {
  await sweep(state, author.atMs - leftoverMs)
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const edition = await lastChange(state)
    const refused = await strangers(state, patches.tags, patches.entities)
    if (!wanted(refused)) return { ...nothingPut, refused }
    const bad = new Set(refused.map(({ patch }) => patch))
    const stage = await Stage.open(state, author)
    try {
      const nowUnix = Math.floor(author.atMs / 1000)
      const good = patches.tags.filter((patch) => !bad.has(patch))
      const entities = await stage.fill(plan(state, entityShelf, patches.entities, nowUnix), entityColumns)
      const addresses = await stage.fill(plan(state, tagShelf, good, nowUnix), tagColumns)
      if (!(await stage.merge(edition, entities.chains))) continue
      return { entities: entities.counts, addresses: addresses.counts, refused, done: true }
    } finally {
      await stage.drop()
    }
  }
  return undefined
}

/** Name, description, notes, address, entity, confidence, evidence, time. */
type RowColumns = readonly Value[]

const entityColumns = ({ name, description, notes, updatedUnix }: Label): RowColumns => [
  ...[name, description, notes, null, null, null, null, updatedUnix],
]
const tagColumns = ({ name, address, entity, confidence, evidenceUrl, updatedUnix }: Tag): RowColumns => [
  ...[name, null, null, bytesOf(address, 20), entity, confidence, evidenceUrl, updatedUnix],
]

class Stage {
  readonly #state: State
  readonly #author: Author
  readonly #id: number
  #items = 0

  constructor(state: State, author: Author, id: number) {
    this.#state = state
    this.#author = author
    this.#id = id
  }

  static async open(state: State, author: Author): Promise<Stage> {
    const id = await state.write(async (tx) => {
      const last = await tx.get<{ id: number | null }>('select max(id) as id from label_imports')
      const next = (last?.id ?? 0) + 1
      await tx.run('insert into label_imports (id, at_ms) values (?, ?)', next, author.atMs)
      return next
    })
    return new Stage(state, author, id)
  }

  /** Small transactions, with turns for others between them. */
  async fill<Row>(planned: AsyncIterable<Planned<Row>>, columnsOf: (row: Row) => RowColumns): Promise<Sum> {
    const sum = new Counting()
    let pieces: { readonly rows: number; readonly values: readonly Value[] }[] = []
    const lay = async () => {
      await this.#state.write(async (tx) => {
        for (const { rows, values } of pieces) await tx.run(stageRows(rows), ...values)
      })
      pieces = []
    }
    for await (const piece of planned) {
      sum.add(piece)
      const values = piece.rows.flatMap((row, at) => [
        ...[this.#id, this.#items++, ...editColumns(piece.edits[at] as Edit), ...columnsOf(row)],
      ])
      if (values.length > 0) pieces.push({ rows: piece.rows.length, values })
      if (pieces.length === piecesPerWrite) await lay()
      await nextTurn()
    }
    if (pieces.length > 0) await lay()
    return sum
  }

  /** False: the registry is another than the one this was worked out for. */
  merge(edition: number, chains: Iterable<string>): Promise<boolean> {
    return this.#state.write(async (tx) => {
      if ((await lastChange(tx)) !== edition) return false
      if (this.#items === 0) return true
      const change = await new Book(tx, this.#author).change()
      await tx.run(mergeEntities, this.#id)
      await tx.run(mergeTags, this.#id)
      await tx.run(mergeHistory, change, this.#id)
      for (const chain of chains) await moveList(tx, chain)
      return true
    })
  }

  drop(): Promise<void> {
    return dropStage(this.#state, this.#id)
  }
}

const editColumns = ({ kind, chain, subject, source, action, was, is }: Edit): readonly Value[] => [
  ...[kind, chain, subject, source, action, wordsOf(was), wordsOf(is)],
]

const stageRows = (rows: number): string =>
  `insert into label_stage (import, item, kind, chain, subject, source, action, was, is_now,
     name, description, notes, address, entity, confidence, evidence_url, updated_unix)
   values ${rowsOf(rows, 17)}`

const mergeEntities = `
  insert into labels (chain, slug, name, description, notes, updated_unix)
  select chain, subject, name, description, notes, updated_unix
  from label_stage where import = ? and kind = 'entity' order by chain, subject
  on conflict (chain, slug) do update set name = excluded.name, description = excluded.description,
    notes = excluded.notes, updated_unix = excluded.updated_unix`

const mergeTags = `
  insert into tagged_addresses (chain, address, source, name, entity, confidence, evidence_url, updated_unix)
  select chain, address, source, name, entity, confidence, evidence_url, updated_unix
  from label_stage where import = ? and kind = 'address' order by chain, address, source
  on conflict (chain, address, source) do update set name = excluded.name, entity = excluded.entity,
    confidence = excluded.confidence, evidence_url = excluded.evidence_url, updated_unix = excluded.updated_unix`

const mergeHistory = `
  insert into label_history (change, item, kind, chain, subject, source, action, was, is_now)
  select cast(? as bigint), item, kind, chain, subject, source, action, was, is_now
  from label_stage where import = ? order by item`

/** A piece at a time: taking a hundred thousand rows away at once would hold the store as long as writing them. */
async function dropStage(state: State, id: number): Promise<void> {
  const left = (tx: StateWriter) =>
    tx.get<{ item: number | null }>('select min(item) as item from label_stage where import = ?', id)
  for (;;) {
    const done = await state.write(async (tx) => {
      const first = (await left(tx))?.item ?? undefined
      if (first === undefined) return true
      await tx.run('delete from label_stage where import = ? and item < ?', id, first + rowsPerDelete)
      return false
    })
    if (done) break
    await nextTurn()
  }
  await state.write((tx) => tx.run('delete from label_imports where id = ?', id))
}

/** Invariant 3. */
async function sweep(state: State, beforeMs: number): Promise<void> {
  const old = await state.all<{ id: number }>('select id from label_imports where at_ms < ?', beforeMs)
  for (const { id } of old) await dropStage(state, id)
}
