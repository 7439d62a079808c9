// How duties enter the facts store.
//
// 1. Every epoch is counted once: epochs that are covered already are left out, whatever the batch holds (decision 0036).
//    Writing a batch twice, or batches that overlap, changes nothing; a batch may end inside an hour or a day, and the
//    next one adds the rest.
// 2. Rows and the coverage that speaks of them are one transaction. Coverage is also the reader's place: it goes on
//    where coverage ends, so there is no second cursor that could disagree.
// 3. Only finalized epochs are written, so no row is ever taken back.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, type Epochs, hourOf, utcDays } from '#core/chain-time.ts'
import { holes, type Range } from '#core/ranges.ts'
import { cover, coverageOf } from '#store/coverage.ts'
import type { Columns, Facts, FactsReader, FactsWriter } from '#store/facts.ts'
import { type Measure, measures } from './measures.ts'

/** One row per validator and epoch, in any order. A measure that is left out is zero everywhere. */
export interface EpochDuties {
  readonly epoch: ArrayLike<number>
  readonly validator: ArrayLike<number>
  readonly measures: Readonly<Partial<Record<Measure, ArrayLike<number>>>>
}

export interface DutiesBatch {
  readonly network: Network
  readonly time: ChainTime
  /** What the batch holds completely: a validator without a row in an epoch had no duty in it. */
  readonly epochs: Epochs
  readonly rows: EpochDuties
}

/** Accumulators of one batch; a larger batch must be cut by its caller. */
const cellsMax = 2 ** 25

const keys = ['hour', 'day', 'utc_day'] as const
type Key = (typeof keys)[number]

const tables = [
  { name: 'duty_hours', keys, window: 'hour' },
  { name: 'duty_days', keys: ['day'], window: 'day' },
  { name: 'duty_utc_days', keys: ['utc_day'], window: 'utc_day' },
] as const satisfies readonly Table[]

interface Table {
  readonly name: string
  readonly keys: readonly Key[]
  /** The key that a batch can fill in part. */
  readonly window: Key
}

const dutiesStream = (network: Network): string => `duties/${network}`

/** Epochs of a network that have been read completely. */
export const coveredEpochs = (facts: FactsReader, network: Network): Promise<Range[]> =>
  coverageOf(facts, dutiesStream(network))

/** Writes what is new in the batch and tells which epochs that was. `also` is part of the same transaction. */
export async function writeDuties(
  facts: Facts,
  batch: DutiesBatch,
  also?: (tx: FactsWriter, fresh: readonly Range[]) => Promise<void>,
): Promise<Range[]> {
  const { network, time, epochs } = batch
  return facts.write(async (tx) => {
    const covered = await coveredEpochs(tx, network)
    const fresh = holes(covered, epochs)
    const pieces = foldToPieces(batch, fresh)
    if (pieces.validator.length > 0) {
      for (const table of tables) {
        await tx.append(table.name, toColumns(network, regroup(pieces, table.keys)))
        await compact(tx, table, network, halfFull(time, table.window, covered, fresh))
      }
    }
    for (const { from, until } of fresh) await cover(tx, dutiesStream(network), from, until)
    await also?.(tx, fresh)
    return fresh
  })
}

/** Windows that had been written in part now have two rows per validator: they become one again. */
async function compact(tx: FactsWriter, table: Table, network: Network, halves: readonly number[]): Promise<void> {
  if (halves.length === 0) return
  const where = `where network = ? and ${table.window} in (${halves.map(() => '?').join()})`
  const own = ['network', 'validator', ...table.keys].join()
  const values = [network, ...halves]
  await tx.run(
    `insert into duty_stage (${own}, ${measures.join()})
     select ${own}, ${measures.map((measure) => `sum(${measure})`).join()} from ${table.name} ${where} group by ${own}`,
    values,
  )
  await tx.run(`delete from ${table.name} ${where}`, values)
  await tx.run(
    `insert into ${table.name} (${own}, ${measures.join()})
     select ${own}, ${measures.join()} from duty_stage order by ${own}`,
  )
  await tx.run('delete from duty_stage')
}

/** Hours or days that have covered epochs and get more now: only those at the ends of a fresh range can. */
function halfFull(
  time: ChainTime,
  window: Table['window'],
  covered: readonly Range[],
  fresh: readonly Range[],
): number[] {
  const windowOf = windowsOf(time)[window]
  const isHeld = new Set(
    covered.flatMap(({ from, until }) => [windowOf(from as Epoch), windowOf((until - 1) as Epoch)]),
  )
  const ends = fresh.flatMap(({ from, until }) => [windowOf(from as Epoch), windowOf((until - 1) as Epoch)])
  return [...new Set(ends)].filter((end) => isHeld.has(end))
}

const windowsOf = (time: ChainTime): Record<Key, (epoch: Epoch) => number> => ({
  hour: (epoch) => hourOf(time, epoch),
  day: chainDays(time).dayOf,
  utc_day: utcDays(time).dayOf,
})

/** Sums by validator and window, sorted by validator, then time. */
interface Folded extends Readonly<Record<Key, Int32Array>> {
  readonly validator: Int32Array
  readonly sums: Readonly<Record<Measure, Float64Array>>
}

function toColumns(network: Network, { sums, ...own }: Partial<Folded> & Pick<Folded, 'validator' | 'sums'>): Columns {
  return { network: new Array<string>(own.validator.length).fill(network), ...own, ...sums }
}

