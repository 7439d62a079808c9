// Documents that a bulk write leaves for later (behaviour/markets.md#bulk-writes): remembers which records have changed,
// and writes the documents that show them in short transactions.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { type KindName, kindNames } from '../records/kinds.ts'
import type { RecordName } from '../records/record-graph.ts'
import type { AffectedRecords } from './affected-markets.ts'
import { openVersionWriter } from './version-writer.ts'
import { writeDocuments } from './write-documents.ts'
import { partSizes } from './write-parts.ts'

/** Stores what is affected, so that `writeDeferred` can write the documents later. */
export async function deferDocuments(tx: StateWriter, affected: AffectedRecords): Promise<void> {
  await deferAll(tx, [...affected.all.values()])
}

/** Whether an import or a first pass has left documents to write. */
export const hasDeferred = async (state: StateReader): Promise<boolean> =>
  (await state.get('select 1 as one from market_deferred_documents limit 1')) !== undefined

/**
 * Writes deferred documents in batches and returns how many changed. An interrupted run can be continued. Between batches,
 * the thread handles signals and calls.
 */
export async function writeDeferred(
  state: State,
  nowMs: () => number,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<number> {
  if (!(await hasDeferred(state))) return 0
  const sizes = partSizes[state.engine]
  while (!signal?.aborted && (await state.write((tx) => raiseDeferred(tx, sizes), { lock: 'markets' })))
    await nextEventLoopTurn()
  for (let count = 0; ; await nextEventLoopTurn()) {
    if (signal?.aborted) return count
    const batch = await state.write((tx) => writeDeferredBatch(tx, sizes.deferred, nowMs()), { lock: 'markets' })
    if (!batch) return count
    count += batch.written
  }
}

const belowMarkets = kindNames.filter((kind) => kind !== 'market')

/** Replaces some affected records by the records that show them. When it returns false, only markets are left. */
async function raiseDeferred(tx: StateWriter, sizes: RaiseSizes): Promise<boolean> {
  const rows = await tx.all<{ kind: KindName; id: string }>(
    `select kind, id from market_deferred_documents where kind in (${belowMarkets.map(() => '?').join()}) limit ?`,
    ...[...belowMarkets, sizes.raised],
  )
  if (rows.length === 0) return false
  const names = rows.map(({ kind, id }) => [kind, id] as const)
  await tx.deleteMany('market_deferred_documents', ['kind', 'id'], names)
  await deferParents(tx, names, sizes.parents)
  return true
}

/** Defers the records that show these. If there are too many for one statement, each half is tried alone. */
async function deferParents(tx: StateWriter, names: readonly RecordName[], parentsMax: number): Promise<void> {
  const [onlyName] = names
  if (!onlyName) return
  if (names.length === 1) return deferShowing(tx, ...onlyName, parentsMax)
  const parents = await tx.all<{ kind: string; id: string }>(
    `select distinct l.from_kind as kind, l.from_id as id from json_each(?) as k
     join market_links l on l.to_kind = k.value ->> 0 and l.to_id = k.value ->> 1 limit ?`,
    ...[JSON.stringify(names), parentsMax + 1],
  )
  if (parents.length <= parentsMax) {
    await deferAll(tx, parents)
    return
  }
  const half = Math.ceil(names.length / 2)
  await deferParents(tx, names.slice(0, half), parentsMax)
  await deferParents(tx, names.slice(half), parentsMax)
}

type RaiseSizes = Pick<(typeof partSizes)['sqlite'], 'raised' | 'parents'>

const deferAll = (tx: StateWriter, names: readonly { readonly kind: string; readonly id: string }[]) =>
  tx.insertMany(
    'market_deferred_documents',
    ['kind', 'id'],
    names.map(({ kind, id }) => [kind, id]),
    'on conflict (kind, id) do nothing',
  )

/** Defers the records that show this one, a limited number per statement. */
async function deferShowing(tx: StateWriter, kind: KindName, id: string, parentsBatch: number): Promise<void> {
  for (let after: readonly [string, string] = ['', '']; ; ) {
    const parents = await tx.all<{ kind: string; id: string }>(
      `select from_kind as kind, from_id as id from market_links
       where to_kind = ? and to_id = ? and (from_kind, from_id) > (?, ?) order by from_kind, from_id limit ?`,
      ...[kind, id, ...after, parentsBatch],
    )
    await deferAll(tx, parents)
    const last = parents.at(-1)
    if (!last || parents.length < parentsBatch) return
    after = [last.kind, last.id]
  }
}

async function writeDeferredBatch(
  tx: StateWriter,
  documents: number,
  nowMs: number,
): Promise<{ readonly written: number } | undefined> {
  const sql = "select id from market_deferred_documents where kind = 'market' order by id limit ?"
  const rows = await tx.all<{ id: string }>(sql, documents)
  if (rows.length === 0) return undefined
  const versions = await openVersionWriter(tx, nowMs)
  const ids = rows.map(({ id }) => id)
  const written = await writeDocuments(tx, ids, versions.atMs)
  await versions.write({ hasNewDocuments: written > 0 })
  await tx.deleteMany(
    'market_deferred_documents',
    ['kind', 'id'],
    ids.map((id) => ['market', id]),
  )
  return { written }
}
