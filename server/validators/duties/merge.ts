// Turns the rows of days that are over into blocks: 16 day parts into a short block, 8 short blocks into a long one, which has a row for each
// validator. Few rows then hold a year of one validator.
//
// 1. Rows are moved in slices of validators, each in a transaction of its own, so that epochs can be written in between. Because readers
//    add up all levels, no moment shows a figure twice or not at all, and a merge that was interrupted simply goes on.
// 2. What is added to an old day later (a gap that is filled, a repair) is a new row of that day, which is merged into its block again.
// 3. A damaged row does not stop ingest: its block is left as it is until it has been repaired. The doctor reports it.
import type { Network } from '#api/wire/validators.ts'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { measures } from '../ratings/measures.ts'
import { addCells, addChunk, ChunkReader, DamagedChunk } from './chunk.ts'
import { Cells } from './chunk-format.ts'
import { dayLevels, type Level, networkId, partOf, placeIn, placeOf, rowId, unitIds } from './layout.ts'
import { packCells } from './pack-chunk.ts'
import { dataByIds, type PackedRow, putRows, removeBetween, rowsBetween } from './rows.ts'

/** Validators that one transaction moves. */
const validatorsAtOnce = 4096

const days = 0
const short = 1

export interface MergeInput {
  readonly network: Network
  readonly time: ChainTime
  /** All epochs before this one have been read, or are gaps. */
  readonly until: number
}

/** Merges the days and short blocks that are over. Returns how many blocks were made or added to. */
export async function mergeBlocks(
  state: Pick<State, 'write'> & StateReader,
  { network: name, time, until }: MergeInput,
  signal?: AbortSignal,
): Promise<number> {
  const open = partOf(time, until as Epoch)
  const network = networkId(name)
  let blocks = 0
  for (const from of [days, short] as const) {
    const [source, target] = [dayLevels[from], dayLevels[from + 1] as Level]
    const units = await allUnits(state, network)
    const made = new Set(units[from + 1])
    const byBlock = Map.groupBy(units[from] ?? [], (unit) => Math.floor((unit * source.units) / target.units))
    for (const [block, own] of byBlock) {
      if ((block + 1) * target.units > open) continue
      const end = await validatorsEnd(state, source, network, own)
      let isDamaged = false
      for (let first = 0; first < end && !isDamaged; first += validatorsAtOnce) {
        if (signal?.aborted) return blocks
        const isLast = first + validatorsAtOnce >= end
        const slice = { network, from, block, units: own, first, isLast, mayHaveRows: made.has(block) }
        isDamaged = await state.write((tx) => mergeSlice(tx, slice)).then(() => false, isDamage)
      }
      if (!isDamaged) blocks += 1
    }
  }
  return blocks
}

function isDamage(error: unknown): true {
  if (error instanceof DamagedChunk) return true
  throw error
}

/** Units that have rows, by level. */
export async function allUnits(reader: StateReader, network: number): Promise<readonly (readonly number[])[]> {
  const rows = await reader.all<{ level: number; unit: number }>(
    'select level, unit from duty_units where network = ? order by level, unit',
    network,
  )
  const byLevel = Map.groupBy(rows, ({ level }) => level)
  return dayLevels.map((_, level) => (byLevel.get(level) ?? []).map(({ unit }) => unit))
}

/** One more than the highest validator that rows of these units can hold. At least 1, so that units without rows are done with as well. */
export async function validatorsEnd(
  reader: StateReader,
  level: Level,
  network: number,
  units: readonly number[],
): Promise<number> {
  let end = 1
  for (const unit of units) {
    const { from, until } = unitIds(level, network, { from: unit, until: unit + 1 })
    const row = await reader.get<{ id: number | null }>(
      `select max(id) as id from ${level.table} where id >= ? and id < ?`,
      from,
      until,
    )
    if (row?.id != null) end = Math.max(end, (placeIn(level, row.id) + 1) * level.validators)
  }
  return end
}

interface Slice {
  readonly network: number
  readonly from: typeof days | typeof short
  readonly block: number
  readonly units: readonly number[]
  readonly first: number
  readonly isLast: boolean
  /** The block was there before. */
  readonly mayHaveRows: boolean
}

