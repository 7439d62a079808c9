// Reads and writes tagged addresses. Several sources may tag an address, each once. The label of an address is the tag
// with the highest confidence (behaviour/explorer.md#tagged-addresses).
//
// 1. Writing the same values again changes nothing. Every change is in the history.
// 2. The entity of a tag exists on the same chain.
import { selectIn } from '#storage/select-in.ts'
import type { State, StateReader } from '#storage/state.ts'
import { toBytes, toHex } from '../funding/fundings.ts'
import type { HistoryWriter } from './history.ts'
import { findKnownSlugs, type Label } from './labels.ts'
import { type Changes, type Counts, type RegistryTable, rowsPerStatement, writeRows } from './write-rows.ts'

export interface Tag {
  readonly chain: string
  /** Lower-case hexadecimal with 0x. */
  readonly address: string
  readonly source: string
  readonly name: string
  /** Slug of the entity it belongs to; may be empty. */
  readonly entity: string
  /** Percent. */
  readonly confidence: number
  /** May be empty. */
  readonly evidenceUrl: string
  readonly updatedUnix: number
}

/** Fields to set. Others stay, or are empty in a new tag. */
export type TagPatch = Pick<Tag, 'chain' | 'address' | 'source'> & Changes<Tag>

export interface RejectedTag {
  readonly patch: TagPatch
  readonly reason: string
}

const defaultConfidence = 50

interface StoredTag extends Omit<Tag, 'address'> {
  readonly address: Uint8Array
}

const columns =
  'chain, address, source, name, entity, confidence, evidence_url as "evidenceUrl", updated_unix as "updatedUnix"'

const toTag = ({ address, ...row }: StoredTag): Tag => ({ ...row, address: toHex(address) })

const tagKey = ({ address, source }: Pick<Tag, 'address' | 'source'>): string => `${address}/${source}`

export const tagTable: RegistryTable<Tag, TagPatch> = {
  kind: 'address',
  keyOf: tagKey,
  subjectOf: ({ address, source }) => ({ subject: address, source }),
  read: async (state, chain, patches) => {
    const addresses = patches.map(({ address }) => toBytes(address, 20))
    const sql = `select ${columns} from tagged_addresses where chain = ? and address in`
    return (await selectIn<StoredTag>(state, sql, [chain], addresses)).map(toTag)
  },
  applyPatch: (patch, before, nowUnix) => ({
    chain: patch.chain,
    address: patch.address,
    source: patch.source,
    name: patch.name ?? before?.name ?? '',
    entity: patch.entity ?? before?.entity ?? '',
    confidence: patch.confidence ?? before?.confidence ?? defaultConfidence,
    evidenceUrl: patch.evidenceUrl ?? before?.evidenceUrl ?? '',
    updatedUnix: patch.updatedUnix ?? before?.updatedUnix ?? nowUnix,
  }),
  stored: {
    table: 'tagged_addresses',
    key: ['chain', 'address', 'source'],
    columns: ['chain', 'address', 'source', 'name', 'entity', 'confidence', 'evidence_url', 'updated_unix'],
  },
  valuesOf: (row) => [
    ...[row.chain, toBytes(row.address, 20), row.source, row.name, row.entity],
    ...[row.confidence, row.evidenceUrl, row.updatedUnix],
  ],
}

/** Writes the tags, except those that name an unknown entity. */
export async function putTags(
  history: HistoryWriter,
  patches: readonly TagPatch[],
): Promise<{ readonly counts: Counts; readonly rejected: readonly RejectedTag[] }> {
  const rejected = await findUnknownEntities(history.tx, patches)
  const rejectedPatches = new Set(rejected.map(({ patch }) => patch))
  const accepted = patches.filter((patch) => !rejectedPatches.has(patch))
  const { counts } = await writeRows(history, tagTable, accepted)
  return { counts, rejected }
}

