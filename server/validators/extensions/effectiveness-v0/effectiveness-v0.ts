// Extension: the records of 4.5 for one validator (behaviour/validators.md#version-0-of-ratings).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { ValidatorsContext } from '../../context.ts'
import { readAggregate } from '../../endpoints/aggregate-effectiveness.ts'
import { findIndex } from '../../registry/registry.ts'
import { getNetworkCoverage, withStableCoverage } from '../../requests/coverage.ts'
import { type PageParameters, toPath } from '../../requests/page-links.ts'
import { refuseUnlessUnknown } from '../../requests/refuse-unless-unknown.ts'
import { toConfidence } from '../../requests/requested-epochs.ts'

const endpoint = extensions['validators.effectivenessV0']

export const effectivenessV0 = createHandler(endpoint, async (query, context: ValidatorsContext, request) => {
  const { network, validator_index_or_pubkey: name } = query
  const index = await findIndex(context.ingest, network, name)
  if (index === undefined) {
    await refuseUnlessUnknown(context, network, name)
    const { covered } = await getNetworkCoverage(context, network)
    return { is: 'nothing', confidence: toConfidence(covered) }
  }
  const linkTo = (page: PageParameters) => toPath({ endpoint, input: query, query: request.query }, page)
  return withStableCoverage(context, network, () =>
    readAggregate({ ...query, indices: [index], groupBy: 'validator' }, context, { signal: request.signal, linkTo }),
  )
})
