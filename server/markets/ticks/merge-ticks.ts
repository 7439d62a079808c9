// Merges the rows of ticks of a block into one row of market_packs, which takes a fifth of the space (packs.ts).
//
// 1. A merge loses nothing: the pack gives back every change of the rows, and the values before the first of them.
// 2. Rows of ticks never change, and only merges and retention delete them. So a pack is made before the transaction that
//    replaces the rows, which checks that all of them are still there.
// 3. Rows after the values row of the block stay, because current values are read from both with one statement
//    (block-values.ts, rule 2). Whoever reads ticks and packs with two statements reads the ticks first.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { BlockValues, type TickRow, unpackTicks } from './block-values.ts'
import { packBlock } from './pack-codec.ts'
import { toHistory } from './packs.ts'

/** With a change a minute, an hour. */
export const ticksPerPack = 60
/** Of one merge. */
const ticksMax = 4 * ticksPerPack

/** Returns how many packs it has written. */
export async function mergeTicks(state: State, signal?: AbortSignal, rowsMin = ticksPerPack): Promise<number> {
  const blocks = await state.all<{ block: number }>(
    `select t.block from market_ticks t join market_values v on v.block = t.block and t.seq <= v.seq
     group by t.block having count(*) >= ? order by t.block`,
    rowsMin,
  )
  let packs = 0
  for (const { block } of blocks) {
    if (signal?.aborted) break
    if (await mergeBlock(state, block)) packs += 1
    await nextEventLoopTurn()
  }
  return packs
}

async function mergeBlock(state: State, block: number): Promise<boolean> {
  const merged = await state.snapshot((reader) => preparePack(reader, block))
  return merged !== undefined && state.write((tx) => replaceTicks(tx, block, merged), { lock: 'markets' })
}

interface Merged {
  readonly rows: readonly TickRow[]
  readonly untilSeq: number
  readonly changes: number
  readonly packed: Uint8Array
}

async function preparePack(reader: StateReader, block: number): Promise<Merged | undefined> {
  const values = await reader.get<{ seq: number; records: Uint8Array }>(
    'select seq, records from market_values where block = ?',
    block,
  )
  if (!values) return undefined
  const current = new BlockValues(values)
  const tickRows = (order: 'asc' | 'desc', until: number, limit: number) =>
    reader.all<TickRow>(
      `select block, seq, at_ms as "atMs", changes from market_ticks
       where block = ? and seq <= ? order by seq ${order} limit ?`,
      ...[block, until, limit],
    )
  const rows = await tickRows('asc', values.seq, ticksMax)
  const last = rows.at(-1)
  if (!last) return undefined
  // There are more if nothing was merged for a while.
  for (let until = values.seq; ; ) {
    const later = (await tickRows('desc', until, ticksMax)).filter(({ seq }) => seq > last.seq)
    for (const row of later) for (const change of unpackTicks(row).reverse()) current.change(change, row.atMs, true)
    if (later.length < ticksMax) break
    until = (later.at(-1)?.seq ?? 0) - 1
  }
  const history = toHistory(block, current, rows)
  const seqs = [...history.values()].flatMap(({ changes }) => changes.map(({ seq }) => seq))
  const untilSeq = seqs.reduce((newest, seq) => Math.max(newest, seq), 0)
  return { rows, untilSeq, changes: seqs.length, packed: packBlock(history) }
}

/** False: others have merged or deleted some of the rows meanwhile. */
async function replaceTicks(tx: StateWriter, block: number, { rows, untilSeq, changes, packed }: Merged) {
  const [first, last] = [rows[0]?.seq ?? 0, rows.at(-1)?.seq ?? 0]
  const range = [block, first, last]
  const where = 'where block = ? and seq >= ? and seq <= ?'
  const stored = await tx.get<{ n: number }>(`select count(*) as n from market_ticks ${where}`, ...range)
  if (stored?.n !== rows.length) return false
  await tx.run(`delete from market_ticks ${where}`, ...range)
  await tx.insertMany(
    'market_packs',
    ['block', 'until_seq', 'from_seq', 'changes', 'merged', 'packed'],
    [[block, untilSeq, first, changes, 0, packed]],
  )
  return true
}
