// Daily summaries: one row has the sums of all validators of a network, a pool or an operator on one chain day, and the
// distribution of their scores. Questions about pools and percentiles then need no figures of single validators. The
// summaries are written when a day is over. sum-summaries.ts adds them up.
//
// 1. A day is summarized when it is over. A later change of the day (a filled gap, a repair) deletes its entry in
//    duty_summary_days (past-changes.ts), and the day is summarized again. If the day changes while its summary is
//    computed, the summary is not written.
// 2. With a watch list, the summary of the network is computed from what all validators did (network-rows.ts). It is
//    kept if that has been deleted, unless epochs of the day are repaired. A day in which the watch list was added or
//    removed is in part summarized.
// 3. A day is summarized with the pools and operators to which validators belonged on that day. duty_summary_days has the
//    version of these entities that was used. A later change of a day's entities names the day, and only the days that it
//    names are summarized again.

import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainDay, type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import { countIn, type Range, within } from '#core/ranges.ts'
import { recordFrom } from '#core/record-from.ts'
import { putRow } from '#storage/put-row.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import type { EntityChange } from '../entities/memberships.ts'
import { type Measure, measures } from '../method/measures.ts'
import { methodNumber, type Score } from '../method/method.ts'
import { coveredEpochs } from './coverage.ts'
import { ignoreDamage } from './damage.ts'
import { validatorsIn } from './inspect.ts'
import { networkId, partsIn } from './layout.ts'
import { countNetworkEpochs, dropNetworkRows, networkRowsKeptDays, readNetworkDay } from './network-rows.ts'
import { packCells } from './pack-row.ts'
import { addRow, RowReader } from './packed-row.ts'
import { lastRevisionOf } from './past-changes.ts'
import type { RecordSums } from './record-sums.ts'
import { Cells } from './row-format.ts'
import { sumRecords } from './sum-records.ts'
import { storesEveryone } from './watch-ranges.ts'

/** Stored as their index in this list. */
export const summaryKinds = ['network', 'pool', 'operator'] as const
export type SummaryKind = (typeof summaryKinds)[number]

/** The entities that get a summary, pools and operators, with their validators. */
export interface SummaryEntities {
  /** Increases with every change of an entity. */
  readonly version: number
  /** Days whose entities changed with a version. */
  readonly changes: readonly EntityChange[]
  readonly list: readonly { readonly kind: Exclude<SummaryKind, 'network'>; readonly name: string }[]
  /** Entry n of these columns: a validator belongs to the entity with this index in `list`, on these days. */
  readonly validators: Int32Array
  readonly entityIndices: Int32Array
  readonly fromDays: Int32Array
  readonly untilDays: Int32Array
}

export const percentiles = [1, 5, 10, 25, 50, 75, 90, 95, 99] as const
const scoreNames = ['attester', 'proposer', 'validator'] as const satisfies readonly Score[]

/** Distribution of a score over the validators that have one. */
export interface ScoreSpread {
  readonly validators: number
  readonly mean: number
  /** For each of `percentiles`: the smallest score that this share of validators does not exceed. */
  readonly percentiles: readonly number[]
}

export interface DaySummary {
  readonly day: number
  /** How many epochs of the day the summary covers. */
  readonly epochs: number
  /** The number of the method of the scores. */
  readonly method: number
  readonly validators: number
  readonly sums: Readonly<Record<Measure, number>>
  /** Undefined: no validator has this score. */
  readonly scores: Readonly<Partial<Record<Score, ScoreSpread>>>
}

// ----------------------------------------------------------------------------------------------------------------- packing

/** Scores are stored as whole numbers: points times this. */
const scoreScale = 1e8
const columnsPerScore = 2 + percentiles.length
/** Scores come first, so that new measures are appended. */
const firstMeasure = scoreNames.length * columnsPerScore
const columnCount = firstMeasure + measures.length

function pack(sums: Float64Array, spreads: readonly (ScoreSpread | undefined)[]): Uint8Array {
  const cells = new Cells(1, columnCount)
  cells.isPresent[0] = 1
  spreads.forEach((spread, scoreIndex) => {
    if (!spread) return
    const scaled = [spread.mean, ...spread.percentiles].map((score) => Math.round(score * scoreScale))
    ;[spread.validators, ...scaled].forEach((value, at) => void cells.add(0, scoreIndex * columnsPerScore + at, value))
  })
  sums.forEach((sum, at) => void cells.add(0, firstMeasure + at, sum))
  return packCells(cells)
}

export function unpackSummary(data: Uint8Array): Pick<DaySummary, 'sums' | 'scores'> {
  const cells = new Cells(1, columnCount)
  addRow(new RowReader(columnCount), data, cells)
  const valueAt = (column: number) => cells.columns[column]?.[0] as number
  const scores = scoreNames.flatMap((name, scoreIndex) => {
    const first = scoreIndex * columnsPerScore
    const validators = valueAt(first)
    const [mean = 0, ...rest] = Array.from(
      { length: 1 + percentiles.length },
      (_, at) => valueAt(first + 1 + at) / scoreScale,
    )
    return validators === 0 ? [] : [[name, { validators, mean, percentiles: rest }] as const]
  })
  return {
    sums: recordFrom(measures, (_, at) => valueAt(firstMeasure + at)),
    scores: Object.fromEntries(scores),
  }
}

