// Addresses that somebody has named. Several sources may name one address and disagree; each has one word about it
// (behaviour/explorer.md#tagged-addresses), and whoever asks for the label of an address gets the word that is held in the highest confidence.
//
// 1. Writing the same again changes nothing; every change is in the history.
// 2. An address that is said to be an entity's names an entity that its chain has.
import type { State, StateReader } from '#storage/state.ts'
import { toBytes, toHex } from '../funding/fundings.ts'
import { type HistoryWriter, rowPlaceholders } from './history.ts'
import { findKnownSlugs, type Label } from './labels.ts'
import { type Counts, type RegistryTable, writeRows } from './write-rows.ts'

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

/** What to set; what is left out stays, or is empty when the tag is new. */
export type TagPatch = Pick<Tag, 'chain' | 'address' | 'source'> & Partial<Tag>

export interface RefusedTag {
  readonly patch: TagPatch
  readonly reason: string
}

/** Held by a tag that does not say how sure it is. */
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
    const rows = await state.all<StoredTag>(
      `select ${columns} from tagged_addresses where chain = ? and address in ${rowPlaceholders(1, patches.length)}`,
      chain,
      ...patches.map(({ address }) => toBytes(address, 20)),
    )
    return rows.map(toTag)
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
  write: async (tx, rows) => {
    await tx.run(
      `insert into tagged_addresses (chain, address, source, name, entity, confidence, evidence_url, updated_unix)
       values ${rowPlaceholders(rows.length, 8)}
       on conflict (chain, address, source) do update set name = excluded.name, entity = excluded.entity,
         confidence = excluded.confidence, evidence_url = excluded.evidence_url, updated_unix = excluded.updated_unix`,
      ...rows.flatMap((row) => [
        ...[row.chain, toBytes(row.address, 20), row.source, row.name, row.entity],
        ...[row.confidence, row.evidenceUrl, row.updatedUnix],
      ]),
    )
  },
}

/** Those that name an entity which is not there are refused; the others are written. */
export async function putTags(
  history: HistoryWriter,
  patches: readonly TagPatch[],
): Promise<{ readonly counts: Counts; readonly refused: readonly RefusedTag[] }> {
  const refused = await findUnknownEntities(history.tx, patches)
  const bad = new Set(refused.map(({ patch }) => patch))
  const { counts } = await writeRows(
    history,
    tagTable,
    patches.filter((patch) => !bad.has(patch)),
  )
  return { counts, refused }
}

const slugsPerStatement = 500

/** Those that name an entity which is neither there nor about to be. */
export async function findUnknownEntities(
  state: StateReader,
  patches: readonly TagPatch[],
  added: readonly Pick<Label, 'chain' | 'slug'>[] = [],
): Promise<RefusedTag[]> {
  const named = new Map<string, Set<string>>()
  for (const { chain, entity = '' } of patches) {
    if (entity !== '') named.set(chain, (named.get(chain) ?? new Set()).add(entity))
  }
  const known = new Set(added.map(({ chain, slug }) => `${chain}/${slug}`))
  for (const [chain, slugs] of named) {
    const all = [...slugs]
    for (let at = 0; at < all.length; at += slugsPerStatement) {
      for (const slug of await findKnownSlugs(state, chain, all.slice(at, at + slugsPerStatement)))
        known.add(`${chain}/${slug}`)
    }
  }
  return patches
    .filter(({ chain, entity = '' }) => entity !== '' && !known.has(`${chain}/${entity}`))
    .map((patch) => ({ patch, reason: `chain ${patch.chain} has no entity ${patch.entity}; add it first` }))
}

/** The words about these addresses that are there, taken away. */
export async function removeTags(history: HistoryWriter, tags: readonly Tag[]): Promise<void> {
  for (const was of tags) {
    const { chain, address, source } = was
    await history.tx.run(
      'delete from tagged_addresses where chain = ? and address = ? and source = ?',
      chain,
      toBytes(address, 20),
      source,
    )
    await history.write([{ kind: 'address', chain, subject: address, source, action: 'removed', was }])
  }
}

/** Everything that is said about an address, the most trusted first; the newest of equals. */
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

/** What an address is called: the first of findTags. */
export async function findBestTag(state: StateReader, chain: string, address: string): Promise<Tag | undefined> {
  return (await findTags(state, address, { chain }))[0]
}

export async function tagsOfEntity(state: StateReader, slug: string, chain: string): Promise<Tag[]> {
  const rows = await state.all<StoredTag>(
    `select ${columns} from tagged_addresses where entity = ? and chain = ? order by address, source`,
    slug,
    chain,
  )
  return rows.map(toTag)
}

/** Every tag, or those of one chain, by chain, address and source. */
export async function* eachTag(state: State, chain?: string): AsyncIterable<Tag> {
  const rows =
    chain === undefined
      ? state.each<StoredTag>(`select ${columns} from tagged_addresses order by chain, address, source`)
      : state.each<StoredTag>(`select ${columns} from tagged_addresses where chain = ? order by address, source`, chain)
  for await (const row of rows) yield toTag(row)
}
