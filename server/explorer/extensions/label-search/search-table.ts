// Searches the names of the label registry in memory (behaviour/explorer.md#label-search). Reading 200 000 rows from
// the store for every keystroke would take a second each.
//
// 1. Before each search the table is brought up to the last change: a few edits are applied from the history, after
//    many edits all rows are read again.
// 2. Above `entriesMax` rows nothing is kept in memory; each search reads the store, with the same results.
// 3. Reading and searching yield to the event loop every few thousand rows.
// 4. A search uses one revision from its start to its end: an update replaces the list that it iterates over.
// 5. After many edits, a table that was used is read again ahead of the next search (refresh-table.ts).
import { joinWork } from '#core/shared-work.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State } from '#storage/state.ts'
import { toHex } from '../../funding/fundings.ts'
import { type EditKind, lastChange } from '../../labels/history.ts'
import type { Tag } from '../../labels/tags.ts'
import type { LabelSearchContext } from './context.ts'
import { matchesAllWords, rankMatch, toSearchText } from './match-words.ts'

export type TableContext = Pick<LabelSearchContext, 'ingest' | 'labelSearch' | 'signal'>

/** `entity` and `confidence` are those of a tagged address. */
export interface SearchEntry extends Pick<Tag, 'chain' | 'source' | 'name' | 'entity' | 'confidence'> {
  readonly kind: EditKind
  /** Slug or address. */
  readonly subject: string
  readonly searchText: string
}

export interface LabelTable {
  readonly change: number
  /** undefined: too many for memory. */
  readonly entries: Map<string, SearchEntry> | undefined
  /** The entries; never changed. */
  readonly list: readonly SearchEntry[]
}

export interface LabelQuery {
  readonly words: readonly string[]
  readonly chain?: string | undefined
  readonly kind?: EditKind | undefined
  readonly limit: number
}

export interface LabelMatches {
  /** The best ones, best first. */
  readonly entries: readonly SearchEntry[]
  /** All, also beyond the limit. */
  readonly total: number
}

export const entriesMax = 500_000
const editsMax = 2000
const entriesPerYield = 5000

export async function searchEntries(
  context: TableContext,
  search: LabelQuery,
  tableEntriesMax = entriesMax,
): Promise<LabelMatches> {
  const { entries, list } = await getSearchTable(context, tableEntriesMax)
  const best = collectBest(search)
  if (entries) {
    let seen = 0
    for (const entry of list) {
      best.consider(entry)
      seen += 1
      if (seen % entriesPerYield > 0) continue
      await nextEventLoopTurn()
      context.signal?.throwIfAborted()
    }
  } else for await (const entry of readStoredEntries(context.ingest)) best.consider(entry)
  return best.matches()
}

/** Counts all matches, and keeps the best `limit` in order. */
function collectBest({ words, chain, kind, limit }: LabelQuery) {
  const ranked: RankedEntry[] = []
  let total = 0
  return {
    consider(entry: SearchEntry): void {
      if ((chain !== undefined && entry.chain !== chain) || (kind !== undefined && entry.kind !== kind)) return
      if (!matchesAllWords(entry.searchText, words)) return
      total += 1
      const candidate = { rank: rankMatch(entry.searchText, words), entry }
      const worst = ranked[limit - 1]
      if (worst && compareRanked(candidate, worst) >= 0) return
      const before = ranked.findLastIndex((other) => compareRanked(other, candidate) <= 0)
      ranked.splice(before + 1, 0, candidate)
      if (ranked.length > limit) ranked.pop()
    },
    matches: (): LabelMatches => ({ entries: ranked.map(({ entry }) => entry), total }),
  }
}

type RankedEntry = { readonly rank: number; readonly entry: SearchEntry }

