// Extension: ratings of one pool or node operator over time, from daily summaries (behaviour/validators.md#operators).
import { extensions } from '#api/contract/extensions.ts'
import type { Parsed, Reply } from '#api/contract/kit.ts'
import {
  kindOfIdType,
  type OperatorIdType,
  type OperatorRecord,
  type operatorRatios,
  operatorSums,
  renamedSums,
} from '#api/contract/wire/validators-operators.ts'
import { type ChainDay, chainDays, type Epoch, epochStartMs } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { createHandler, type HandlerResult } from '#http/handler.ts'
import type { ValidatorsContext } from '../../context.ts'
import { type DaySummary, listSummarizedDays } from '../../duties/daily-summaries.ts'
import {
  aggregateFigures,
  type Figure,
  figures,
  methodHeaders,
  type RecordValues,
  type Score,
} from '../../method/method.ts'
import { getRowCoverage } from '../../requests/coverage.ts'
import { toPath } from '../../requests/page-links.ts'
import { chainTimeOf, requestedEpochs, toConfidence } from '../../requests/requested-epochs.ts'
import { windowsOver } from '../../requests/windows.ts'
import { findOperator } from './find-operator.ts'

const endpoint = extensions['validators.operatorEffectiveness']
type OperatorQuery = Parsed<typeof endpoint>

/** PostgreSQL stores days as 32-bit integers, and the end of a range is one more. */
const dayMax = 2 ** 31 - 2

export const operatorEffectiveness = createHandler(
  endpoint,
  async (query, context: ValidatorsContext, request): Promise<HandlerResult<Reply<typeof endpoint>>> => {
    const { network, operator_id: name, granularity, filterType, size } = query
    const { duties, ingest, settings } = context
    const time = chainTimeOf(settings, network)
    const calendar = chainDays(time)
    const requested = requestedEpochs(time, query)
    const { covered } = await getRowCoverage(context, network, time)
    const confidence = toConfidence(covered, requested)
    const idType = await findOperator(ingest, network, name, query.idType && [query.idType])
    if (!idType) return { is: 'nothing', confidence }
    const dayOf = (epoch: number) => Math.min(calendar.dayOf(epoch as Epoch), dayMax)
    const requestedDays = {
      from: dayOf(requested.from),
      until: Number.isFinite(requested.until) ? dayOf(requested.until - 1) + 1 : dayMax,
    }
    const entity = { network, kind: kindOfIdType[idType], names: [name] } as const
    const all = (await listSummarizedDays(duties, { ...entity, days: requestedDays })).map(({ day }) => day)
    const span = { from: all[0] ?? 0, until: (all.at(-1) ?? -1) + 1 }
    const windows = windowsOver(calendar, granularity, span)
    // Newest first. The last one is the first record of the next page.
    const keys = [...new Set(all.map((day) => windows.keyOf(day)))].reverse()
    const shown = keys.slice(0, size)
    const days = spanOf(shown.map((key) => windows.daysOf(key)))
    const [summaries, networkCounts] = await Promise.all([
      duties.query('readSummaries', { ...entity, days }),
      listSummarizedDays(duties, { network, kind: 'network', names: [''], days }),
    ])
    const countOn = new Map(networkCounts.map(({ day, validators }) => [day, validators]))
    const byWindow = Map.groupBy(summaries, ({ day }) => windows.keyOf(day))
    const data = shown.flatMap((key) => {
      const windowSummaries = byWindow.get(key) ?? []
      const [first, last] = [windowSummaries[0], windowSummaries.at(-1)]
      if (!first || !last) return []
      const networkCount = countOn.get(last.day)
      return {
        ...toRecord(query, idType, windowSummaries),
        day: granularity === 'day' ? first.day : null,
        startDay: first.day,
        endDay: last.day,
        startEpoch: calendar.epochsOf(first.day as ChainDay).from,
        endEpoch: calendar.epochsOf(last.day as ChainDay).until - 1,
        validatorCount: last.validators,
        networkPenetration: networkCount ? last.validators / networkCount : null,
      }
    })
    const following = size === 0 ? undefined : keys[size]
    const boundAt = (day: number) =>
      filterType === 'day' ? day : new Date(epochStartMs(time, calendar.epochsOf(day as ChainDay).from)).toISOString()
    const next =
      following === undefined
        ? null
        : toPath(
            { endpoint, input: query, query: request.query },
            { size, from: boundAt(windows.daysOf(following).until - 1), to: requested.older },
          )
    const body = { data, next, page: { filterType, granularity, size }, total: keys.length }
    return { is: 'body', body, confidence, headers: methodHeaders }
  },
)

/** From the first to the last of these days; newest first. */
const spanOf = (windows: readonly Range[]): Range => ({
  from: windows.at(-1)?.from ?? 0,
  until: windows[0]?.until ?? 0,
})

const ratios: Readonly<Record<(typeof operatorRatios)[number], Figure>> = {
  avgAttesterEffectiveness: figures.attesterEffectiveness,
  avgProposerEffectiveness: figures.proposerEffectiveness,
  avgValidatorEffectiveness: figures.validatorEffectiveness,
  avgCorrectness: figures.avgCorrectness,
  avgInclusionDelay: figures.avgInclusionDelay,
  avgUptime: figures.uptime,
}

const recordFigures: readonly (readonly [string, Figure])[] = [
  ...Object.entries(ratios),
  ...Object.entries(renamedSums).map(([name, field]) => [name, aggregateFigures[field]] as const),
  ...operatorSums.map((name) => [name, aggregateFigures[name]] as const),
]

type RecordFigures = Omit<
  OperatorRecord,
  'day' | 'startDay' | 'endDay' | 'startEpoch' | 'endEpoch' | 'validatorCount' | 'networkPenetration'
>

/** The figures of one window: sums over its days, and means over the validators and days. */
function toRecord({ operator_id }: OperatorQuery, idType: OperatorIdType, days: readonly DaySummary[]): RecordFigures {
  const total = (of: (day: DaySummary) => number) => Float64Array.of(days.reduce((sum, day) => sum + of(day), 0))
  const count = (score: Score) => total(({ scores }) => scores[score]?.validators ?? 0)[0] as number
  const values: RecordValues = {
    sum: (measure) => total(({ sums }) => sums[measure]),
    score: (score) =>
      total(({ scores }) => (scores[score]?.mean ?? 0) * (scores[score]?.validators ?? 0)).map(
        (sum) => sum / count(score),
      ),
  }
  const computed = recordFigures.map(([name, figure]) => {
    const [value = Number.NaN] = figure.of(values)
    return [name, Number.isNaN(value) ? null : value] as const
  })
  return { id: operator_id, idType, ...Object.fromEntries(computed) } as RecordFigures
}
