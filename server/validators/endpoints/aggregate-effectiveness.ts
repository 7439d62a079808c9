// Spec 4.5: ratings of many validators by window of time, newest window first. There is one record per window and
// validator, or one per window (`groupBy`). Every page but the last has a link to the next one.
import { contract } from '#api/contract/contract.ts'
import type { Reply } from '#api/contract/kit.ts'
import { createHandler, type HandlerResult } from '#http/handler.ts'
import type { ValidatorsContext } from '../context.ts'
import { methodHeaders } from '../method/method.ts'
import { indicesOf } from '../registry/registry.ts'
import { readWatchNames } from '../registry/watch-names.ts'
import {
  type AggregateQuery,
  type AggregateRequest,
  emptyPage,
  partialDays,
  planAggregate,
  readAggregatePage,
} from '../requests/aggregate-page.ts'
import { getHourlyCoverage, getKeptEpochs, getRowCoverage, withStableCoverage } from '../requests/coverage.ts'
import { toPath } from '../requests/page-links.ts'
import { refuseUnread } from '../requests/refuse-unless-unknown.ts'
import { chainTimeOf, invalidInput, requestedEpochs, servedEpochs, toConfidence } from '../requests/requested-epochs.ts'

const endpoint = contract['validators.aggregateEffectiveness']

export const aggregateEffectiveness = createHandler(endpoint, (input, context: ValidatorsContext, { signal, query }) =>
  withStableCoverage(context, input.network, () =>
    readAggregate(input, context, { signal, linkTo: (page) => toPath({ endpoint, input, query }, page) }),
  ),
)

export async function readAggregate(
  query: AggregateQuery,
  context: ValidatorsContext,
  { signal, linkTo }: Pick<AggregateRequest, 'signal' | 'linkTo'>,
): Promise<HandlerResult<Reply<typeof endpoint>>> {
  const { duties, settings } = context
  const granularity = query.granularity ?? 'day'
  const time = chainTimeOf(settings, query.network)
  requireOneList(query)
  const requested = requestedEpochs(time, { ...query, granularity })
  const [{ validators, mayMissUnkept }, coverage] = await Promise.all([
    resolveValidators(context, query),
    query.filterType === 'hour'
      ? getHourlyCoverage(context, query.network, time, partialDays(time, requested))
      : getRowCoverage(context, query.network, time),
  ])
  if (coverage.covered.length === 0) refuseUnread(context, query.network)
  const served = servedEpochs(coverage.covered, requested)
  const page =
    served && validators.length > 0
      ? await readAggregatePage(
          duties,
          planAggregate({
            query,
            linkTo,
            time,
            requested,
            served,
            covered: coverage.covered,
            figures: coverage.figures,
            validators,
            signal,
          }),
        )
      : emptyPage
  const mayMissValidators = coverage.isWatched && mayMissUnkept
  const kept = mayMissValidators ? [] : await getKeptEpochs(context, query.network, coverage, validators)
  return {
    is: 'body',
    body: { ...page, page: { filterType: query.filterType, granularity, size: query.size } },
    headers: methodHeaders,
    confidence: toConfidence(coverage.covered, requested, kept),
  }
}

function requireOneList({ pubkeys, indices }: AggregateQuery): void {
  if ((pubkeys === undefined) !== (indices === undefined)) return
  const message = pubkeys
    ? 'send either pubkeys or indices, not both'
    : 'name 1 to 10000 validators by pubkeys or indices'
  throw invalidInput(['pubkeys', 'indices'].map((name) => ({ at: ['query', name], message })))
}

interface NamedValidators {
  readonly validators: readonly number[]
  /**
   * A requested key is not in the registry. With a watch list, the key may belong to a validator that is not stored. A
   * key on the list would be in the registry if it belonged to a validator (behaviour/validators.md#watch-lists).
   */
  readonly mayMissUnkept: boolean
}

/**
 * Distinct. Unknown keys are ignored, because they have no duties
 * (behaviour/validators.md#time-bounds-of-the-aggregate).
 */
async function resolveValidators(
  context: Pick<ValidatorsContext, 'ingest' | 'settings' | 'validators'>,
  { network, pubkeys, indices }: AggregateQuery,
): Promise<NamedValidators> {
  const { ingest } = context
  if (!pubkeys) return { validators: [...new Set(indices)], mayMissUnkept: false }
  const known = await indicesOf(ingest, network, pubkeys)
  const keys = new Set(pubkeys.map((key) => key.replace(/^0x/i, '').toLowerCase()))
  if (known.length === keys.size) return { validators: known, mayMissUnkept: false }
  const { names } = await readWatchNames(context, network)
  const unlisted = [...keys.difference(new Set(names.map((name) => name.slice(2).toLowerCase())))]
  return { validators: known, mayMissUnkept: (await indicesOf(ingest, network, unlisted)).length < unlisted.length }
}
