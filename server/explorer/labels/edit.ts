// Edits of the label registry by a person: add, change and remove entities and tags. Each edit is one transaction with
// its history, except the removal of an entity with many addresses. Files are imported in import/import-labels.ts.
import { counted } from '#core/counted.ts'
import { Fault } from '#core/fault.ts'
import type { State, StateReader } from '#storage/state.ts'
import { type Author, HistoryWriter } from './history.ts'
import { findLabels, type Label, type LabelPatch, putLabels, removeLabel } from './labels.ts'
import { findTags, putTags, removeTags, type Tag, type TagPatch, tagsOfEntity } from './tags.ts'
import type { Changes, Counts } from './write-rows.ts'

/** Adds an entity on each chain. Throws if it exists on any of them. */
export function addLabels(state: State, author: Author, patches: readonly LabelPatch[]): Promise<void> {
  return state.write(
    async (tx) => {
      for (const { chain, slug } of patches) {
        const exists = (await findLabels(tx, slug)).some((label) => label.chain === chain)
        if (exists)
          throw conflict(`Entity ${slug} already exists on chain ${chain}. Change it with: tetrad labels edit ${slug}`)
      }
      await putLabels(new HistoryWriter(tx, author), patches)
    },
    { lock: 'labels' },
  )
}

/** Adds a tag on each chain. Throws if the source has already tagged the address on any of them. */
export function addTags(state: State, author: Author, patches: readonly TagPatch[]): Promise<void> {
  return state.write(
    async (tx) => {
      for (const { chain, address, source } of patches) {
        const [existing] = await findTags(tx, address, { chain, source })
        if (existing) {
          throw conflict(
            `Source ${source} already tags ${address} as "${existing.name}" on chain ${chain}. Change it with: tetrad labels edit ${address}`,
          )
        }
      }
      await putTagsOrThrow(new HistoryWriter(tx, author), patches)
    },
    { lock: 'labels' },
  )
}

export interface EditResult<Row> {
  /** The matching rows, before the change. */
  readonly matched: readonly Row[]
  /** How many of them changed. */
  readonly changed: number
}

/** Changes an entity on the given chains, or on all of its chains. */
export function editLabel(
  state: State,
  author: Author,
  which: EntitySelector,
  set: Changes<Omit<Label, 'chain' | 'slug'>>,
): Promise<EditResult<Label>> {
  return state.write(
    async (tx) => {
      const matched = await requireEntity(tx, which)
      const patches = matched.map(({ chain, slug }) => ({ chain, slug, ...set }))
      const { changed } = await putLabels(new HistoryWriter(tx, author), patches)
      return { matched, changed }
    },
    { lock: 'labels' },
  )
}

/** Changes the tag of one source on the given chains, or on all chains. */
export function editTag(
  state: State,
  author: Author,
  which: TagSelector,
  set: Changes<Omit<Tag, 'chain' | 'address' | 'source'>>,
): Promise<EditResult<Tag>> {
  return state.write(
    async (tx) => {
      const matched = await requireTags(tx, which)
      const sources = new Set(matched.map(({ source }) => source))
      if (sources.size > 1) {
        throw conflict(`Several sources tag ${which.address}: ${[...sources].join(', ')}. Choose one with --source`)
      }
      const patches = matched.map(({ chain, address, source }) => ({ chain, address, source, ...set }))
      const { changed } = await putTagsOrThrow(new HistoryWriter(tx, author), patches)
      return { matched, changed }
    },
    { lock: 'labels' },
  )
}

/** Addresses of an entity that one transaction removes. Other writes wait for it. */
const addressesPerWrite = 1000

/**
 * Removes an entity. Throws if it has tagged addresses, unless they are removed too. Many addresses are removed in several
 * transactions, the entity in the last. If that is interrupted, the next call continues.
 */
