// The first step of requests about one validator (spec 4.6 and explain): its index, the requested epochs, and which of
// them are stored.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type DayCalendar, type Epoch, type Epochs, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Confidence } from '#http/handler.ts'
import type { ValidatorsContext } from '../context.ts'
import type { ProvisionalEpoch } from '../ingest/provisional/head-processor.ts'
import { findIndex } from '../registry/registry.ts'
import { getHourlyCoverage, getKeptEpochs, getRowCoverage, type NetworkCoverage } from './coverage.ts'
import { provisionalEpochsOf, provisionalRows, withProvisional } from './provisional-epochs.ts'
import type { RecordRequest } from './records.ts'
import { refuseUnlessUnknown } from './refuse-unless-unknown.ts'
import { chainTimeOf, type DayBounds, requestedDays, servedEpochs, toConfidence } from './requested-epochs.ts'
import type { Windows } from './windows.ts'

export interface ValidatorQuery extends DayBounds {
  readonly network: Network
  readonly validator_index_or_pubkey: string
  readonly utc: boolean
  readonly granularity?: string | null | undefined
}

export interface ResolvedValidator extends Pick<NetworkCoverage, 'figures'> {
  readonly index: number
  readonly time: ChainTime
  readonly calendar: DayCalendar
  readonly requested: Range
  /** Stored epochs and `provisional`. */
  readonly covered: readonly Range[]
  /** The covered epochs in which this validator has figures. */
  readonly kept: readonly Range[]
  /** Requested epochs that are not final, in order. */
  readonly provisional: readonly ProvisionalEpoch[]
  /** The requested epochs that can have rows, and their days; undefined: none. */
  readonly served: { readonly epochs: Epochs; readonly days: Range } | undefined
}

/** The result has no index if the validator does not exist. */
export async function resolveValidator(
  query: ValidatorQuery,
  context: ValidatorsContext,
): Promise<ResolvedValidator | { index?: never; confidence: Confidence }> {
  const { ingest, settings } = context
  const { network } = query
  const time = chainTimeOf(settings, network)
  const calendar: DayCalendar = query.utc ? utcDays(time) : chainDays(time)
  const requested = requestedDays(query, calendar)
  const [index, coverage] = await Promise.all([
    findIndex(ingest, network, query.validator_index_or_pubkey),
    query.granularity === 'hour'
      ? getHourlyCoverage(context, network, time, [requested])
      : getRowCoverage(context, network, time),
  ])
  if (index === undefined) {
    await refuseUnlessUnknown(context, network, query.validator_index_or_pubkey)
    return { confidence: toConfidence(coverage.covered, requested) }
  }
  const provisional = await provisionalEpochsOf(context, network, index, requested)
  const covered = withProvisional(coverage.covered, provisional)
  const kept = withProvisional(await getKeptEpochs(context, network, coverage, [index]), provisional)
  const epochs = servedEpochs(covered, requested)
  const served = epochs && { epochs, days: daysOf(calendar, epochs) }
  return { index, time, calendar, requested, covered, kept, provisional, served, figures: coverage.figures }
}

/** The records of the validator. `windows`: undefined for one record per hour. */
export const toRecordRequest = (
  { network, utc }: ValidatorQuery,
  { index, time, provisional, figures }: ResolvedValidator,
  days: Range,
  windows: Windows | undefined,
  signal: AbortSignal | undefined,
): RecordRequest => ({
  network,
  time,
  days,
  windows,
  figures,
  signal,
  validators: [index],
  isUtc: utc,
  byValidator: false,
  provisional: provisionalRows(provisional, index),
})

const daysOf = (calendar: DayCalendar, { from, until }: Epochs): Range => ({
  from: calendar.dayOf(from),
  until: calendar.dayOf((until - 1) as Epoch) + 1,
})
