// Reads and writes the labelled entities of each chain. All access to the labels table goes through this file.
//
// 1. A slug identifies an entity of a chain. An entity of several chains has one row on each, because its texts may
//    differ (behaviour/explorer.md#entities). Writing the same values again changes nothing.
// 2. The revision of a chain's list changes in the same transaction as its labels, so a cached list is never stale.
// 3. Every change is in the history (history.ts).
import type { LabelRecord } from '#api/contract/wire/explorer.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { selectIn } from '#storage/select-in.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import type { HistoryWriter } from './history.ts'
import { type Changes, type Counts, type RegistryTable, writeRows } from './write-rows.ts'

export interface Label {
  readonly chain: string
  readonly slug: string
  readonly name: string
  readonly description: string
  /** May be empty. */
  readonly notes: string
  readonly updatedUnix: number
}

/** Fields to set. Others stay, or are empty in a new entity, whose default name is its slug. */
export type LabelPatch = Pick<Label, 'chain' | 'slug'> & Changes<Label>

const columns = 'chain, slug, name, description, notes, updated_unix as "updatedUnix"'

export const entityTable: RegistryTable<Label, LabelPatch> = {
  kind: 'entity',
  keyOf: ({ slug }) => slug,
  subjectOf: ({ slug }) => ({ subject: slug, source: '' }),
  read: (state, chain, patches) =>
    selectIn<Label>(
      state,
      `select ${columns} from labels where chain = ? and slug in`,
      [chain],
      patches.map(({ slug }) => slug),
    ),
  applyPatch: ({ chain, slug, name, description, notes, updatedUnix }, before, nowUnix) => ({
    chain,
    slug,
    name: name ?? before?.name ?? slug,
    description: description ?? before?.description ?? '',
    notes: notes ?? before?.notes ?? '',
    updatedUnix: updatedUnix ?? before?.updatedUnix ?? nowUnix,
  }),
  stored: {
    table: 'labels',
    key: ['chain', 'slug'],
    columns: ['chain', 'slug', 'name', 'description', 'notes', 'updated_unix'],
  },
  valuesOf: (row) => [row.chain, row.slug, row.name, row.description, row.notes, row.updatedUnix],
}

export async function putLabels(history: HistoryWriter, patches: Iterable<LabelPatch>): Promise<Counts> {
  const { chains, counts } = await writeRows(history, entityTable, patches)
  for (const chain of chains) await bumpListRevision(history.tx, chain)
  return counts
}

/** Returns false if the chain has no such entity. */
export async function removeLabel(history: HistoryWriter, chain: string, slug: string): Promise<boolean> {
  const [before] = await entityTable.read(history.tx, chain, [{ chain, slug }])
  if (!before) return false
  await history.tx.run('delete from labels where chain = ? and slug = ?', chain, slug)
  await history.write([{ kind: 'entity', chain, subject: slug, source: '', action: 'removed', before }])
  await bumpListRevision(history.tx, chain)
  return true
}

export async function bumpListRevision(tx: StateWriter, chain: string): Promise<void> {
  await tx.run(
    `insert into label_lists (chain, revision, entries)
     values (?, 1, (select count(*) from labels where chain = ?))
     on conflict (chain) do update set revision = label_lists.revision + 1, entries = excluded.entries`,
    chain,
    chain,
  )
}

export interface ListHead {
  readonly revision: number
  readonly entries: number
}

/** undefined: the chain never had a label. */
export function readListHead(state: StateReader, chain: string): Promise<ListHead | undefined> {
  return state.get('select revision, entries from label_lists where chain = ?', chain)
}

/** Of a list that is read in parts, with turns of the event loop between them. */
const rowsPerRead = 250

/** The labels of a chain as 4.1 returns them, by slug. They are of one moment if the reader is of a snapshot. */
export async function* listLabels(reader: StateReader, chain: string): AsyncGenerator<LabelRecord> {
  let after = ''
  for (;;) {
    const records = await reader.all<LabelRecord>(
      `select name as labelname, slug as labelslug, description as shortdescription, notes,
              updated_unix as lastupdatedtimestamp
       from labels where chain = ? and slug > ? order by slug limit ${rowsPerRead}`,
      chain,
      after,
    )
    yield* records
    const last = records[rowsPerRead - 1]
    if (!last) return
    after = last.labelslug
    await nextEventLoopTurn()
  }
}

/** All entities, or those of one chain, ordered by slug and chain. */
export const eachLabel = (state: State, chain?: string): AsyncIterable<Label> =>
  chain === undefined
    ? state.each<Label>(`select ${columns} from labels order by slug, chain`)
    : state.each<Label>(`select ${columns} from labels where chain = ? order by slug`, chain)

/** An entity on each of its chains. */
export const findLabels = (state: StateReader, slug: string): Promise<Label[]> =>
  state.all<Label>(`select ${columns} from labels where slug = ? order by chain`, slug)

/** The given slugs that exist on the chain. */
export async function findKnownSlugs(
  state: StateReader,
  chain: string,
  slugs: readonly string[],
): Promise<Set<string>> {
  const sql = 'select slug from labels where chain = ? and slug in'
  const rows = await selectIn<{ slug: string }>(state, sql, [chain], slugs)
  return new Set(rows.map(({ slug }) => slug))
}