function compareRanked(a: RankedEntry, b: RankedEntry): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  const [x, y] = [a.entry, b.entry]
  if (x.kind !== y.kind) return x.kind === 'entity' ? -1 : 1
  if (x.confidence !== y.confidence) return y.confidence - x.confidence
  return compareText(x.name, y.name) || compareText(x.chain, y.chain) || compareText(x.subject, y.subject)
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Rule 1. Concurrent searches wait for the same update. */
export async function getSearchTable(
  { ingest, labelSearch }: TableContext,
  tableEntriesMax: number,
): Promise<LabelTable> {
  for (;;) {
    const known = labelSearch.table
    const table = await (known && joinWork<LabelTable | undefined>(known, () => undefined))
    const change = await lastChange(ingest)
    if (table?.change === change) return table
    if (labelSearch.table !== known) continue
    const next = updateTable(ingest, table, change, tableEntriesMax)
    labelSearch.table = next
    next.catch(() => {
      if (labelSearch.table === next) labelSearch.table = undefined
    })
    await next
  }
}

async function updateTable(
  state: State,
  table: LabelTable | undefined,
  change: number,
  tableEntriesMax: number,
): Promise<LabelTable> {
  if (!table?.entries) return readTable(state, change, tableEntriesMax)
  const edits = await state.all<HistoryRow>(
    `select kind, chain, subject, source, action, after from label_history join label_changes using (change)
     where change > ? and change <= ? order by change, item limit ?`,
    table.change,
    change,
    editsMax + 1,
  )
  if (edits.length > editsMax) return readTable(state, change, tableEntriesMax)
  const { entries } = table
  for (const edit of edits) {
    const key = entryKey(edit)
    const before = entries.get(key)
    if (edit.action === 'removed') entries.delete(key)
    else entries.set(key, toSearchEntry({ ...emptyEntry, ...before, ...edit, ...JSON.parse(edit.after ?? '{}') }))
  }
  return toTable(change, entries, tableEntriesMax)
}

const toTable = (change: number, entries: Map<string, SearchEntry>, tableEntriesMax: number): LabelTable =>
  entries.size > tableEntriesMax
    ? { change, entries: undefined, list: [] }
    : { change, entries, list: [...entries.values()] }

async function readTable(state: State, change: number, tableEntriesMax: number): Promise<LabelTable> {
  const entries = new Map<string, SearchEntry>()
  for await (const entry of readStoredEntries(state)) {
    entries.set(entryKey(entry), entry)
    if (entries.size > tableEntriesMax) break
  }
  // Changes during the read are in the history after `change`. Applying them again has no effect.
  return toTable(change, entries, tableEntriesMax)
}

type EntryKey = Pick<SearchEntry, 'kind' | 'chain' | 'subject' | 'source'>

interface HistoryRow extends EntryKey {
  readonly action: 'added' | 'changed' | 'removed'
  readonly after: string | null
}

const entryKey = ({ kind, chain, subject, source }: EntryKey): string => `${kind}/${chain}/${subject}/${source}`

const emptyEntry = { name: '', entity: '', confidence: 100 }

function toSearchEntry(row: Omit<SearchEntry, 'searchText'>): SearchEntry {
  const { kind, chain, subject, source, name, entity, confidence } = row
  return { kind, chain, subject, source, name, entity, confidence, searchText: toSearchText(name, subject, entity) }
}

async function* readStoredEntries(state: State): AsyncGenerator<SearchEntry, undefined> {
  const entities = state.each<Pick<SearchEntry, 'chain' | 'subject' | 'name'>>(
    'select chain, slug as subject, name from labels',
  )
  for await (const row of entities) yield toSearchEntry({ ...emptyEntry, kind: 'entity', source: '', ...row })
  const addresses = state.each<Omit<SearchEntry, 'kind' | 'subject' | 'searchText'> & { address: Uint8Array }>(
    'select chain, address, source, name, entity, confidence from tagged_addresses',
  )
  for await (const { address, ...row } of addresses)
    yield toSearchEntry({ ...row, kind: 'address', subject: toHex(address) })
}
