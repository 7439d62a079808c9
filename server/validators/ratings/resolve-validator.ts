// The first step of requests about one validator (spec 4.6 and explain): its index, the requested epochs, and which of
// them are stored.
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type DayCalendar, type Epoch, type Epochs, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Confidence } from '#http/handler.ts'
import type { ValidatorsContext } from '../context.ts'
import { refuseUnlessUnknown } from '../registry/refuse-unless-unknown.ts'
import { findIndex } from '../registry/registry.ts'
import { getHourlyCoverage, getKeptEpochs, getRowCoverage } from './coverage.ts'
import { chainTimeOf, type DayBounds, requestedDays, servedEpochs, toConfidence } from './requested-epochs.ts'

export interface ValidatorQuery extends DayBounds {
  readonly network: Network
  readonly validator_index_or_pubkey: string
  readonly utc: boolean
  readonly granularity?: string | null | undefined
}

export interface ResolvedValidator {
  readonly index: number
  readonly time: ChainTime
  readonly calendar: DayCalendar
  readonly requested: Range
  readonly covered: readonly Range[]
  /** The covered epochs in which this validator was stored. */
  readonly kept: readonly Range[]
  /** The requested epochs that can have rows, and their days; undefined: none. */
  readonly served: { readonly epochs: Epochs; readonly days: Range } | undefined
}

/** The result has no index if the validator does not exist. */
export async function resolveValidator(
  query: ValidatorQuery,
  context: ValidatorsContext,
): Promise<ResolvedValidator | { index?: never; confidence: Confidence }> {
  const { state, settings } = context
  const { network } = query
  const time = chainTimeOf(settings, network)
  const calendar: DayCalendar = query.utc ? utcDays(time) : chainDays(time)
  const requested = requestedDays(query, calendar)
  const [index, coverage] = await Promise.all([
    findIndex(state, network, query.validator_index_or_pubkey),
    query.granularity === 'hour'
      ? getHourlyCoverage(context, network, time, [requested])
      : getRowCoverage(context, network, time),
  ])
  const { covered } = coverage
  if (index === undefined) {
    await refuseUnlessUnknown(context, network, query.validator_index_or_pubkey)
    return { confidence: toConfidence(covered, requested) }
  }
  const kept = await getKeptEpochs(context, network, coverage, [index])
  const epochs = servedEpochs(covered, requested)
  const served = epochs && { epochs, days: daysOf(calendar, epochs) }
  return { index, time, calendar: calendar, requested, covered, kept, served }
}

const daysOf = (calendar: DayCalendar, { from, until }: Epochs): Range => ({
  from: calendar.dayOf(from),
  until: calendar.dayOf((until - 1) as Epoch) + 1,
})
