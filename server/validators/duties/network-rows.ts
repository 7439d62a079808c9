// What all validators of a network did in the epochs of a segment, if only those of a watch list are stored. The summary
// of the day is computed from it (daily-summaries.ts).
//
// 1. The rows of a segment are written in the transaction of its figures, and replaced with them in a repair.
// 2. They are deleted when the day has a summary that covers all its epochs. Those of other days stay for
//    `networkRowsKeptDays`, so that a gap which is filled later completes the day.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/contract/wire/networks.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { recordFrom } from '#core/record-from.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { measures } from '../method/measures.ts'
import { addScores, type Score, type ScoreTotals, scoreMeasures } from '../method/method.ts'
import { networkId } from './layout.ts'
import { storedNetworkOf } from './networks.ts'
import { packCells } from './pack-row.ts'
import { addRow, identity, RowReader } from './packed-row.ts'
import { Cells } from './row-format.ts'
import type { Segment, SumColumns } from './write.ts'

/**
 * Packed rows by group of validators: the measures that scores are computed from. Group −1 has the sums of all measures
 * over all validators.
 */
export type NetworkRows = ReadonlyMap<number, Uint8Array>

/** A segment of a network with a watch list. */
export interface NetworkSegment extends Pick<Segment, 'epochs'> {
  /** Undefined: all validators are stored. */
  readonly network?: NetworkRows | undefined
}

export const networkRowsKeptDays = 35

/** The group with the sums of all validators. */
const ofAll = -1
const groupSize = 32_768
const sumReader = new RowReader(measures.length)
const sumCells = new Cells(1, measures.length)

/** `columns`: by index of the validator. `isPresent`: 1 if the validator has a row. */
export function packNetworkRows(isPresent: Uint8Array, columns: SumColumns): NetworkRows {
  sumCells.clear()
  sumCells.isPresent[0] = 1
  measures.forEach((name, at) => void sumCells.add(0, at, sumOf(columns[name])))
  const rows = new Map([[ofAll, packCells(sumCells)]])
  const cells = new Cells(groupSize, scoreMeasures.length)
  for (let from = 0; from < isPresent.length; from += groupSize) {
    const present = isPresent.subarray(from, from + groupSize)
    if (!present.includes(1)) continue
    cells.clear()
    cells.isPresent.fill(0)
    cells.isPresent.set(present)
    scoreMeasures.forEach((name, at) => {
      const values = columns[name].subarray(from, from + groupSize)
      if (isZero(values)) return
      cells.columns[at]?.set(values)
      cells.isUsed[at] = 1
    })
    rows.set(from / groupSize, packCells(cells))
  }
  return rows
}

const sumOf = (column: Float64Array | Int32Array): number =>
  column instanceof Int32Array ? sumInt32(column) : sumFloat64(column)

// One function for each type of array: a common one takes several times as long.
function sumInt32(column: Int32Array): number {
  let sum = 0
  for (let at = 0; at < column.length; at++) sum += column[at] as number
  return sum
}

function sumFloat64(column: Float64Array): number {
  let sum = 0
  for (let at = 0; at < column.length; at++) sum += column[at] as number
  return sum
}

function isZero(values: Float64Array | Int32Array): boolean {
  for (let at = 0; at < values.length; at++) if (values[at] !== 0) return false
  return true
}

const dayOf = (time: ChainTime, { from }: Range): number => chainDays(time).dayOf(from as Epoch)

export async function writeNetworkRows(
  tx: StateWriter,
  network: Network,
  time: ChainTime,
  segments: readonly NetworkSegment[],
): Promise<void> {
  const values = segments.flatMap(({ epochs, network: rows }) =>
    [...(rows ?? [])].map(([group, data]) => [
      ...[networkId(network), dayOf(time, epochs), group],
      ...[epochs.from, epochs.until, data],
    ]),
  )
  const columns = ['network', 'day', 'validator_group', 'from_epoch', 'until_epoch', 'data']
  await tx.insertMany('network_rows', columns, values as (number | Uint8Array)[][])
}

/** Replaces the rows of the epochs of a day part by those of its segments. */
export async function replaceNetworkRows(
  tx: StateWriter,
  network: Network,
  time: ChainTime,
  part: Range,
  segments: readonly NetworkSegment[],
): Promise<void> {
  const sql = 'delete from network_rows where network = ? and day = ? and from_epoch >= ? and from_epoch < ?'
  await tx.run(sql, networkId(network), dayOf(time, part), part.from, part.until)
  await writeNetworkRows(tx, network, time, segments)
}

