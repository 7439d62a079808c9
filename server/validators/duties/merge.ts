// Merges the rows of past days into spans: 16 day parts into a short span, 8 short spans into a long one. A long
// span has one row per validator, so a year of one validator takes few rows.
//
// 1. Rows are moved in slices of validators, each in its own transaction, so that epochs can be written in between.
//    Readers add up all levels, so each figure counts exactly once at any time, and an interrupted merge can continue.
// 2. Figures that are added to an old day later (a filled gap, a repair) are a new row of that day. The next merge adds
//    it to the span.
// 3. A damaged row does not stop ingest: its span is skipped until it has been repaired. The doctor reports it.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { measures } from '../method/measures.ts'
import { ignoreDamage } from './damage.ts'
import { dayLevels, dayPartAt, groupOf, type Level, networkId, rowId, unitIds } from './layout.ts'
import { packCells } from './pack-row.ts'
import { addCells, addRow, RowReader } from './packed-row.ts'
import { Cells } from './row-format.ts'
import { dataByIds, type PackedRow, putRows, removeBetween, rowsByGroup } from './rows.ts'
import { addUnit, allUnits, validatorsEnd } from './units.ts'

const days = 0
const short = 1

/**
 * Validators that one transaction moves, by the level that they come from. Each transaction writes pages at the ends of
 * every unit again, so small ones write more. Those from short spans are limited, because epochs wait for them.
 */
const validatorsAtOnce = { [days]: 16_384, [short]: 4096 } as const

export interface MergeInput {
  readonly network: Network
  readonly time: ChainTime
  /** All epochs before this one have been read, or are gaps. */
  readonly until: number
}

/** Merges the days and short spans that are over. Returns the number of spans that were created or extended. */
export async function mergeSpans(
  state: Pick<State, 'write'> & StateReader,
  { network: name, time, until }: MergeInput,
  signal?: AbortSignal,
): Promise<number> {
  const open = dayPartAt(time, until as Epoch)
  const network = networkId(name)
  let spans = 0
  for (const from of [days, short] as const) {
    const [source, target] = [dayLevels[from], dayLevels[from + 1] as Level]
    const units = await allUnits(state, network)
    const existingSpans = new Set(units[from + 1])
    const bySpan = Map.groupBy(units[from] ?? [], (unit) =>
      Math.floor((unit * source.partsPerRow) / target.partsPerRow),
    )
    for (const [span, ownUnits] of bySpan) {
      if ((span + 1) * target.partsPerRow > open) continue
      const end = await validatorsEnd(state, source, network, ownUnits)
      let isDamaged = false
      for (let first = 0; first < end && !isDamaged; first += validatorsAtOnce[from]) {
        if (signal?.aborted) return spans
        const isLast = first + validatorsAtOnce[from] >= end
        const slice = { network, from, span, units: ownUnits, first, isLast, mayHaveRows: existingSpans.has(span) }
        isDamaged = (await ignoreDamage(state.write((tx) => mergeSlice(tx, slice), { lock: 'duties' }))) === 'damaged'
      }
      if (!isDamaged) spans += 1
    }
  }
  return spans
}

interface Slice {
  readonly network: number
  readonly from: typeof days | typeof short
  readonly span: number
  readonly units: readonly number[]
  readonly first: number
  readonly isLast: boolean
  /** The span existed before. */
  readonly mayHaveRows: boolean
}

async function mergeSlice(tx: StateWriter, slice: Slice): Promise<void> {
  const { network, from, span, units, first, isLast, mayHaveRows } = slice
  const [source, target] = [dayLevels[from], dayLevels[from + 1] as Level]
  const idAt = (level: Level, unit: number, validator: number) => rowId(level, network, unit, groupOf(level, validator))
  const sources = new Map<number, Map<number, Uint8Array>>()
  for (const unit of units) {
    const ids = { from: idAt(source, unit, first), until: idAt(source, unit, first + validatorsAtOnce[from]) }
    sources.set(unit, await rowsByGroup(tx, source, ids))
    await removeBetween(tx, source.table, ids)
  }
  await addUnit(tx, network, from + 1, span)
  const groups = [...new Set([...sources.values()].flatMap((rows) => [...rows.keys()]))].sort((a, b) => a - b)
  const merge = createMerger(source, target, sources)
  const targetsPerSource = source.validators / target.validators
  for (let at = 0; at < groups.length; at += groupsAtOnce) {
    const targetGroups = groups
      .slice(at, at + groupsAtOnce)
      .flatMap((group) => Array.from({ length: targetsPerSource }, (_, part) => group * targetsPerSource + part))
    const ids = targetGroups.map((group) => rowId(target, network, span, group))
    const before = mayHaveRows ? await dataByIds(tx, target.table, ids) : undefined
    const rows: PackedRow[] = []
    for (const [row, group] of targetGroups.entries()) {
      const id = ids[row] as number
      const data = merge(group, before?.get(id))
      if (data) rows.push({ id, data })
    }
    await putRows(tx, target.table, rows)
  }
  if (!isLast) return
  // Rows that were written to a day after its slice was moved stay for the next merge.
  for (const unit of units) {
    const ids = unitIds(source, network, { from: unit, until: unit + 1 })
    await tx.run(
      `delete from duty_units where network = ? and level = ? and unit = ?
       and not exists (select 1 from ${source.table} where id >= ? and id < ?)`,
      ...[network, from, unit, ids.from, ids.until],
    )
  }
}

/** Source rows that are merged before the results are written. */
const groupsAtOnce = 16

/**
 * Returns a function that builds a row of the target level from rows of the level below and from the row that exists
 * already. The function returns undefined if none of its validators has figures. A source row holds at least as many
 * validators as a target row.
 */
function createMerger(source: Level, target: Level, sources: ReadonlyMap<number, ReadonlyMap<number, Uint8Array>>) {
  const cells = new Cells(target.validators * target.partsPerRow, measures.length)
  const beforeReader = new RowReader(measures.length)
  const inputs = Array.from(sources, ([unit, rows]) => {
    const offset = (unit * source.partsPerRow) % target.partsPerRow
    /** Target cell of each source cell. */
    const to = Int32Array.from({ length: target.validators * source.partsPerRow }, (_, cell) => {
      return Math.floor(cell / source.partsPerRow) * target.partsPerRow + offset + (cell % source.partsPerRow)
    })
    return { rows, to, reader: new RowReader(measures.length), open: -1 }
  })
  return (targetGroup: number, before: Uint8Array | undefined): Uint8Array | undefined => {
    const first = targetGroup * target.validators
    const group = groupOf(source, first)
    cells.clear()
    if (before) addRow(beforeReader, before, cells)
    for (const input of inputs) {
      const data = input.rows.get(group)
      if (!data) continue
      if (input.open !== group) input.reader.open(data)
      input.open = group
      addCells(input.reader, cells, (first % source.validators) * source.partsPerRow, input.to.length, input.to)
    }
    return cells.isPresent.includes(1) ? packCells(cells) : undefined
  }
}
