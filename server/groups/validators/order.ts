// How rows lie in the store. They are written day by day; a question about few validators over a long time would then have
// to look into every day. So days that are over are laid out anew, by validator, in blocks of days that double in length
// (decision 0122). What an answer says does not depend on it, only how long it takes.
//
// 1. A block of 8, 16, 32 … 512 days begins at a multiple of its length. When its last day is over, it is laid out, which
//    takes in the two blocks of half its length. So any span of days lies in few blocks, each in order.
// 2. Rows are moved in slices of validators, each in a transaction of its own: whatever happens, no row is lost or doubled.
//    How far the days have been laid out is kept as coverage; a block that was interrupted is laid out from its beginning.
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { cover, coverageOf } from '#store/coverage.ts'
import type { Facts } from '#store/facts.ts'

const shortestDays = 8
const longestDays = 512
/** Rows of one slice: some hundred megabytes while they are sorted. */
const sliceRows = 2 ** 19
/** Below this, a day of everyone is a vector or two, and nothing is won. */
const validatorsMin = 4096

interface Layout {
  readonly table: string
  /** Grows with time. */
  readonly column: string
  /** Of one day, as far as the column goes. */
  readonly perDay: number
  /** The first day that is not over when everything before this epoch has been written. */
  readonly openDay: (until: number) => number
}

const layoutsOf = (time: ChainTime): Layout[] => {
  const chainDay = (until: number) => chainDays(time).dayOf(until as Epoch)
  const utcDay = (until: number) => utcDays(time).dayOf(until as Epoch)
  return [
    { table: 'duty_days', column: 'day', perDay: 1, openDay: chainDay },
    { table: 'duty_utc_days', column: 'utc_day', perDay: 1, openDay: utcDay },
    { table: 'duty_lapses', column: 'epoch', perDay: time.epochsPerDay, openDay: chainDay },
  ]
}

export interface OrderOptions {
  /** Smaller networks are left as they are. */
  readonly validatorsMin?: number
}

/** After these epochs were written: lays out the days that ended in them, and those before that were left. Tells how many blocks. */
export async function orderDuties(
  facts: Facts,
  network: Network,
  time: ChainTime,
  epochs: Range,
  signal: AbortSignal,
  options: OrderOptions = {},
): Promise<number> {
  let blocks = 0
  for (const layout of layoutsOf(time)) {
    const open = layout.openDay(epochs.until)
    if (layout.openDay(epochs.from) === open) continue
    const done = (await coverageOf(facts, streamOf(layout, network))).at(-1)?.until ?? 0
    if (open - (open % shortestDays) <= done) continue
    const [first, validators] = await extentOf(facts, layout, network)
    if (validators < (options.validatorsMin ?? validatorsMin)) continue
    for (const end of endsIn(Math.max(done, first - (first % shortestDays)), open)) {
      if (!(await layOut(facts, layout, network, end, validators, signal))) return blocks
      await facts.write((tx) => cover(tx, streamOf(layout, network), done, end))
      blocks += 1
    }
  }
  return blocks
}

const streamOf = ({ table }: Layout, network: Network): string => `order/${table}/${network}`

/** The first day that has rows, and one more than the highest validator. */
async function extentOf(facts: Facts, { table, column, perDay }: Layout, network: Network): Promise<[number, number]> {
  const [row] = await facts.query<{ first: number | null; count: number | null }>(
    `select min(${column}) as first, max(validator) + 1 as count from ${table} where network = ?`,
    [network],
  )
  return [Math.floor((row?.first ?? 0) / perDay), row?.count ?? 0]
}

/** The longest block that ends here: the largest power of two that divides its end. */
const lengthOf = (end: number): number => Math.min(longestDays, 2 ** Math.floor(Math.log2(end & -end)))

/** Ends of the blocks to lay out, without those that a later one takes in. */
function endsIn(done: number, open: number): number[] {
  const count = Math.floor((open - done) / shortestDays)
  const ends = Array.from({ length: Math.max(0, count) }, (_, at) => done + (at + 1) * shortestDays)
  return ends.filter((end, at) => !ends.slice(at + 1).some((later) => later - lengthOf(later) < end))
}

/** False: stopped on the way. */
async function layOut(
  facts: Facts,
  layout: Layout,
  network: Network,
  endDay: number,
  validators: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { table, column, perDay } = layout
  const days = lengthOf(endDay)
  const block = [(endDay - days) * perDay, endDay * perDay]
  const step = Math.max(1, Math.floor(sliceRows / days))
  const where = `where network = ? and ${column} >= ? and ${column} < ? and validator >= ? and validator < ?`
  for (let low = 0; low < validators; low += step) {
    if (signal.aborted) return false
    const values = [network, ...block, low, low + step]
    await facts.write(async (tx) => {
      await tx.run(
        `create temp table laid_out as select * from ${table} ${where} order by validator, ${column}`,
        values,
      )
      await tx.run(`delete from ${table} ${where}`, values)
      await tx.run(`insert into ${table} select * from laid_out`)
      await tx.run('drop table laid_out')
    })
  }
  return true
}
