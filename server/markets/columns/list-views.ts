// Keeps the views of this process (list-view.ts) up to date: the first request for a list reads all values, and each
// further one what has changed since.
//
// 1. A view is that of the reader's snapshot, so what it orders and what it reads agree. If another request already has a later
//    view, the one before is used: the last few are kept.
// 2. Each commit that changes a value has a version, so a view of the newest version is complete.
// 3. If versions between a view and the snapshot were deleted or lost, as in a failover, everything is read again.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateReader } from '#storage/state.ts'
import { hasHead, readHistoryHead } from '../read/versions.ts'
import { parseDiff } from '../records/diff-records.ts'
import { changedFastValues, fastColumns, hashedFrom, slowColumns } from '../records/list-columns.ts'
import { unpackTicks } from '../ticks/block-values.ts'
import { unpackBlocks } from '../ticks/commit-blocks.ts'
import { blockOf, numberAt, slotOf, unpackLines } from '../ticks/packed-lines.ts'
import { copyBlock, type ListBlock, type ListRow, ListView, setRow, setValue, type ViewHead } from './list-view.ts'

const viewsMax = 3
/** Changes and commits after which everything is read again. */
const changesMax = 5000
const rowsPerQuery = 5000
const blocksPerQuery = 100

export class ListViews {
  /** Oldest first. */
  #views: ListView[] = []
  #last: Promise<unknown> = Promise.resolve()

  /** The view of the reader's snapshot. One request at a time reads what has changed; the others then find it. */
  async read(reader: StateReader): Promise<ListView> {
    const reading = this.#last.then(() => this.#follow(reader))
    this.#last = reading.catch(() => {})
    return reading
  }

  /** Whether a replica is not behind the views that are kept. */
  async isRecent(reader: StateReader): Promise<boolean> {
    const oldest = this.#views[0]
    return !oldest || (await readHistoryHead(reader)).seq >= oldest.head.seq
  }

  async #follow(reader: StateReader): Promise<ListView> {
    const { seq, atMs, horizonSeq } = await readHistoryHead(reader)
    const known = this.#views.findLast(({ head }) => head.seq <= seq)
    if (known?.head.seq === seq && known.head.atMs === atMs) return known
    const isFollowed = known && known.head.seq >= horizonSeq && (await hasHead(reader, known.head))
    const followed = isFollowed ? await followChanges(reader, known, { seq, atMs }) : undefined
    if (known && followed) this.#views.splice(this.#views.indexOf(known) + 1, 0, followed)
    const view = followed ?? (await readView(reader, { seq, atMs }))
    if (!followed) this.#views = [view]
    this.#views = this.#views.slice(-viewsMax)
    return view
  }
}

const rowColumns = ['place', 'kind', 'id', 'number', ...slowColumns].map((column) => `l.${column}`).join(', ')

/** The blocks of the next view. */
class NextBlocks {
  readonly blocks = new Map<number, ListBlock>()
  readonly places: number[] = []
  readonly #view: ListView

  constructor(view: ListView) {
    this.#view = view
  }

  block(at: number): ListBlock {
    return this.blocks.getOrInsertComputed(at, () => copyBlock(this.#view.block(at)))
  }

  addRow(row: ListRow): void {
    this.places.push(row.place)
    if (row.number >= hashedFrom) this.#view.ids.set(row.place, row.id)
    setRow(this.block(blockOf(row.place)), row)
  }
}

async function readView(reader: StateReader, head: ViewHead): Promise<ListView> {
  const empty = new ListView({ seq: 0, atMs: 0 })
  const next = new NextBlocks(empty)
  for (let from = -1; ; ) {
    const rows = await reader.all<ListRow>(
      `select ${rowColumns} from market_list l where l.place > ? order by l.place limit ?`,
      ...[from, rowsPerQuery],
    )
    for (const row of rows) next.addRow(row)
    if (rows.length < rowsPerQuery) break
    from = rows.at(-1)?.place ?? from
    await nextEventLoopTurn()
  }
  await addFastValues(reader, next, [...next.blocks.keys()], -1)
  return empty.next(head, next.blocks, [])
}

/** Undefined if there are too many changes. */
async function followChanges(reader: StateReader, view: ListView, head: ViewHead): Promise<ListView | undefined> {
  const since = view.head.seq
  const versions = await reader.all<{ kind: string; id: string }>(
    'select kind, id from market_versions where seq > ? order by seq limit ?',
    ...[since, changesMax],
  )
  const commits = await reader.all<{ afterSeq: number; blocks: Uint8Array }>(
    'select after_seq as "afterSeq", blocks from market_commits where seq > ? order by seq limit ?',
    ...[since, changesMax],
  )
  if (versions.length === changesMax || commits.length === changesMax) return undefined
  const next = new NextBlocks(view)
  const names = new Map(versions.map(({ kind, id }) => [`${kind}/${id}`, [kind, id]]))
  const rows = await reader.all<ListRow>(
    `select ${rowColumns} from json_each(?) as k
     join market_list l on l.kind = k.value ->> 0 and l.id = k.value ->> 1`,
    JSON.stringify([...names.values()]),
  )
  for (const row of rows) next.addRow(row)
  const blocks = new Set(commits.flatMap((commit) => unpackBlocks(commit).map(({ block }) => block)))
  await addFastValues(reader, next, [...blocks], since)
  return view.next(head, next.blocks, [...new Set(next.places)])
}

interface PackedRow {
  readonly block: number
  readonly seq: number
  readonly isTick: number
  readonly packed: Uint8Array
}

/** The fast values of some blocks that have changed after a version. */
async function addFastValues(reader: StateReader, next: NextBlocks, blocks: readonly number[], since: number) {
  for (let from = 0; from < blocks.length; from += blocksPerQuery) {
    const list = JSON.stringify(blocks.slice(from, from + blocksPerQuery))
    // One statement, as in ticks/read-values.ts.
    const rows = await reader.all<PackedRow>(
      `select v.block, v.seq, 0 as "isTick", v.listed as packed from market_values v
       where v.block in (select value from json_each(?)) and v.seq > ?
       union all
       select t.block, t.seq, 1, t.changes from market_values v
       join market_ticks t on t.block = v.block and t.seq > v.seq and t.seq > ?
       where v.block in (select value from json_each(?)) order by 2`,
      ...[list, since, since, list],
    )
    for (const row of rows) addPacked(next, row)
    await nextEventLoopTurn()
  }
}

function addPacked(next: NextBlocks, { block, seq, isTick, packed }: PackedRow): void {
  const values = next.block(block)
  if (!isTick) {
    for (const [slot, ...numbers] of unpackLines(packed)) {
      next.places.push(numberAt(block, Number(slot)))
      for (const [at, name] of fastColumns.entries()) setValue(values, Number(slot), name, Number(numbers[at]))
    }
    return
  }
  for (const { number, diff } of unpackTicks({ block, seq, changes: packed })) {
    next.places.push(number)
    for (const [name, value] of changedFastValues(parseDiff(diff))) setValue(values, slotOf(number), name, value)
  }
}
