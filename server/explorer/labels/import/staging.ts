// Stages large imports (decisions/stage-large-label-imports.md): the rows are computed and stored in a separate table
// in small transactions. The final merge is a few statements, so it blocks other writes only briefly.
//
// 1. Staged rows are computed for one revision of the registry and merged only into that one. If the registry has
//    changed meanwhile, they are computed again.
// 2. The merge is one transaction: all rows, their history and the revisions of the lists.
// 3. Rows that a crash leaves behind are never read, and a later import deletes them.

import { toBytes } from '#explorer/funding/fundings.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State, StateWriter, Value } from '#storage/state.ts'
import { type Author, type Edit, encodeFields, HistoryWriter, lastChange, rowPlaceholders } from '../history.ts'
import { bumpListRevision, entityTable, type Label, type LabelPatch } from '../labels.ts'
import { findUnknownEntities, type RejectedTag, type Tag, type TagPatch, tagTable } from '../tags.ts'
import { type Counts, type PlannedWrites, planWrites, type WriteTotals, WriteTotalsCounter } from '../write-rows.ts'

/** Smaller imports are faster without staging. */
export const stagedRecordsMin = 2000
const attemptsMax = 3
/** Each batch has up to a hundred rows. */
const batchesPerWrite = 10
const rowsPerDelete = 5000
const abandonedAfterMs = 86_400_000

export interface WriteResult {
  readonly entities: Counts
  readonly addresses: Counts
  readonly rejected: readonly RejectedTag[]
  /** False: `accepts` returned false. */
  readonly done: boolean
}

const noCounts: Counts = { added: 0, changed: 0, unchanged: 0 }
export const nothingWritten = {
  entities: noCounts,
  addresses: noCounts,
  rejected: [],
  done: false,
} satisfies WriteResult

/**
 * `accepts` decides by the rejected tags whether to write. Returns undefined if the registry changed during every
 * attempt.
 */
