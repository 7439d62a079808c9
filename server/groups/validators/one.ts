// Where the questions about one validator (4.6, and the explanation of it) begin: who it is, which epochs are meant, and what has
// been read of them.
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type DayLine, type Epoch, type Epochs, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Confidence } from '#serve/answer.ts'
import type { ValidatorsContext } from './context.ts'
import { refuseUnlessNobody } from './nobody.ts'
import { findIndex } from './registry.ts'
import { askedDays, chainTimeOf, confidenceOf, type DayBounds, servedEpochs } from './span.ts'
import { hourlyStandingOf, keptOf, rowStandingOf } from './standing.ts'

export interface OneQuery extends DayBounds {
  readonly network: Network
  readonly validator_index_or_pubkey: string
  readonly utc: boolean
  readonly granularity?: string | null | undefined
}

export interface One {
  readonly index: number
  readonly time: ChainTime
  readonly line: DayLine
  readonly asked: Range
  readonly covered: readonly Range[]
  /** Of these, the epochs in which this validator was kept. */
  readonly kept: readonly Range[]
  /** The asked epochs that can have rows, and their days; undefined when there are none. */
  readonly served: { readonly epochs: Epochs; readonly days: Range } | undefined
}

/** A confidence alone: there is no such validator. */
export async function readOne(
  query: OneQuery,
  context: ValidatorsContext,
): Promise<One | { index?: never; confidence: Confidence }> {
  const { state, settings } = context
  const { network } = query
  const time = chainTimeOf(settings, network)
  const line: DayLine = query.utc ? utcDays(time) : chainDays(time)
  const asked = askedDays(query, line)
  const [index, standing] = await Promise.all([
    findIndex(state, network, query.validator_index_or_pubkey),
    query.granularity === 'hour'
      ? hourlyStandingOf(context, network, time, [asked])
      : rowStandingOf(context, network, time),
  ])
  const { covered } = standing
  if (index === undefined) {
    await refuseUnlessNobody(context, network, query.validator_index_or_pubkey)
    return { confidence: confidenceOf(covered, asked) }
  }
  const kept = await keptOf(context, network, standing, [index])
  const epochs = servedEpochs(covered, asked)
  const served = epochs && { epochs, days: daysOf(line, epochs) }
  return { index, time, line, asked, covered, kept, served }
}

const daysOf = (line: DayLine, { from, until }: Epochs): Range => ({
  from: line.dayOf(from),
  until: line.dayOf((until - 1) as Epoch) + 1,
})