export const dropNetworkRows = (tx: StateWriter, network: Network, days: Range): Promise<unknown> =>
  tx.run(
    'delete from network_rows where network = ? and day >= ? and day < ?',
    networkId(network),
    days.from,
    days.until,
  )

/** The number of epochs of a day that have rows. */
export async function countNetworkEpochs(reader: StateReader, network: Network, day: number): Promise<number> {
  const sql = `select cast(sum(until_epoch - from_epoch) as bigint) as epochs from network_rows
     where network = ? and day = ? and validator_group = ${ofAll}`
  return (await reader.get<{ epochs: number | null }>(sql, networkId(network), day))?.epochs ?? 0
}

export interface NetworkDay {
  /** Validators that had duties. */
  readonly validators: number
  /** In the order of `measures`. */
  readonly sums: Float64Array
  /** Of each validator that has the score. */
  readonly scores: Readonly<Record<Score, readonly number[]>>
}

export interface NetworkRow extends Range {
  readonly network: Network
  readonly group: number
  readonly data: Uint8Array
}

/** All rows of all networks, in batches of one day and group. */
export async function* eachNetworkRow(reader: StateReader): AsyncGenerator<NetworkRow> {
  const keys = await reader.all<{ network: number; day: number; group: number }>(
    'select distinct network, day, validator_group as "group" from network_rows order by 1, 2, 3',
  )
  const sql = `select from_epoch as "from", until_epoch as "until", data from network_rows
     where network = ? and day = ? and validator_group = ?`
  for (const { network: id, day, group } of keys) {
    const network = (await storedNetworkOf(reader, id)) ?? 'an unknown network'
    for (const row of await reader.all<Omit<NetworkRow, 'network' | 'group'>>(sql, id, day, group))
      yield { ...row, group, network }
  }
}

export const checkNetworkRow = (group: number, data: Uint8Array): unknown =>
  new RowReader(group === ofAll ? measures.length : scoreMeasures.length).open(data)

/** Adds up all rows of a day. Reads one group of validators at a time. */
export async function readNetworkDay(reader: StateReader, network: Network, day: number): Promise<NetworkDay> {
  const key = [networkId(network), day]
  const groups = await reader.all<{ group: number }>(
    `select distinct validator_group as "group" from network_rows
     where network = ? and day = ? and validator_group >= 0 order by validator_group`,
    ...key,
  )
  const rowsOf = async (group: number) => {
    const sql = 'select data from network_rows where network = ? and day = ? and validator_group = ?'
    return (await reader.all<{ data: Uint8Array }>(sql, ...key, group)).map(({ data }) => data)
  }
  sumCells.clear()
  for (const data of await rowsOf(ofAll)) addRow(sumReader, data, sumCells)
  const scores = { attester: [], proposer: [], validator: [] } satisfies Record<Score, number[]>
  let validators = 0
  for (const { group } of groups) validators += addGroup(await rowsOf(group), scores)
  return { validators, sums: Float64Array.from(sumCells.columns, ([sum]) => sum as number), scores }
}

/** Adds the scores of the validators of one group. Returns how many of them have a row. */
function addGroup(rows: readonly Uint8Array[], scores: Readonly<Record<Score, number[]>>): number {
  const packed = new RowReader(scoreMeasures.length)
  const sums = recordFrom(scoreMeasures, () => new Int32Array(groupSize))
  const isPresent = new Uint8Array(groupSize)
  for (const data of rows) {
    packed.open(data)
    assert.equal(packed.cells, groupSize, 'a row of a network has another number of cells')
    if (!packed.selectCells(0, groupSize)) continue
    for (let cell = 0; cell < groupSize; cell++) if (packed.isPresent(cell)) isPresent[cell] = 1
    for (const [at, name] of scoreMeasures.entries()) packed.addCounts(at, groupSize, sums[name], identity(groupSize))
  }
  const totals = recordFrom(
    ['attester', 'proposer', 'validator'] as const,
    (): ScoreTotals => ({ sums: new Float64Array(groupSize), counts: new Float64Array(groupSize) }),
  )
  addScores(sums, identity(groupSize).subarray(0, groupSize), totals)
  for (const [name, { sums: scored, counts }] of Object.entries(totals) as [Score, ScoreTotals][])
    for (let cell = 0; cell < groupSize; cell++) if (counts[cell] === 1) scores[name].push(scored[cell] as number)
  return isPresent.reduce((count, is) => count + is, 0)
}
