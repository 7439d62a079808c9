// Extension: validators compared with all validators of their network, and with the thresholds of programmes
// (behaviour/validators.md#comparison-with-the-network).
import { extensions } from '#api/contract/extensions.ts'
import type { Parsed, Reply } from '#api/contract/kit.ts'
import {
  type ComparedFigure,
  type ComparedValidator,
  comparedFigures,
  comparedMax,
} from '#api/contract/wire/validators-comparison.ts'
import { formatDate } from '#core/calendar.ts'
import { type ChainDay, chainDays } from '#core/chain-time.ts'
import { recordFrom } from '#core/record-from.ts'
import { createHandler, type HandlerResult } from '#http/handler.ts'
import type { ValidatorsContext } from '../../context.ts'
import { methodHeaders } from '../../method/method.ts'
import { readEntries } from '../../registry/registry.ts'
import { getKeptEpochs, getRowCoverage, withStableCoverage } from '../../requests/coverage.ts'
import { refuseUnread } from '../../requests/refuse-unless-unknown.ts'
import { chainTimeOf, invalidInput, toConfidence } from '../../requests/requested-epochs.ts'
import { selectValidators } from '../income/select-validators.ts'
import { appliesTo, evaluateProgramme, programmesOf } from './programmes.ts'
import {
  type Comparison,
  difference,
  type Fraction,
  meanPercentile,
  readComparison,
  toNumber,
  totalOf,
} from './read-comparison.ts'

const endpoint = extensions['validators.comparison']
type Query = Parsed<typeof endpoint>

export const comparison = createHandler(endpoint, (query, context: ValidatorsContext, { signal }) =>
  withStableCoverage(context, query.network, async () => {
    const validators = await selectValidators(context, query)
    if (validators.length > comparedMax) {
      const message = `name at most ${comparedMax} validators; request them in parts`
      throw invalidInput([{ at: ['query'], message }])
    }
    return compare(context, query, validators, signal)
  }),
)

export async function compare(
  context: ValidatorsContext,
  { network, days: count }: Pick<Query, 'network' | 'days'>,
  validators: readonly number[],
  signal?: AbortSignal,
): Promise<HandlerResult<Reply<typeof endpoint>>> {
  const time = chainTimeOf(context.settings, network)
  const calendar = chainDays(time)
  const coverage = await getRowCoverage(context, network, time)
  if (coverage.covered.length === 0) refuseUnread(context, network)
  const programmes = programmesOf(context.settings, network)
  const widest = Math.max(count, ...programmes.map(({ days }) => days))
  const all = await readComparison(context, network, time, { validators, days: widest, signal })
  const read = narrow(all, count)
  const epochAt = (day = 0) => calendar.epochsOf(day as ChainDay).from
  const kept = await getKeptEpochs(context, network, coverage, validators)
  const requested = { from: epochAt(read.days?.from), until: epochAt(read.days?.until) }
  const confidence = toConfidence(coverage.covered, requested, kept)
  if (validators.length === 0) return { is: 'nothing', confidence }
  const entries = new Map((await readEntries(context.ingest, network, [...validators])).map((one) => [one.index, one]))
  const means = recordFrom(comparedFigures, (name) => totalOf(read.network.values(), name))
  const toValidator = (index: number): ComparedValidator => {
    const own = read.validators.get(index) ?? []
    const { pool = null, nodeOperators = [] } = entries.get(index)?.entity ?? {}
    const member = { index, pool, operator: nodeOperators[0] ?? null }
    const compared = (name: ComparedFigure) => {
      const value = totalOf(own, name)
      return { value: inUnit(value, name), difference: toNumber(difference(value, means[name])) }
    }
    return {
      validatorIndex: index,
      days: own.length,
      uptime: compared('uptime'),
      ...recordFrom(['attesterEffectiveness', 'validatorEffectiveness'] as const, (name) => ({
        ...compared(name),
        percentile: meanPercentile(read, own, name),
      })),
      programmes: programmes
        .filter((programme) => appliesTo(programme, member))
        .map((programme) => {
          const { value, threshold, isBelow, days } = evaluateProgramme(all, programme, index)
          const { name, figure } = programme
          return {
            ...{ name, figure, days },
            value: inUnit(value, figure),
            threshold: inUnit(threshold, figure),
            margin: toNumber(difference(value, threshold)),
            isBelow: isBelow ?? null,
          }
        }),
    }
  }
  const { days } = read
  const dateOf = (day: number) => formatDate(calendar.dateOf(day as ChainDay))
  const body = {
    startDay: days?.from ?? null,
    endDay: days ? days.until - 1 : null,
    startDate: days ? dateOf(days.from) : null,
    endDate: days ? dateOf(days.until - 1) : null,
    days: read.network.size,
    partialDays: days ? range(days.from, days.until).filter((day) => !read.network.has(day)) : [],
    network: recordFrom(comparedFigures, (name) => inUnit(means[name], name)),
    validators: validators.toSorted((a, b) => a - b).map(toValidator),
  }
  return { is: 'body', body, headers: methodHeaders, confidence }
}

const range = (from: number, until: number): number[] => Array.from({ length: until - from }, (_, at) => from + at)

/** Uptime goes from 0 to 1, as in all other endpoints. */
const inUnit = ({ above, below }: Fraction, name: ComparedFigure): number | null =>
  toNumber({ above, below: name === 'uptime' ? 100n * below : below })

/** The last days of a comparison. */
function narrow({ days, network, validators }: Comparison, count: number): Comparison {
  if (!days) return { days, network, validators }
  const from = Math.max(days.from, days.until - count)
  const isIn = ({ day }: { readonly day: number }) => day >= from
  return {
    days: { from, until: days.until },
    network: new Map([...network].filter(([day]) => isIn({ day }))),
    validators: new Map([...validators].map(([index, own]) => [index, own.filter(isIn)])),
  }
}