/** Tags whose entity neither exists nor is in `added`. */
export async function findUnknownEntities(
  state: StateReader,
  patches: readonly TagPatch[],
  added: readonly Pick<Label, 'chain' | 'slug'>[] = [],
): Promise<RejectedTag[]> {
  const named = new Map<string, Set<string>>()
  for (const { chain, entity = '' } of patches) {
    if (entity !== '') named.getOrInsertComputed(chain, () => new Set()).add(entity)
  }
  const known = new Set(added.map(({ chain, slug }) => `${chain}/${slug}`))
  for (const [chain, slugs] of named) {
    for (const slug of await findKnownSlugs(state, chain, [...slugs])) known.add(`${chain}/${slug}`)
  }
  return patches
    .filter(({ chain, entity = '' }) => entity !== '' && !known.has(`${chain}/${entity}`))
    .map((patch) => ({ patch, reason: `no entity ${patch.entity} on chain ${patch.chain}; add it first` }))
}

export async function removeTags(history: HistoryWriter, tags: readonly Tag[]): Promise<void> {
  for (let at = 0; at < tags.length; at += rowsPerStatement) {
    const part = tags.slice(at, at + rowsPerStatement)
    const rows = part.map(() => '(chain = ? and address = ? and source = ?)').join(' or ')
    const keys = part.flatMap(({ chain, address, source }) => [chain, toBytes(address, 20), source])
    await history.tx.run(`delete from tagged_addresses where ${rows}`, ...keys)
  }
  await history.write(
    tags.map((before) => ({
      kind: 'address',
      chain: before.chain,
      ...tagTable.subjectOf(before),
      action: 'removed',
      before,
    })),
  )
}

/** All tags of an address, ordered by chain, then confidence, then time. The first of a chain is its label there. */
export async function findTags(
  state: StateReader,
  address: string,
  filter: { readonly chain?: string | undefined; readonly source?: string | undefined } = {},
): Promise<Tag[]> {
  const { chain = '', source = '' } = filter
  const rows = await state.all<StoredTag>(
    `select ${columns} from tagged_addresses
     where ${chain === '' ? "? = ''" : 'chain = ?'} and address = ? and (? = '' or source = ?)
     order by chain, confidence desc, updated_unix desc, source`,
    chain,
    toBytes(address, 20),
    source,
    source,
  )
  return rows.map(toTag)
}

/** The label of each address of the chain that has one, by address. */
export async function findLabels(
  state: StateReader,
  chain: string,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, Tag>> {
  const sql = `select ${columns} from tagged_addresses where chain = ? and address in`
  const keys = addresses.map((address) => toBytes(address, 20))
  const labels = new Map<string, Tag>()
  for (const tag of (await selectIn<StoredTag>(state, sql, [chain], keys)).map(toTag)) {
    const known = labels.get(tag.address)
    if (!known || isPreferred(tag, known)) labels.set(tag.address, tag)
  }
  return labels
}

/** The order of findTags. */
function isPreferred(a: Tag, b: Tag): boolean {
  if (a.confidence !== b.confidence) return a.confidence > b.confidence
  return a.updatedUnix === b.updatedUnix ? a.source < b.source : a.updatedUnix > b.updatedUnix
}

/** How many addresses of a chain have a tag, counted up to `max`. */
export async function countTaggedAddresses(state: StateReader, chain: string, max: number): Promise<number> {
  const row = await state.get<{ count: number | bigint }>(
    `select count(*) as count
     from (select address from tagged_addresses where chain = ? group by address limit ?) as counted`,
    chain,
    max,
  )
  return Number(row?.count ?? 0)
}

export async function tagsOfEntity(
  state: StateReader,
  slug: string,
  chain: string,
  rowsMax = Number.MAX_SAFE_INTEGER,
): Promise<Tag[]> {
  const rows = await state.all<StoredTag>(
    `select ${columns} from tagged_addresses where entity = ? and chain = ? order by address, source limit ?`,
    slug,
    chain,
    rowsMax,
  )
  return rows.map(toTag)
}

/** All tags, or those of one chain, ordered by chain, address and source. */
export async function* eachTag(state: State, chain?: string): AsyncIterable<Tag> {
  const rows =
    chain === undefined
      ? state.each<StoredTag>(`select ${columns} from tagged_addresses order by chain, address, source`)
      : state.each<StoredTag>(`select ${columns} from tagged_addresses where chain = ? order by address, source`, chain)
  for await (const row of rows) yield toTag(row)
}