async function mergeSlice(tx: StateWriter, slice: Slice): Promise<void> {
  const { network, from, block, units, first, isLast, mayHaveRows } = slice
  const [source, target] = [dayLevels[from], dayLevels[from + 1] as Level]
  const idAt = (level: Level, unit: number, validator: number) => rowId(level, network, unit, placeOf(level, validator))
  const sources = new Map<number, Map<number, Uint8Array>>()
  for (const unit of units) {
    const ids = { from: idAt(source, unit, first), until: idAt(source, unit, first + validatorsAtOnce) }
    const rows = new Map<number, Uint8Array>()
    for await (const some of rowsBetween(tx, source.table, ids))
      for (const { id, data } of some) rows.set(placeIn(source, id), data)
    sources.set(unit, rows)
    await removeBetween(tx, source.table, ids)
  }
  await tx.run(
    'insert into duty_units (network, level, unit) values (?, ?, ?) on conflict (network, level, unit) do nothing',
    network,
    from + 1,
    block,
  )
  const groups = [...new Set([...sources.values()].flatMap((rows) => [...rows.keys()]))].sort((a, b) => a - b)
  const merger = new Merger(from, sources)
  for (let at = 0; at < groups.length; at += groupsAtOnce) {
    const places = groups.slice(at, at + groupsAtOnce).flatMap((group) => merger.placesOf(group))
    const ids = places.map((place) => rowId(target, network, block, place))
    const before = mayHaveRows ? await dataByIds(tx, target.table, ids) : undefined
    const rows: PackedRow[] = []
    for (const [row, place] of places.entries()) {
      const id = ids[row] as number
      const data = merger.merge(place, before?.get(id))
      if (data) rows.push({ id, data })
    }
    await putRows(tx, target.table, rows)
  }
  if (!isLast) return
  // What was written to a day since its slice was moved is merged the next time.
  for (const unit of units) {
    const ids = unitIds(source, network, { from: unit, until: unit + 1 })
    await tx.run(
      `delete from duty_units where network = ? and level = ? and unit = ?
       and not exists (select 1 from ${source.table} where id >= ? and id < ?)`,
      ...[network, from, unit, ids.from, ids.until],
    )
  }
}

/** Rows of the lower level whose validators are merged before they are written. */
const groupsAtOnce = 16

/** Makes rows of one level from those of the level below, which have as many validators or more in a row. */
class Merger {
  readonly #source: Level
  readonly #target: Level
  readonly #cells: Cells
  readonly #before = new ChunkReader(measures.length)
  readonly #inputs: readonly {
    readonly rows: ReadonlyMap<number, Uint8Array>
    /** Where a row's cells of one target row go. */
    readonly to: Int32Array
    readonly reader: ChunkReader
    open: number
  }[]

  constructor(from: Slice['from'], sources: ReadonlyMap<number, ReadonlyMap<number, Uint8Array>>) {
    const [source, target] = [dayLevels[from], dayLevels[from + 1] as Level]
    this.#source = source
    this.#target = target
    this.#cells = new Cells(target.validators * target.units, measures.length)
    this.#inputs = Array.from(sources, ([unit, rows]) => {
      const offset = (unit * source.units) % target.units
      const to = Int32Array.from({ length: target.validators * source.units }, (_, cell) => {
        return Math.floor(cell / source.units) * target.units + offset + (cell % source.units)
      })
      return { rows, to, reader: new ChunkReader(measures.length), open: -1 }
    })
  }

  /** The target rows that a source row's validators are in. */
  placesOf(group: number): number[] {
    const count = this.#source.validators / this.#target.validators
    return Array.from({ length: count }, (_, at) => group * count + at)
  }

  /** Undefined: none of its validators has figures. */
  merge(place: number, before: Uint8Array | undefined): Uint8Array | undefined {
    const [source, target, cells] = [this.#source, this.#target, this.#cells]
    const first = place * target.validators
    const group = placeOf(source, first)
    cells.clear()
    if (before) addChunk(this.#before, before, cells)
    for (const input of this.#inputs) {
      const data = input.rows.get(group)
      if (!data) continue
      if (input.open !== group) input.reader.open(data)
      input.open = group
      addCells(input.reader, cells, (first % source.validators) * source.units, input.to.length, input.to)
    }
    return cells.isPresent.includes(1) ? packCells(cells) : undefined
  }
}