export async function removeEntity(
  state: State,
  author: Author,
  which: EntitySelector & { readonly addressesToo: boolean },
): Promise<{ readonly entities: readonly Label[]; readonly addresses: readonly Tag[] }> {
  const earlier = which.addressesToo ? await removeExcessTags(state, author, await requireEntity(state, which)) : []
  const { entities, addresses } = await removeRest(state, author, which)
  return { entities, addresses: earlier.concat(addresses) }
}

/** Until few enough are left for one transaction. */
async function removeExcessTags(state: State, author: Author, entities: readonly Label[]): Promise<Tag[]> {
  const removed: Tag[] = []
  for (const { chain, slug } of entities) {
    for (;;) {
      const part = await state.write(
        async (tx) => {
          const tags = await tagsOfEntity(tx, slug, chain, addressesPerWrite + 1)
          if (tags.length <= addressesPerWrite) return []
          await removeTags(new HistoryWriter(tx, author), tags.slice(0, addressesPerWrite))
          return tags.slice(0, addressesPerWrite)
        },
        { lock: 'labels' },
      )
      if (part.length === 0) break
      for (const tag of part) removed.push(tag)
    }
  }
  return removed
}

function removeRest(state: State, author: Author, which: EntitySelector & { readonly addressesToo: boolean }) {
  return state.write(
    async (tx) => {
      const entities = await requireEntity(tx, which)
      const addresses: Tag[] = []
      for (const { chain, slug } of entities) for (const tag of await tagsOfEntity(tx, slug, chain)) addresses.push(tag)
      if (addresses.length > 0 && !which.addressesToo) {
        throw conflict(
          `${which.slug} has ${counted(addresses.length, 'tagged address', 'tagged addresses')}. Remove them too with --addresses, or move them to another entity first`,
        )
      }
      const history = new HistoryWriter(tx, author)
      await removeTags(history, addresses)
      for (const { chain, slug } of entities) await removeLabel(history, chain, slug)
      return { entities, addresses }
    },
    { lock: 'labels' },
  )
}

/** Removes the tags of an address, of one source or of all. */
export function removeAddress(state: State, author: Author, which: TagSelector): Promise<Tag[]> {
  return state.write(
    async (tx) => {
      const tags = await requireTags(tx, which)
      await removeTags(new HistoryWriter(tx, author), tags)
      return tags
    },
    { lock: 'labels' },
  )
}

interface EntitySelector {
  readonly slug: string
  /** Default: all of its chains. */
  readonly chains?: readonly string[] | undefined
}

export interface TagSelector {
  readonly address: string
  readonly chains?: readonly string[] | undefined
  readonly source?: string | undefined
}

async function requireEntity(state: StateReader, { slug, chains }: EntitySelector): Promise<Label[]> {
  const labels = await findLabels(state, slug)
  if (labels.length === 0)
    throw notFound(`No entity ${slug}. List the entities with: tetrad labels export --format csv`)
  const missing = chains?.find((chain) => !labels.some((label) => label.chain === chain))
  if (missing !== undefined) {
    throw notFound(`No entity ${slug} on chain ${missing}; it exists on ${labels.map(({ chain }) => chain).join(', ')}`)
  }
  return chains ? labels.filter(({ chain }) => chains.includes(chain)) : labels
}

async function requireTags(state: StateReader, { address, chains, source }: TagSelector): Promise<Tag[]> {
  const all = await findTags(state, address, { source })
  const tags = chains ? all.filter(({ chain }) => chains.includes(chain)) : all
  if (tags.length === 0) {
    const from = source === undefined ? '' : ` from source ${source}`
    const where = chains ? ` on chain ${chains.join(' or ')}` : ''
    throw notFound(`No tag for ${address}${from}${where}`)
  }
  return tags
}

async function putTagsOrThrow(history: HistoryWriter, patches: readonly TagPatch[]): Promise<Counts> {
  const { counts, rejected } = await putTags(history, patches)
  if (rejected[0]) throw conflict(rejected[0].reason)
  return counts
}

const conflict = (message: string): Fault => new Fault('input.invalid', { message })
const notFound = (message: string): Fault => new Fault('record.not_found', { message })