// ------------------------------------------------------------------------------------------------------------- summarizing

export interface SummarizeInput {
  readonly network: Network
  readonly time: ChainTime
  /** All epochs before this one have been read, or are gaps. */
  readonly until: number
  readonly entities: SummaryEntities
  /** At most this many days, newest first. */
  readonly daysMax: number
}

/** Past days without a summary, or with one that is older than a change of the day's entities. Newest first. */
export async function daysToSummarize(
  reader: StateReader,
  {
    network,
    time,
    until,
    changes,
  }: Pick<SummarizeInput, 'network' | 'time' | 'until'> & Pick<SummaryEntities, 'changes'>,
): Promise<number[]> {
  const covered = await coveredEpochs(reader, network)
  const sql = 'select day, version from duty_summary_days where network = ?'
  const rows = await reader.all<{ day: number; version: number }>(sql, networkId(network))
  const isOutdated = (row: { readonly day: number; readonly version: number }) =>
    changes.some(({ version, from, until: end }) => version > row.version && from <= row.day && row.day < end)
  const done = new Set(rows.filter((row) => !isOutdated(row)).map(({ day }) => day))
  const open = chainDays(time).dayOf(until as Epoch)
  const days = covered.flatMap((range) => partsIn(time, range).map(({ chainDay }) => chainDay))
  return [...new Set(days)].filter((day) => day < open && !done.has(day)).sort((a, b) => b - a)
}

/** Returns the number of days that were summarized. */
export async function summarizeDays(
  state: Pick<State, 'write' | 'snapshot'>,
  input: SummarizeInput,
  signal?: AbortSignal,
): Promise<number> {
  const { network, entities, daysMax } = input
  const days = await state.snapshot((reader) => daysToSummarize(reader, { ...input, changes: entities.changes }))
  let count = 0
  for (const day of days.slice(0, daysMax)) {
    if (signal?.aborted) break
    // A day with a damaged row gets its summary after the repair.
    const summary = await ignoreDamage(
      state.snapshot(async (reader) => ({
        revision: await revisionOf(reader, input, day),
        ...(await summaryRows(reader, input, day)),
      })),
    )
    if (summary === 'damaged') continue
    const { revision, rows, keepsNetwork } = summary
    const isWritten = await state.write(
      async (tx) => {
        if ((await revisionOf(tx, input, day)) !== revision) return false
        const id = networkId(network)
        const from = keepsNetwork ? 1 : 0
        await tx.run('delete from duty_summaries where network = ? and day = ? and kind >= ?', id, day, from)
        const columns = ['network', 'day', 'kind', 'name', 'validators', 'epochs', 'method', 'data']
        const values = rows.map(({ kind, name, validators, epochs, data }) => [
          ...[id, day, kind, name, validators, epochs, methodNumber],
          data,
        ])
        await tx.insertMany('duty_summaries', columns, values)
        const isComplete = rows[0]?.kind === 0 && rows[0].epochs === input.time.epochsPerDay
        if (isComplete) await dropNetworkRows(tx, network, { from: day, until: day + 1 })
        const open = chainDays(input.time).dayOf(input.until as Epoch)
        await dropNetworkRows(tx, network, { from: 0, until: Math.max(0, open - networkRowsKeptDays) })
        await putRow(tx, 'duty_summary_days', ['network', 'day'], { network: id, day, version: entities.version })
        return true
      },
      { lock: 'duties' },
    )
    if (isWritten) count += 1
  }
  return count
}

/** Changes with every change of the day. */
const revisionOf = (reader: StateReader, { network, time }: SummarizeInput, day: number): Promise<number> => {
  const parts = partsIn(time, chainDays(time).epochsOf(day as ChainDay)).map(({ number }) => number)
  return lastRevisionOf(reader, network, { from: Math.min(...parts), until: Math.max(...parts) + 1 })
}

/** Validators per query. */
const validatorsAtOnce = 4096

interface SummaryRows {
  /** The network first, unless its summary is kept or not known. */
  readonly rows: readonly (Omit<SummaryRow, 'day' | 'method'> & { readonly kind: number })[]
  readonly keepsNetwork: boolean
}