/** The fresh epochs' rows by validator and piece. */
function foldToPieces({ rows, time, epochs }: DutiesBatch, fresh: readonly Range[]): Folded {
  const { pieceOf, pieces } = piecesOf(time, epochs, fresh)
  const validators = [...new Set(Array.from(rows.validator))].sort((a, b) => a - b)
  const placeOf = new Map(validators.map((validator, place) => [validator, place]))
  const cells = validators.length * pieces.length
  assert(cells <= cellsMax, `${validators.length} validators × ${pieces.length} pieces are too many for one batch`)
  refuseTwice(rows, epochs, placeOf)

  const cellOf = new Int32Array(rows.epoch.length).fill(-1)
  const isThere = new Uint8Array(cells)
  for (let row = 0; row < cellOf.length; row++) {
    const piece = pieceOf[(rows.epoch[row] as number) - epochs.from] as number
    if (piece < 0) continue
    const cell = (placeOf.get(rows.validator[row] as number) as number) * pieces.length + piece
    cellOf[row] = cell
    isThere[cell] = 1
  }
  // Cells nobody has a row for are dropped: the others move up.
  const kept = Int32Array.from(isThere.keys().filter((cell) => isThere[cell] === 1))
  const target = new Int32Array(cells)
  kept.forEach((cell, at) => {
    target[cell] = at
  })
  for (let row = 0; row < cellOf.length; row++)
    if (cellOf[row] !== -1) cellOf[row] = target[cellOf[row] as number] as number

  const key = (name: Key) => kept.map((cell) => (pieces[cell % pieces.length] as Piece)[name])
  return {
    validator: kept.map((cell) => validators[Math.floor(cell / pieces.length)] as number),
    hour: key('hour'),
    day: key('day'),
    utc_day: key('utc_day'),
    sums: mapMeasures((name) => sumInto(kept.length, cellOf, rows.measures[name], name)),
  }
}

/** Pieces are sorted by validator and time, so the pieces of a day follow each other. */
function regroup(pieces: Folded, by: readonly Key[]): Pick<Folded, 'validator' | 'sums'> & Partial<Folded> {
  if (by === keys) return pieces
  const groupOf = new Int32Array(pieces.validator.length)
  const firsts: number[] = []
  const columns = [pieces.validator, ...by.map((key) => pieces[key])]
  for (let at = 0; at < groupOf.length; at++) {
    if (at === 0 || columns.some((column) => column[at] !== column[at - 1])) firsts.push(at)
    groupOf[at] = firsts.length - 1
  }
  const first = Int32Array.from(firsts)
  return {
    validator: first.map((at) => pieces.validator[at] as number),
    ...Object.fromEntries(by.map((key) => [key, first.map((at) => pieces[key][at] as number)])),
    sums: mapMeasures((name) => sumInto(firsts.length, groupOf, pieces.sums[name], name)),
  }
}

const mapMeasures = (of: (name: Measure) => Float64Array): Record<Measure, Float64Array> =>
  Object.fromEntries(measures.map((name) => [name, of(name)])) as Record<Measure, Float64Array>

/** Adds each value to its group; a group of −1 is left out. */
function sumInto(
  groups: number,
  groupOf: Int32Array,
  values: ArrayLike<number> | undefined,
  name: Measure,
): Float64Array {
  const sums = new Float64Array(groups)
  if (!values) return sums
  assert(values.length === groupOf.length, `${name} has ${values.length} rows, not ${groupOf.length}`)
  for (let row = 0; row < groupOf.length; row++) {
    const group = groupOf[row] as number
    if (group >= 0) sums[group] = (sums[group] as number) + (values[row] as number)
  }
  const odd = sums.find((sum) => !Number.isSafeInteger(sum))
  assert(odd === undefined, `${name}: ${odd} is not an exact whole number`)
  return sums
}

interface Piece {
  readonly hour: number
  readonly day: number
  readonly utc_day: number
}

/** The pieces of the fresh epochs, and for each epoch of the batch the number of its piece, or −1 when it is not fresh. */
function piecesOf(time: ChainTime, epochs: Epochs, fresh: readonly Range[]): { pieceOf: Int32Array; pieces: Piece[] } {
  const { hour, day, utc_day } = windowsOf(time)
  const pieceOf = new Int32Array(Math.max(0, epochs.until - epochs.from)).fill(-1)
  const pieces: Piece[] = []
  for (const range of fresh) {
    for (let epoch = range.from as Epoch; epoch < range.until; epoch++) {
      const piece = { hour: hour(epoch), day: day(epoch), utc_day: utc_day(epoch) }
      const last = pieces.at(-1)
      const isSame = last && last.hour === piece.hour && last.day === piece.day && last.utc_day === piece.utc_day
      if (!isSame) pieces.push(piece)
      pieceOf[epoch - epochs.from] = pieces.length - 1
    }
  }
  return { pieceOf, pieces }
}

/** A row outside its batch would be lost, a validator that comes twice in an epoch would count double. */
function refuseTwice(rows: EpochDuties, epochs: Epochs, placeOf: ReadonlyMap<number, number>): void {
  const length = epochs.until - epochs.from
  const seen = new Uint8Array(placeOf.size * length)
  for (let row = 0; row < rows.epoch.length; row++) {
    const [epoch, validator] = [rows.epoch[row] as number, rows.validator[row] as number]
    if (!(epoch >= epochs.from && epoch < epochs.until)) assert.fail(`epoch ${epoch} lies outside its batch`)
    const at = (placeOf.get(validator) as number) * length + epoch - epochs.from
    if (seen[at] !== 0) assert.fail(`validator ${validator} comes twice in epoch ${epoch}`)
    seen[at] = 1
  }
}
