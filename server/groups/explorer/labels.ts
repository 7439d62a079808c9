// The labelled entities of each chain. Importers, the demo world and the endpoints all go through here.
//
// 1. A slug names one entity of a chain; writing it again replaces it, writing the same again changes nothing.
// 2. The chain's revision moves in the same transaction as its labels, so a list kept under a revision is never stale.
import type { LabelRecord } from '#api/wire/explorer.ts'
import type { State, StateReader, StateWriter } from '#store/state.ts'

export interface Label {
  readonly chain: string
  readonly slug: string
  readonly name: string
  readonly description: string
  /** May be empty. */
  readonly notes: string
  readonly updatedUnix: number
}

/** Tells how many labels were new or changed. */
export async function putLabels(tx: StateWriter, labels: Iterable<Label>): Promise<number> {
  const changedByChain = new Map<string, number>()
  for (const label of labels) {
    const { chain, slug, name, description, notes, updatedUnix } = label
    const changed = await tx.run(putLabel, chain, slug, name, description, notes, updatedUnix)
    if (changed > 0) changedByChain.set(chain, (changedByChain.get(chain) ?? 0) + changed)
  }
  for (const chain of changedByChain.keys()) await tx.run(moveList, chain, chain)
  return [...changedByChain.values()].reduce((sum, count) => sum + count, 0)
}

const putLabel = `
  insert into labels (chain, slug, name, description, notes, updated_unix) values (?, ?, ?, ?, ?, ?)
  on conflict (chain, slug) do update set
    name = excluded.name, description = excluded.description, notes = excluded.notes, updated_unix = excluded.updated_unix
  where (labels.name, labels.description, labels.notes, labels.updated_unix)
     <> (excluded.name, excluded.description, excluded.notes, excluded.updated_unix)`

const moveList = `
  insert into label_lists (chain, revision, entries)
  values (?, 1, (select count(*) from labels where chain = ?))
  on conflict (chain) do update set revision = label_lists.revision + 1, entries = excluded.entries`

/** How long a chain's list is, and which edition of it stands. Undefined: the chain never had a label. */
export function listHead(
  state: StateReader,
  chain: string,
): Promise<{ revision: number; entries: number } | undefined> {
  return state.get('select revision, entries from label_lists where chain = ?', chain)
}

/** A chain's labels as the wire shows them, by slug. */
export function listLabels(state: State, chain: string): AsyncIterable<LabelRecord> {
  return state.each<LabelRecord>(
    `select name as labelname, slug as labelslug, description as shortdescription, notes,
            updated_unix as lastupdatedtimestamp
     from labels where chain = ? order by slug`,
    chain,
  )
}
