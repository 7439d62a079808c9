// Extensions: ratings of pools and node operators over the last days (behaviour/validators.md#operators). They read the
// same cached ratings as validators.entities.
import { extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { kindOfIdType, type OperatorSummary, periodOfWindow } from '#api/contract/wire/validators-operators.ts'
import { createHandler } from '#http/handler.ts'
import { toPath } from '../../requests/page-links.ts'
import type { OperatorsContext } from './context.ts'
import { getEntityRatings } from './entity-ratings.ts'
import { findOperator } from './find-operator.ts'

const operatorsEndpoint = extensions['validators.operators']

export const operators = createHandler(operatorsEndpoint, async (input, context: OperatorsContext, { query }) => {
  const { from, size, window } = input
  const { summaries, ...rest } = await readSummaries(context, input)
  const sorted = summaries.toSorted((a, b) => (b.validatorCount ?? -1) - (a.validatorCount ?? -1))
  return {
    is: 'body',
    body: {
      page: { from, size },
      total: sorted.length,
      data: sorted.slice(from, from + size),
      next:
        from + size < sorted.length
          ? toPath({ endpoint: operatorsEndpoint, input, query }, { window, from: from + size, size })
          : null,
    },
    ...rest,
  }
})

export const operatorSummary = createHandler(
  extensions['validators.operatorSummary'],
  async ({ network, operator_id, idType: given, window }, context: OperatorsContext) => {
    const idType = await findOperator(context.ingest, network, operator_id, given && [given])
    if (!idType) return { is: 'nothing' }
    const { summaries, ...rest } = await readSummaries(context, { network, idType, window })
    const body = summaries.find(({ id }) => id === operator_id)
    return body ? { is: 'body', body, ...rest } : { is: 'nothing', confidence: rest.confidence }
  },
)

/** Of all pools or operators, by name. */
async function readSummaries(
  context: OperatorsContext,
  { network, idType, window }: Pick<Parsed<typeof operatorsEndpoint>, 'network' | 'idType' | 'window'>,
) {
  const { ratings, ...headers } = await getEntityRatings(context, network, kindOfIdType[idType], periodOfWindow[window])
  const networkCount = ratings.network.validators
  const summaries = ratings.entities.map(
    ({ name, validators, ...figures }): OperatorSummary => ({
      id: name,
      idType,
      displayName: name,
      timeWindow: window,
      validatorCount: validators,
      networkPenetration: validators === null || !networkCount ? null : validators / networkCount,
      avgValidatorEffectiveness: figures.validatorEffectiveness,
      avgCorrectness: figures.avgCorrectness,
      avgInclusionDelay: figures.avgInclusionDelay,
      avgUptime: figures.uptime,
      clientPercentages: [],
      relayerPercentages: [],
      operatorTags: [],
    }),
  )
  return { summaries, ...headers }
}
