// How duties enter the facts store.
//
// 1. Every epoch is counted once: epochs that are covered already are left out, whatever the batch holds (decision 0036).
//    Writing a batch twice, or batches that overlap, changes nothing; a batch may end inside an hour or a day, and the
//    next one adds the rest.
// 2. Rows and the coverage that speaks of them are one transaction. Coverage is also the reader's place: it goes on
//    where coverage ends, so there is no second cursor that could disagree.
// 3. Only finalized epochs are written, so no row is ever taken back.
// 4. There is one row per validator and window.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, type Epochs, hourOf, utcDays } from '#core/chain-time.ts'
import { holes, type Range } from '#core/ranges.ts'
import { cover, coverageOf } from '#store/coverage.ts'
import type { Facts, FactsReader, FactsWriter } from '#store/facts.ts'
import {
  compact,
  type Folded,
  type Key,
  merge,
  partsOf,
  rollUp,
  type SumColumns,
  stage,
  type Table,
  tables,
} from './duty-tables.ts'
import { adoptHours, coverHours } from './hours.ts'
import { type Measure, measures } from './measures.ts'
import { keepWindows } from './row-windows.ts'

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

const dutiesStream = (network: Network): string => `duties/${network}`

/** Epochs of a network that have been read completely. */
export const coveredEpochs = (facts: FactsReader, network: Network): Promise<Range[]> =>
  coverageOf(facts, dutiesStream(network))

type Also = (tx: FactsWriter, fresh: readonly Range[]) => Promise<void>

/** Writes what is new in the batch and tells which epochs that was. `also` is part of the same transaction. */
export const writeDuties = (facts: Facts, batch: DutiesBatch, also?: Also): Promise<Range[]> =>
  write(facts, batch, (fresh) => foldToPieces(batch, fresh), also)

/** Epochs that share their hour and both of their days, added up already: one row per validator, in rising order. */
export interface PieceBatch extends Omit<DutiesBatch, 'rows'> {
  readonly validator: Int32Array
  readonly sums: SumColumns
}

/** As writeDuties, for whole pieces, one after the other, that nobody has written any part of. */
export function writePieces(facts: Facts, batches: readonly PieceBatch[], also?: Also): Promise<Range[]> {
  const [first, last] = [batches[0], batches.at(-1)]
  assert(first && last, 'nothing to write')
  const epochs = { from: first.epochs.from, until: last.epochs.until }
  return write(facts, { ...first, epochs }, (fresh) => joined(batches, epochs, fresh), also)
}

async function write(
  facts: Facts,
  { network, time, epochs }: Pick<DutiesBatch, 'network' | 'time' | 'epochs'>,
  fold: (fresh: readonly Range[]) => Folded,
  also: Also | undefined,
): Promise<Range[]> {
  return facts.write(async (tx) => {
    const covered = await coveredEpochs(tx, network)
    const fresh = holes(covered, epochs)
    await keepWindows(tx, network, time, covered)
    const pieces = fold(fresh)
    await adoptHours(tx, network, time, covered)
    if (pieces.validator.length > 0) {
      await mergeIn(tx, network, pieces, (table) => halfFull(time, table.window, covered, fresh))
    }
    for (const { from, until } of fresh) await cover(tx, dutiesStream(network), from, until)
    await coverHours(tx, network, fresh)
    await also?.(tx, fresh)
    return fresh
  })
}

/** Rows of a window stay one per validator: those that are there take the new ones in. */
async function mergeIn(
  tx: FactsWriter,
  network: Network,
  pieces: Folded,
  halvesOf: (table: Table) => number[],
): Promise<void> {
  if (pieces.isOnePiece) {
    for (const part of partsOf(pieces)) {
      await stage(tx, network, part)
      for (const table of tables) await merge(tx, table, network, halvesOf(table), part)
      await tx.run('delete from duty_stage')
    }
    return
  }
  await stage(tx, network, pieces)
  for (const table of tables) await rollUp(tx, table)
  await tx.run('delete from duty_stage')
  for (const table of tables) await compact(tx, table, network, halvesOf(table))
}

function joined(batches: readonly PieceBatch[], epochs: Epochs, fresh: readonly Range[]): Folded {
  assert.deepEqual(fresh, [{ ...epochs }], 'epochs of these pieces have been written already')
  const parts = batches.map(toPiece)
  const [only] = parts
  if (only && parts.length === 1) return only
  const filled = parts.filter(({ validator }) => validator.length > 0)
  const places = filled.map((part) => `${part.hour[0]} ${part.day[0]} ${part.utc_day[0]}`)
  assert(new Set(places).size === places.length, 'two parts of one piece cannot be written at once')
  const column = (of: (part: Folded) => ArrayLike<number>) => parts.flatMap((part) => Array.from(of(part)))
  const whole = (name: Key | 'validator') => Int32Array.from(column((part) => part[name]))
  return {
    isOnePiece: false,
    validator: whole('validator'),
    hour: whole('hour'),
    day: whole('day'),
    utc_day: whole('utc_day'),
    sums: mapMeasures((name) => Float64Array.from(column(({ sums }) => sums[name]))),
  }
}

function toPiece({ time, epochs, validator, sums }: PieceBatch): Folded {
  const { pieces } = piecesOf(time, epochs, [epochs])
  const [piece] = pieces
  assert(piece && pieces.length === 1, 'the epochs do not lie in one piece')
  const column = (value: number) => new Int32Array(validator.length).fill(value)
  return {
    isOnePiece: true,
    validator,
    hour: column(piece.hour),
    day: column(piece.day),
    utc_day: column(piece.utc_day),
    sums,
  }
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
    isOnePiece: pieces.length === 1,
    validator: kept.map((cell) => validators[Math.floor(cell / pieces.length)] as number),
    hour: key('hour'),
    day: key('day'),
    utc_day: key('utc_day'),
    sums: mapMeasures((name) => sumInto(kept.length, cellOf, rows.measures[name], name)),
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
