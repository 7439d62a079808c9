// The registry's names in memory, to be searched by words (decision 0097): taking 200 000 rows out of the store for every
// letter that somebody types would take a second each.
//
// 1. It is the registry as of one change, and is brought up to the last one before it is searched: a few edits by
//    following the history, many by reading all anew.
// 2. Of more than `entriesMax` rows nothing is kept: they are read from the store as they are searched, slower and as right.
// 3. Neither reading nor searching holds the thread for longer than a few thousand rows take.
import { nextTurn } from '#io/clock.ts'
import type { State } from '#store/state.ts'
import type { ExplorerContext } from './context.ts'
import { hexOf } from './fundings.ts'
import { holdsAll, markedText, rankOf } from './label-words.ts'
import { type EditKind, lastChange } from './labels-history.ts'

export interface Entry {
  readonly kind: EditKind
  readonly chain: string
  /** Slug or address. */
  readonly subject: string
  readonly source: string
  readonly name: string
  /** Of an address: the slug it belongs to; may be empty. */
  readonly entity: string
  /** Of an address: percent. */
  readonly confidence: number
  /** What is searched. */
  readonly marked: string
}

export interface LabelTable {
  readonly change: number
  /** undefined: there are too many. */
  readonly entries: Map<string, Entry> | undefined
}

export interface Search {
  readonly words: readonly string[]
  readonly chain?: string | undefined
  readonly limit: number
}

const entriesMax = 500_000
const editsMax = 2000
const entriesPerBreath = 5000

/** The best that are found, best first. */
export async function searchEntries(
  context: Pick<ExplorerContext, 'state' | 'explorer'>,
  search: Search,
  most = entriesMax,
): Promise<Entry[]> {
  const { entries } = await tableOf(context, most)
  const best = new Best(search)
  if (entries) {
    let seen = 0
    for (const entry of entries.values()) {
      best.consider(entry)
      seen += 1
      if (seen % entriesPerBreath === 0) await nextTurn()
    }
  } else for await (const entry of stored(context.state)) best.consider(entry)
  return best.found()
}

/** As many as are wanted, kept in order. */
class Best {
  readonly #search: Search
  readonly #ranked: { readonly rank: number; readonly entry: Entry }[] = []

  constructor(search: Search) {
    this.#search = search
  }

  consider(entry: Entry): void {
    const { words, chain, limit } = this.#search
    if ((chain !== undefined && entry.chain !== chain) || !holdsAll(entry.marked, words)) return
    const one = { rank: rankOf(entry.marked, words), entry }
    const worst = this.#ranked[limit - 1]
    if (worst && compare(one, worst) >= 0) return
    let [low, high] = [0, this.#ranked.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compare(this.#ranked[middle] as typeof one, one) <= 0) low = middle + 1
      else high = middle
    }
    this.#ranked.splice(low, 0, one)
    if (this.#ranked.length > limit) this.#ranked.pop()
  }

  found(): Entry[] {
    return this.#ranked.map(({ entry }) => entry)
  }
}

type Ranked = { readonly rank: number; readonly entry: Entry }

function compare(a: Ranked, b: Ranked): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  const [one, other] = [a.entry, b.entry]
  if (one.kind !== other.kind) return one.kind === 'entity' ? -1 : 1
  if (one.confidence !== other.confidence) return other.confidence - one.confidence
  return byText(one.name, other.name) || byText(one.chain, other.chain) || byText(one.subject, other.subject)
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Invariant 1. Whoever asks meanwhile waits for the same reading. */
async function tableOf(
  { state, explorer }: Pick<ExplorerContext, 'state' | 'explorer'>,
  most: number,
): Promise<LabelTable> {
  for (;;) {
    const known = explorer.labelTable
    const table = await known
    const change = await lastChange(state)
    if (table?.change === change) return table
    if (explorer.labelTable !== known) continue
    const next = moved(state, table, change, most)
    explorer.labelTable = next
    next.catch(() => {
      if (explorer.labelTable === next) explorer.labelTable = undefined
    })
    await next
  }
}

async function moved(state: State, table: LabelTable | undefined, change: number, most: number): Promise<LabelTable> {
  if (!table?.entries) return readAll(state, change, most)
  const edits = await state.all<EditedRow>(
    `select kind, chain, subject, source, action, is_now from label_history
     where change > ? and change <= ? order by change, item limit ?`,
    table.change,
    change,
    editsMax + 1,
  )
  if (edits.length > editsMax) return readAll(state, change, most)
  const { entries } = table
  for (const edit of edits) {
    const key = keyOf(edit)
    const before = entries.get(key)
    if (edit.action === 'removed') entries.delete(key)
    else entries.set(key, entryOf({ ...blank, ...before, ...edit, ...JSON.parse(edit.is_now ?? '{}') }))
  }
  return { change, entries: entries.size > most ? undefined : entries }
}

async function readAll(state: State, change: number, most: number): Promise<LabelTable> {
  const entries = new Map<string, Entry>()
  for await (const entry of stored(state)) {
    entries.set(keyOf(entry), entry)
    if (entries.size > most) return { change, entries: undefined }
  }
  // What was changed while it was read is in the history after `change`, and is done again: to the same end.
  return { change, entries }
}

interface EditedRow extends Pick<Entry, 'kind' | 'chain' | 'subject' | 'source'> {
  readonly action: 'added' | 'changed' | 'removed'
  readonly is_now: string | null
}

const keyOf = ({ kind, chain, subject, source }: Pick<Entry, 'kind' | 'chain' | 'subject' | 'source'>): string =>
  `${kind}/${chain}/${subject}/${source}`

const blank = { name: '', entity: '', confidence: 100 }

function entryOf({ kind, chain, subject, source, name, entity, confidence }: Omit<Entry, 'marked'>): Entry {
  return { kind, chain, subject, source, name, entity, confidence, marked: markedText(name, subject, entity) }
}

async function* stored(state: State): AsyncGenerator<Entry, undefined> {
  const entities = state.each<Pick<Entry, 'chain' | 'subject' | 'name'>>(
    'select chain, slug as subject, name from labels',
  )
  for await (const row of entities) yield entryOf({ ...blank, kind: 'entity', source: '', ...row })
  const addresses = state.each<Omit<Entry, 'kind' | 'subject' | 'marked'> & { address: Uint8Array }>(
    'select chain, address, source, name, entity, confidence from tagged_addresses',
  )
  for await (const { address, ...row } of addresses) yield entryOf({ ...row, kind: 'address', subject: hexOf(address) })
}
