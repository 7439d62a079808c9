// Stages large imports (decisions/stage-large-label-imports.md): the rows are computed and stored in a separate table
// in small transactions, and their history under a reserved number. The final merge is a few statements, so it blocks
// other writes only briefly.
//
// 1. Staged rows are computed for one revision of the registry and merged only into that one. If the registry has
//    changed meanwhile, they are computed again.
// 2. The merge is one transaction: all rows, the number that makes their history visible, and the revisions of the lists.
// 3. Rows that a crash leaves behind are never read, and a later import deletes them.

import { nextEventLoopTurn } from '#runtime/clock.ts'
import { replaceOnConflict } from '#storage/put-row.ts'
import type { State, StateWriter } from '#storage/state.ts'
import { type Author, insertChange, insertEdits, lastChange, nextChange } from '../history.ts'
import { bumpListRevision, entityTable, type LabelPatch } from '../labels.ts'
import { findUnknownEntities, type RejectedTag, type TagPatch, tagTable } from '../tags.ts'
import {
  type Counts,
  type PlannedWrites,
  planWrites,
  type RegistryRow,
  type RegistryTable,
  type RowPatch,
  WriteTotals,
} from '../write-rows.ts'

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
}

/** Called with numbers of records. An attempt that is repeated plans them again. */
export interface ImportProgress {
  plan(records: number): void
  step(records: number): void
}

/** Returns undefined if the registry changed during every attempt. */
export async function writeStaged(
  state: State,
  author: Author,
  patches: { readonly entities: readonly LabelPatch[]; readonly tags: readonly TagPatch[] },
  progress?: ImportProgress,
): Promise<WriteResult | undefined> {
  await dropAbandonedStages(state, author.atMs - abandonedAfterMs)
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const revision = await lastChange(state)
    const rejected = await findUnknownEntities(state, patches.tags, patches.entities)
    const rejectedPatches = new Set(rejected.map(({ patch }) => patch))
    const stage = await openStage(state, author, progress)
    try {
      const tags = patches.tags.filter((patch) => !rejectedPatches.has(patch))
      progress?.plan(patches.entities.length + tags.length)
      const entities = await stage.add(entityTable, patches.entities)
      const addresses = await stage.add(tagTable, tags)
      if (!(await stage.merge(revision, entities.chains, addresses.chains))) continue
      return { entities: entities.counts, addresses: addresses.counts, rejected }
    } finally {
      await stage.drop()
    }
  }
  return undefined
}

async function openStage(state: State, author: Author, progress: ImportProgress | undefined) {
  const change = await state.write(
    async (tx) => {
      const next = await nextChange(tx)
      await tx.run('insert into label_imports (change, at_ms) values (?, ?)', next, author.atMs)
      return next
    },
    { lock: 'labels' },
  )
  let items = 0
  return {
    /** In small transactions, so that other writes do not wait. */
    async add<Row extends RegistryRow, Patch extends RowPatch>(
      table: RegistryTable<Row, Patch>,
      patches: readonly Patch[],
    ): Promise<WriteTotals> {
      const totals = new WriteTotals()
      const columns = ['change', 'item', 'kind', ...table.stored.columns]
      let batches: (PlannedWrites<Row> & { readonly firstItem: number })[] = []
      const flush = async () => {
        await state.write(
          async (tx) => {
            for (const { rows, edits, firstItem } of batches) {
              const values = rows.map((row, at) => [change, firstItem + at, table.kind, ...table.valuesOf(row)])
              await tx.insertMany('label_import_rows', columns, values)
              await insertEdits(tx, change, firstItem, edits)
            }
          },
          { lock: 'labels' },
        )
        batches = []
      }
      for await (const batch of planWrites(state, table, patches, Math.floor(author.atMs / 1000))) {
        totals.add(batch)
        progress?.step(batch.edits.length + batch.unchanged)
        if (batch.rows.length > 0) batches.push({ ...batch, firstItem: items })
        items += batch.rows.length
        if (batches.length === batchesPerWrite) await flush()
        await nextEventLoopTurn()
      }
      if (batches.length > 0) await flush()
      return totals
    },

    /** Returns false if the registry is no longer at this revision, or staged rows are missing. */
    merge: (revision: number, entityChains: ReadonlySet<string>, tagChains: ReadonlySet<string>): Promise<boolean> =>
      state.write(
        async (tx) => {
          if ((await lastChange(tx)) !== revision) return false
          if (items === 0) return true
          // A process whose clock is a day ahead has deleted some.
          const sql = 'select count(*) as staged from label_import_rows where change = ?'
          if ((await tx.get<{ staged: number }>(sql, change))?.staged !== items) return false
          await insertChange(tx, change, author)
          if (entityChains.size > 0) await tx.run(mergeSql(entityTable), change)
          if (tagChains.size > 0) await tx.run(mergeSql(tagTable), change)
          for (const chain of entityChains) await bumpListRevision(tx, chain)
          return true
        },
        { lock: 'labels' },
      ),

    drop: () => dropStage(state, change),
  }
}

function mergeSql({ kind, stored }: Pick<typeof entityTable, 'kind' | 'stored'>): string {
  const { table, key, columns } = stored
  return `insert into ${table} (${columns.join()}) select ${columns.join()} from label_import_rows
    where change = ? and kind = '${kind}' order by ${key.join()} ${replaceOnConflict(key, columns)}`
}

/** The history of an import that was not merged goes too. */
async function dropStage(state: State, change: number): Promise<void> {
  await deleteInSteps(state, 'label_import_rows', change)
  const merged = await state.get('select 1 as is_merged from label_changes where change = ?', change)
  if (!merged) await deleteInSteps(state, 'label_history', change)
  await state.write((tx) => tx.run('delete from label_imports where change = ?', change), { lock: 'labels' })
}

/** Deleting many rows at once would block other writes. */
async function deleteInSteps(state: State, table: string, change: number): Promise<void> {
  const firstItem = (tx: StateWriter) =>
    tx.get<{ item: number | null }>(`select min(item) as item from ${table} where change = ?`, change)
  for (;;) {
    const done = await state.write(
      async (tx) => {
        const first = (await firstItem(tx))?.item ?? undefined
        if (first === undefined) return true
        await tx.run(`delete from ${table} where change = ? and item < ?`, change, first + rowsPerDelete)
        return false
      },
      { lock: 'labels' },
    )
    if (done) return
    await nextEventLoopTurn()
  }
}

/** Rule 3. */
async function dropAbandonedStages(state: State, beforeMs: number): Promise<void> {
  const old = await state.all<{ change: number }>('select change from label_imports where at_ms < ?', beforeMs)
  for (const { change } of old) await dropStage(state, change)
}