export async function writeStaged(
  state: State,
  author: Author,
  patches: { readonly entities: readonly LabelPatch[]; readonly tags: readonly TagPatch[] },
  accepts: (rejected: readonly RejectedTag[]) => boolean,
): Promise<WriteResult | undefined> {
  await dropAbandonedStages(state, author.atMs - abandonedAfterMs)
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const revision = await lastChange(state)
    const rejected = await findUnknownEntities(state, patches.tags, patches.entities)
    if (!accepts(rejected)) return { ...nothingWritten, rejected }
    const rejectedPatches = new Set(rejected.map(({ patch }) => patch))
    const stage = await ImportStage.open(state, author)
    try {
      const nowUnix = Math.floor(author.atMs / 1000)
      const tags = patches.tags.filter((patch) => !rejectedPatches.has(patch))
      const entities = await stage.add(planWrites(state, entityTable, patches.entities, nowUnix), entityColumns)
      const addresses = await stage.add(planWrites(state, tagTable, tags, nowUnix), tagColumns)
      if (!(await stage.merge(revision, entities.chains))) continue
      return { entities: entities.counts, addresses: addresses.counts, rejected, done: true }
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
  ...[name, null, null, toBytes(address, 20), entity, confidence, evidenceUrl, updatedUnix],
]

class ImportStage {
  readonly #state: State
  readonly #author: Author
  readonly #id: number
  #items = 0

  constructor(state: State, author: Author, id: number) {
    this.#state = state
    this.#author = author
    this.#id = id
  }

  static async open(state: State, author: Author): Promise<ImportStage> {
    const id = await state.write(async (tx) => {
      const last = await tx.get<{ id: number | null }>('select max(id) as id from label_imports')
      const next = (last?.id ?? 0) + 1
      await tx.run('insert into label_imports (id, at_ms) values (?, ?)', next, author.atMs)
      return next
    })
    return new ImportStage(state, author, id)
  }

  /** In small transactions, so that other writes do not wait. */
  async add<Row>(
    planned: AsyncIterable<PlannedWrites<Row>>,
    columnsOf: (row: Row) => RowColumns,
  ): Promise<WriteTotals> {
    const totals = new WriteTotalsCounter()
    let batches: { readonly rows: number; readonly values: readonly Value[] }[] = []
    const flush = async () => {
      await this.#state.write(async (tx) => {
        for (const { rows, values } of batches) await tx.run(stageRows(rows), ...values)
      })
      batches = []
    }
    for await (const batch of planned) {
      totals.add(batch)
      const values = batch.rows.flatMap((row, at) => [
        ...[this.#id, this.#items++, ...editColumns(batch.edits[at] as Edit), ...columnsOf(row)],
      ])
      if (values.length > 0) batches.push({ rows: batch.rows.length, values })
      if (batches.length === batchesPerWrite) await flush()
      await nextEventLoopTurn()
    }
    if (batches.length > 0) await flush()
    return totals
  }

  /** Returns false if the registry is no longer at this revision. */
  merge(revision: number, chains: Iterable<string>): Promise<boolean> {
    return this.#state.write(async (tx) => {
      if ((await lastChange(tx)) !== revision) return false
      if (this.#items === 0) return true
      const change = await new HistoryWriter(tx, this.#author).change()
      await tx.run(mergeEntities, this.#id)
      await tx.run(mergeTags, this.#id)
      await tx.run(mergeHistory, change, this.#id)
      for (const chain of chains) await bumpListRevision(tx, chain)
      return true
    })
  }

  drop(): Promise<void> {
    return dropStage(this.#state, this.#id)
  }
}

const editColumns = ({ kind, chain, subject, source, action, before, after }: Edit): readonly Value[] => [
  ...[kind, chain, subject, source, action, encodeFields(before), encodeFields(after)],
]

const stageRows = (rows: number): string =>
  `insert into label_import_rows (import, item, kind, chain, subject, source, action, before, after,
     name, description, notes, address, entity, confidence, evidence_url, updated_unix)
   values ${rowPlaceholders(rows, 17)}`

const mergeEntities = `
  insert into labels (chain, slug, name, description, notes, updated_unix)
  select chain, subject, name, description, notes, updated_unix
  from label_import_rows where import = ? and kind = 'entity' order by chain, subject
  on conflict (chain, slug) do update set name = excluded.name, description = excluded.description,
    notes = excluded.notes, updated_unix = excluded.updated_unix`

const mergeTags = `
  insert into tagged_addresses (chain, address, source, name, entity, confidence, evidence_url, updated_unix)
  select chain, address, source, name, entity, confidence, evidence_url, updated_unix
  from label_import_rows where import = ? and kind = 'address' order by chain, address, source
  on conflict (chain, address, source) do update set name = excluded.name, entity = excluded.entity,
    confidence = excluded.confidence, evidence_url = excluded.evidence_url, updated_unix = excluded.updated_unix`

const mergeHistory = `
  insert into label_history (change, item, kind, chain, subject, source, action, before, after)
  select cast(? as bigint), item, kind, chain, subject, source, action, before, after
  from label_import_rows where import = ? order by item`

/** In steps, because deleting many rows at once would block other writes. */
async function dropStage(state: State, id: number): Promise<void> {
  const firstItem = (tx: StateWriter) =>
    tx.get<{ item: number | null }>('select min(item) as item from label_import_rows where import = ?', id)
  for (;;) {
    const done = await state.write(async (tx) => {
      const first = (await firstItem(tx))?.item ?? undefined
      if (first === undefined) return true
      await tx.run('delete from label_import_rows where import = ? and item < ?', id, first + rowsPerDelete)
      return false
    })
    if (done) break
    await nextEventLoopTurn()
  }
  await state.write((tx) => tx.run('delete from label_imports where id = ?', id))
}

/** Invariant 3. */
async function dropAbandonedStages(state: State, beforeMs: number): Promise<void> {
  const old = await state.all<{ id: number }>('select id from label_imports where at_ms < ?', beforeMs)
  for (const { id } of old) await dropStage(state, id)
}
