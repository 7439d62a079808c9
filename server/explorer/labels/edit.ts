// One person's edits of the registry: what must be there is there, what must not be is not, and each edit is one
// transaction with its page in the history. Files come in through import.ts.
import { Fault } from '#core/fault.ts'
import type { State, StateReader } from '#storage/state.ts'
import { type Author, HistoryWriter } from './history.ts'
import { findLabels, type Label, type LabelPatch, putLabels, removeLabel } from './labels.ts'
import { findTags, putTags, removeTags, type Tag, type TagPatch, tagsOfEntity } from './tags.ts'
import type { Counts } from './write-rows.ts'

/** Fields to set. */
type FieldChanges<Row, Key extends keyof Row> = Partial<Omit<Row, Key>>

/** Adds an entity on each chain; refused when it is on any of them. */
export function addLabels(state: State, author: Author, patches: readonly LabelPatch[]): Promise<void> {
  return state.write(async (tx) => {
    for (const { chain, slug } of patches) {
      const exists = (await findLabels(tx, slug)).some((label) => label.chain === chain)
      if (exists)
        throw conflict(`Chain ${chain} has an entity ${slug} already; change it with: tetrad labels edit ${slug}`)
    }
    await putLabels(new HistoryWriter(tx, author), patches)
  })
}

/** Adds one source's word about an address on each chain; refused when it has one there. */
export function addTags(state: State, author: Author, patches: readonly TagPatch[]): Promise<void> {
  return state.write(async (tx) => {
    for (const { chain, address, source } of patches) {
      const [existing] = await findTags(tx, address, { chain, source })
      if (existing) {
        throw conflict(
          `${source} calls ${address} "${existing.name}" on chain ${chain} already; change it with: tetrad labels edit ${address}`,
        )
      }
    }
    await putTagsOrThrow(new HistoryWriter(tx, author), patches)
  })
}

export interface EditResult<Row> {
  /** As they were. */
  readonly found: readonly Row[]
  /** How many of them are different now. */
  readonly changed: number
}

/** Changes an entity on these chains, or on all it is on; tells on which. */
export function editLabel(
  state: State,
  author: Author,
  which: { readonly slug: string; readonly chains?: readonly string[] | undefined },
  set: FieldChanges<Label, 'chain' | 'slug'>,
): Promise<EditResult<Label>> {
  return state.write(async (tx) => {
    const found = await requireEntity(tx, which)
    const patches = found.map(({ chain, slug }) => ({ chain, slug, ...set }))
    const { changed } = await putLabels(new HistoryWriter(tx, author), patches)
    return { found, changed }
  })
}

/** Changes what one source says about an address, on these chains or on all. */
export function editTag(
  state: State,
  author: Author,
  which: TagSelector,
  set: FieldChanges<Tag, 'chain' | 'address' | 'source'>,
): Promise<EditResult<Tag>> {
  return state.write(async (tx) => {
    const found = await requireTags(tx, which)
    const sources = new Set(found.map(({ source }) => source))
    if (sources.size > 1) {
      throw conflict(`Several sources name ${which.address}: ${[...sources].join(', ')}; say which with --source`)
    }
    const patches = found.map(({ chain, address, source }) => ({ chain, address, source, ...set }))
    const { changed } = await putTagsOrThrow(new HistoryWriter(tx, author), patches)
    return { found, changed }
  })
}

/** Removes an entity; refused while addresses are said to be its own, unless they go as well. */
export function removeEntity(
  state: State,
  author: Author,
  which: { readonly slug: string; readonly chains?: readonly string[] | undefined; readonly addressesToo: boolean },
): Promise<{ readonly entities: readonly Label[]; readonly addresses: readonly Tag[] }> {
  return state.write(async (tx) => {
    const entities = await requireEntity(tx, which)
    const addresses: Tag[] = []
    for (const { chain, slug } of entities) addresses.push(...(await tagsOfEntity(tx, slug, chain)))
    if (addresses.length > 0 && !which.addressesToo) {
      throw conflict(
        `Addresses are tagged as of ${which.slug} (${addresses.length}); remove them too with --addresses, or give them to another entity first`,
      )
    }
    const history = new HistoryWriter(tx, author)
    await removeTags(history, addresses)
    for (const { chain, slug } of entities) await removeLabel(history, chain, slug)
    return { entities, addresses }
  })
}

/** Removes what is said about an address, by one source or by all of them. */
export function removeAddress(state: State, author: Author, which: TagSelector): Promise<Tag[]> {
  return state.write(async (tx) => {
    const found = await requireTags(tx, which)
    await removeTags(new HistoryWriter(tx, author), found)
    return found
  })
}

export interface TagSelector {
  readonly address: string
  readonly chains?: readonly string[] | undefined
  readonly source?: string | undefined
}

async function requireEntity(
  state: StateReader,
  { slug, chains }: { readonly slug: string; readonly chains?: readonly string[] | undefined },
): Promise<Label[]> {
  const found = await findLabels(state, slug)
  if (found.length === 0) throw notFound(`There is no entity ${slug}; see: tetrad labels search ${slug}`)
  const missing = chains?.find((chain) => !found.some((label) => label.chain === chain))
  if (missing !== undefined) {
    throw notFound(`Chain ${missing} has no entity ${slug}; it is on ${found.map(({ chain }) => chain).join(', ')}`)
  }
  return chains ? found.filter(({ chain }) => chains.includes(chain)) : found
}

async function requireTags(state: StateReader, { address, chains, source }: TagSelector): Promise<Tag[]> {
  const all = await findTags(state, address, { source })
  const found = chains ? all.filter(({ chain }) => chains.includes(chain)) : all
  if (found.length === 0) {
    const where = chains ? ` on chain ${chains.join(' or ')}` : ''
    throw notFound(`${source ?? 'Nobody'} ${source ? 'does not name' : 'has named'} ${address}${where}`)
  }
  return found
}

async function putTagsOrThrow(history: HistoryWriter, patches: readonly TagPatch[]): Promise<Counts> {
  const { counts, refused } = await putTags(history, patches)
  if (refused[0]) throw conflict(refused[0].reason)
  return counts
}

const conflict = (message: string): Fault => new Fault('input.invalid', { message })
const notFound = (message: string): Fault => new Fault('record.unknown', { message })
