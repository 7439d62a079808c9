// The dataset of validator duties: a row per validator and UTC day, from packed rows.
import type { Network } from '#api/contract/wire/validators.ts'
import type { DateNumber } from '#core/calendar.ts'
import { type ChainTime, type Epoch, type Epochs, overlap, type UtcDay, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Duties } from '#storage/duties.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { type DayPart, partsIn } from '#validators/duties/layout.ts'
import { storedNetworks, storedTime } from '#validators/duties/networks.ts'
import { type Measure, measures } from '#validators/method/measures.ts'
import { type Dataset, datasetColumns, type Row, type TimeRange } from './dataset.ts'

const dayMs = 86_400_000
/** A batch has up to 512 × 32 rows. A row of the database holds up to 64 days, so fewer days would read it more often. */
const daysAtOnce = 32
const validatorsAtOnce = 512

/** The duties of one network that are exported. */
interface DutiesPlan {
  readonly network: Network
  readonly time: ChainTime
  /** Finalized epochs that were read. */
  readonly covered: readonly Epochs[]
  /** UTC days. */
  readonly days: Range
  /** Those with duties on any of the days, in ascending order. */
  readonly validators: Int32Array
}

export function openDutiesTable(duties: Duties, range: TimeRange): Dataset {
  let planned: Promise<readonly DutiesPlan[]> | undefined
  const plan = () => (planned ??= planDuties(duties, range))
  return {
    columns: datasetColumns.duties,
    unit: 'batches',
    total: async () => {
      const batches = (await plan()).map(
        ({ days, validators }) =>
          Math.ceil((days.until - days.from) / daysAtOnce) * Math.ceil(validators.length / validatorsAtOnce),
      )
      return batches.reduce((sum, count) => sum + count, 0)
    },
    batches: async function* () {
      for (const network of await plan()) {
        const { days, validators } = network
        for (let from = days.from; from < days.until; from += daysAtOnce) {
          const batchDays = { from, until: Math.min(from + daysAtOnce, days.until) }
          for (let at = 0; at < validators.length; at += validatorsAtOnce) {
            const batchValidators = [...validators.subarray(at, at + validatorsAtOnce)]
            yield { rows: await readDuties(duties, network, batchDays, batchValidators), done: 1 }
          }
        }
      }
    },
  }
}

async function planDuties(duties: Duties, range: TimeRange): Promise<readonly DutiesPlan[]> {
  const plans: DutiesPlan[] = []
  for (const network of await storedNetworks(duties)) {
    const time = await storedTime(duties, network)
    const covered = (await coveredEpochs(duties, network)) as Epochs[]
    const [first, last] = [covered[0], covered.at(-1)]
    if (!time || !first || !last) continue
    const calendar = utcDays(time)
    // A day is in the range if it starts in the range.
    const dayFrom = (atMs: number): number => calendar.firstFrom(Math.ceil(atMs / dayMs) as DateNumber)
    const from = Math.max(calendar.dayOf(first.from), dayFrom(range.fromMs))
    const until = Math.min(calendar.dayOf((last.until - 1) as Epoch) + 1, dayFrom(range.untilMs))
    if (from >= until) continue
    const epochs = {
      from: calendar.epochsOf(from as UtcDay).from,
      until: calendar.epochsOf((until - 1) as UtcDay).until,
    }
    const validators = await findValidators(duties, network, partsIn(time, epochs))
    plans.push({ network, time, covered, days: { from, until }, validators })
  }
  return plans
}

/** Those with duties in any of the parts, in ascending order. */
export async function findValidators(duties: Duties, network: Network, parts: readonly DayPart[]): Promise<Int32Array> {
  let isPresent = new Uint8Array(0)
  for (const { number: part } of parts) {
    const validators = await duties.query('validatorsIn', { network, part })
    const end = (validators.at(-1) ?? -1) + 1
    if (end > isPresent.length) {
      const before = isPresent
      isPresent = new Uint8Array(end)
      isPresent.set(before)
    }
    for (const validator of validators) isPresent[validator] = 1
  }
  return Int32Array.from(isPresent.keys()).filter((validator) => isPresent[validator] === 1)
}

/** Rows by validator, then date. */
async function readDuties(
  duties: Duties,
  { network, time, covered }: DutiesPlan,
  days: Range,
  validators: readonly number[],
): Promise<readonly Row[]> {
  const calendar = utcDays(time)
  const dayNumbers = Array.from({ length: days.until - days.from }, (_, at) => (days.from + at) as UtcDay)
  const epochs = dayNumbers.map((day) => countCommon(calendar.epochsOf(day), covered))
  const { day, validator, sums } = await duties.query('sumRecords', {
    query: {
      network,
      time,
      validators,
      days,
      isUtc: true,
      grain: 'days',
      byValidator: true,
      windowOfDay: dayNumbers,
    },
    wanted: { measures, scores: [] },
  })
  const order = [...day.keys()].sort(
    (a, b) => (validator[a] as number) - (validator[b] as number) || (day[a] as number) - (day[b] as number),
  )
  const valueAt = (measure: Measure, record: number): number | null => {
    const value = sums[measure]?.[record] as number
    return Number.isNaN(value) ? null : value
  }
  return order.map((record) => {
    const ownDay = day[record] as UtcDay
    return [
      ...[network, calendar.dateOf(ownDay), epochs[ownDay - days.from] as number, validator[record] as number],
      ...measures.map((measure) => valueAt(measure, record)),
    ]
  })
}

/** How many of the epochs were read. */
export const countCommon = (epochs: Epochs, covered: readonly Epochs[]): number =>
  covered.reduce((sum, range) => {
    const common = overlap(epochs, range)
    return sum + Math.max(0, common.until - common.from)
  }, 0)
