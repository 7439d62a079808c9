// Merges old packs of a block into one of about a day (merge-ticks.ts has the rules): a record is then read with few rows, and
// takes less space. The changes of all records are not listed from these, because each of them has many changes of few
// records (markets.history.fullDays).
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { type FastChange, joinSegments, packSegment, slotsOf, unpackOne } from './pack-codec.ts'

/** With a change a minute, a day. */
const packsPerDay = 24

interface PackRow {
  readonly untilSeq: number
  readonly fromSeq: number
  readonly changes: number
  readonly packed: Uint8Array
}

/** Merges packs that end with a version or earlier. Returns how many it has written. */
export async function mergePacks(
  state: State,
  untilSeq: number,
  signal?: AbortSignal,
  count = packsPerDay,
): Promise<number> {
  const blocks = await state.all<{ block: number }>(
    `select block from market_packs where merged = 0 and until_seq <= ?
     group by block having count(*) >= ? order by block`,
    ...[untilSeq, count],
  )
  let packs = 0
  for (const { block } of blocks) {
    if (signal?.aborted) break
    const rows = await readOldest(state, block, count)
    const packed = await mergeRows(rows)
    if (await state.write((tx) => replacePacks(tx, block, rows, packed), { lock: 'markets' })) packs += 1
  }
  return packs
}

const readOldest = (reader: StateReader, block: number, count: number) =>
  reader.all<PackRow>(
    `select until_seq as "untilSeq", from_seq as "fromSeq", changes, packed from market_packs
     where block = ? and merged = 0 order by until_seq limit ?`,
    ...[block, count],
  )

/** Record by record, because a day of a block takes most of a second. */
async function mergeRows(rows: readonly PackRow[]): Promise<Uint8Array> {
  const slots = new Set(rows.flatMap(({ packed }) => slotsOf(packed)))
  const segments = new Map<number, Uint8Array>()
  for (const slot of [...slots].sort((a, b) => a - b)) {
    const parts = rows.flatMap(({ packed }) => unpackOne(packed, slot) ?? [])
    const changes: readonly FastChange[] = parts.flatMap((part) => part.changes)
    segments.set(slot, packSegment({ start: parts[0]?.start ?? new Map(), changes }))
    await nextEventLoopTurn()
  }
  return joinSegments(segments)
}

/** False: others have merged or deleted some of them meanwhile. */
async function replacePacks(tx: StateWriter, block: number, rows: readonly PackRow[], packed: Uint8Array) {
  const [first, last] = [rows[0], rows.at(-1)]
  if (!first || !last) return false
  const range = [block, first.untilSeq, last.untilSeq]
  const where = 'where block = ? and merged = 0 and until_seq >= ? and until_seq <= ?'
  const stored = await tx.get<{ n: number }>(`select count(*) as n from market_packs ${where}`, ...range)
  if (stored?.n !== rows.length) return false
  await tx.run(`delete from market_packs ${where}`, ...range)
  const changes = rows.reduce((sum, row) => sum + row.changes, 0)
  await tx.insertMany(
    'market_packs',
    ['block', 'until_seq', 'from_seq', 'changes', 'merged', 'packed'],
    [[block, last.untilSeq, first.fromSeq, changes, 1, packed]],
  )
  return true
}