async function summaryRows(reader: StateReader, input: SummarizeInput, day: number): Promise<SummaryRows> {
  const { network, time, entities } = input
  const dayEpochs = chainDays(time).epochsOf(day as ChainDay)
  const covered = within(await coveredEpochs(reader, network), dayEpochs)
  const epochs = countIn(covered)
  const parts = partsIn(time, dayEpochs)
  const lists = await Promise.all(parts.map(({ number: part }) => validatorsIn(reader, { network, part })))
  const validators = Int32Array.from(new Set(lists.flatMap((list) => [...list]))).sort()
  const ofNetwork = new SummaryBuilder()
  const ofEntities = entities.list.map(() => new SummaryBuilder())
  const membersOfDay = entities.validators
    .keys()
    .filter((at) => (entities.fromDays[at] as number) <= day && day < (entities.untilDays[at] as number))
  const pairsOf = Map.groupBy(membersOfDay, (at) => entities.validators[at] as number)
  for (let at = 0; at < validators.length; at += validatorsAtOnce) {
    const query = {
      network,
      time,
      isUtc: false,
      days: { from: day, until: day + 1 },
      windowOfDay: [day],
      ...({ grain: 'days', byValidator: true } as const),
      validators: [...validators.subarray(at, at + validatorsAtOnce)],
    }
    const records = await sumRecords(reader, { query, wanted: { measures, scores: scoreNames } })
    for (let record = 0; record < records.validator.length; record++) {
      ofNetwork.add(records, record)
      for (const pair of pairsOf.get(records.validator[record] as number) ?? [])
        ofEntities[entities.entityIndices[pair] as number]?.add(records, record)
    }
  }
  const entityRows = ofEntities.flatMap((summary, at) => {
    const { kind, name } = entities.list[at] as SummaryEntities['list'][number]
    return summary.count === 0 ? [] : [{ kind: summaryKinds.indexOf(kind), name, epochs, ...summary.finish() }]
  })
  const whole = { kind: 0, name: '' }
  if (await storesEveryone(reader, network, covered))
    return { rows: [{ ...whole, epochs, ...ofNetwork.finish() }, ...entityRows], keepsNetwork: false }
  const known = await countNetworkEpochs(reader, network, day)
  const keepsNetwork = (await summarizedEpochs(reader, network, day)) >= known
  if (keepsNetwork) return { rows: entityRows, keepsNetwork }
  const { validators: count, sums, scores } = await readNetworkDay(reader, network, day)
  const data = pack(
    sums,
    scoreNames.map((name) => spreadOf(scores[name])),
  )
  return { rows: [{ ...whole, epochs: known, validators: count, data }, ...entityRows], keepsNetwork }
}

/** How many epochs of a day the summary of the network covers. */
async function summarizedEpochs(reader: StateReader, network: Network, day: number): Promise<number> {
  const days = { from: day, until: day + 1 }
  const [row] = await selectSummaries(reader, { network, kind: 'network', names: [''], days })
  return row?.epochs ?? 0
}

export const dropNetworkSummary = (tx: StateWriter, network: Network, day: number): Promise<unknown> =>
  tx.run('delete from duty_summaries where network = ? and kind = 0 and day = ?', networkId(network), day)

/** Adds up the validators of one day and one entity, or of the whole network. */
class SummaryBuilder {
  count = 0
  readonly #sums = new Float64Array(measures.length)
  readonly #scores: number[][] = scoreNames.map(() => [])

  add({ sums, scores }: RecordSums, record: number): void {
    this.count += 1
    measures.forEach((name, at) => {
      this.#sums[at] = (this.#sums[at] as number) + (sums[name]?.[record] as number)
    })
    scoreNames.forEach((name, at) => {
      const totals = scores[name]
      // A record of one day has one grain, so its sum is the score.
      if (totals && totals.counts[record] === 1) this.#scores[at]?.push(totals.sums[record] as number)
    })
  }

  finish() {
    return { validators: this.count, data: pack(this.#sums, this.#scores.map(spreadOf)) }
  }
}

function spreadOf(scores: readonly number[]): ScoreSpread | undefined {
  if (scores.length === 0) return undefined
  const sorted = Float64Array.from(scores).sort()
  const mean = sorted.reduce((total, score) => total + score, 0) / sorted.length
  const at = (percent: number) => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] as number
  return { validators: sorted.length, mean, percentiles: percentiles.map(at) }
}

// ----------------------------------------------------------------------------------------------------------------- reading

export interface SummariesQuery {
  readonly network: Network
  readonly kind: SummaryKind
  /** Distinct. The whole network has the name ''. */
  readonly names: readonly string[]
  readonly days: Range
}

export interface SummaryRow {
  readonly name: string
  readonly day: number
  readonly validators: number
  readonly epochs: number
  readonly method: number
  readonly data: Uint8Array
}

/** In order of days for each name. Days without a summary are missing. */
export const selectSummaries = <R = SummaryRow>(
  duties: StateReader,
  { network, kind, names, days }: SummariesQuery,
  columns = 'name, day, validators, epochs, method, data',
): Promise<R[]> =>
  duties.all<R>(
    `select ${columns} from duty_summaries
     where network = ? and kind = ? and name in (${names.map(() => '?').join()}) and day >= ? and day < ?
     order by name, day`,
    ...[networkId(network), summaryKinds.indexOf(kind), ...names, days.from, days.until],
  )

/** The days that have a summary, and the number of validators. */
export const listSummarizedDays = (
  duties: StateReader,
  query: SummariesQuery,
): Promise<{ readonly day: number; readonly validators: number }[]> => selectSummaries(duties, query, 'day, validators')

export const readSummaries = async (duties: StateReader, query: SummariesQuery): Promise<DaySummary[]> =>
  (await selectSummaries(duties, query)).map(({ name: _, data, ...row }) => ({ ...row, ...unpackSummary(data) }))
