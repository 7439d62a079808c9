// Extensions: the figures of a whole network over the last days (behaviour/validators.md#operators).
import { extensions } from '#api/contract/extensions.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import type { NetworkOverview } from '#api/contract/wire/validators-network.ts'
import { periodOfWindow, type TimeWindow, timeWindows } from '#api/contract/wire/validators-operators.ts'
import { type ChainDay, chainDays } from '#core/chain-time.ts'
import { createHandler } from '#http/handler.ts'
import { percentiles } from '../../duties/daily-summaries.ts'
import { chainTimeOf } from '../../requests/requested-epochs.ts'
import type { OperatorsContext } from '../operators/context.ts'
import { getEntityRatings, type ResponseHeaders } from '../operators/entity-ratings.ts'

export const networkStats = createHandler(
  extensions['validators.networkStats'],
  async ({ network }, context: OperatorsContext) => {
    const { overviews, ...headers } = await readOverviews(context, network, ['1d'])
    const body = overviews.map(
      ({ endDay, avgValidatorEffectiveness, avgCorrectness, avgInclusionDelay, avgUptime }) => ({
        day: endDay,
        avgValidatorEffectiveness,
        avgCorrectness,
        avgInclusionDelay,
        avgUptime,
      }),
    )
    return { is: 'body', body, ...headers }
  },
)

export const networkOverview = createHandler(
  extensions['validators.networkOverview'],
  async ({ network }, context: OperatorsContext) => {
    const { overviews, ...headers } = await readOverviews(context, network, timeWindows)
    return { is: 'body', body: overviews, ...headers }
  },
)

/** Empty if no day has a summary yet. `windows`: the widest is the last one. */
async function readOverviews(context: OperatorsContext, network: Network, windows: readonly TimeWindow[]) {
  const calendar = chainDays(chainTimeOf(context.settings, network))
  const overviews: NetworkOverview[] = []
  let headers: ResponseHeaders | undefined
  for (const timeWindow of windows) {
    const { ratings, ...rest } = await getEntityRatings(context, network, 'pool', periodOfWindow[timeWindow])
    const { days, network: whole } = ratings
    headers = rest
    if (!days) continue
    const { proposerDutiesCount: slots, proposedCount: blocks } = whole
    const missed = slots === null || blocks === null ? null : slots - blocks
    overviews.push({
      timeWindow,
      startDay: days.from,
      endDay: days.until - 1,
      latestEpoch: calendar.epochsOf((days.until - 1) as ChainDay).until - 1,
      validatorCount: whole.validators,
      avgValidatorEffectiveness: whole.validatorEffectiveness,
      avgCorrectness: whole.avgCorrectness,
      avgInclusionDelay: whole.avgInclusionDelay,
      avgUptime: whole.uptime,
      medianValidatorEffectiveness: meanMedian(whole.distribution),
      sumMissedSlots: missed,
      missedSlotsPercentage: missed === null || !slots ? null : (100 * missed) / slots,
    })
  }
  return { overviews, ...headers }
}

const medianAt = percentiles.indexOf(50)

/** The mean of the days' medians. */
function meanMedian(distribution: readonly (readonly number[] | null)[]): number | null {
  const medians = distribution.flatMap((scores) => scores?.[medianAt] ?? [])
  return medians.length === 0 ? null : medians.reduce((sum, median) => sum + median, 0) / medians.length
}
