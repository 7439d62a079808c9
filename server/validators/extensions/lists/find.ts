// Extension: finds validators by index, key, pool, operator or address (behaviour/validators.md#find-validators).

import { extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import type { FoundValidator } from '#api/contract/wire/validators-find.ts'
import { epochAtTime } from '#core/chain-time.ts'
import { createHandler } from '#http/handler.ts'
import { validatorStatus } from '#shared/validator-status.ts'
import type { StateReader } from '#storage/state.ts'
import type { ValidatorsContext } from '../../context.ts'
import { criteria, listIndices, type Selection } from '../../registry/list-indices.ts'
import { type NamedEntry, readEntries } from '../../registry/registry.ts'
import { getNetworkCoverage } from '../../requests/coverage.ts'
import { toPath } from '../../requests/page-links.ts'
import { chainTimeOf, invalidInput, toConfidence } from '../../requests/requested-epochs.ts'

const endpoint = extensions['validators.find']
type FindQuery = Parsed<typeof endpoint>

export const find = createHandler(endpoint, async (query, context: ValidatorsContext, request) => {
  const { ingest } = context
  const selection = selectionOf(query)
  const { covered } = await getNetworkCoverage(context, query.network)
  const confidence = toConfidence(covered)
  if (!selection) {
    return { is: 'body', body: { validators: [], pools: await poolsOf(ingest, query), next: null }, confidence }
  }
  const page = { from: (query.after ?? -1) + 1, count: query.limit + 1 }
  const found = await listIndices(ingest, query.network, selection, page)
  const shown = found.slice(0, query.limit)
  const epoch = covered.at(-1)?.until ?? epochNow(context, query)
  const entries = await readEntries(ingest, query.network, shown)
  const validators = entries.map((entry) => toFoundValidator(entry, epoch - 1))
  const links = { endpoint, input: query, query: request.query }
  const next = found.length > query.limit ? toPath(links, { limit: query.limit, after: shown.at(-1) }) : null
  return { is: 'body', body: { validators, pools: await poolsOf(ingest, query), next }, confidence }
})

function selectionOf(query: FindQuery): Selection | undefined {
  const given = criteria.filter((name) => query[name] !== undefined)
  const [by] = given
  if (given.length <= 1) return by && { by, value: query[by] as string | number }
  throw invalidInput(given.map((name) => ({ at: ['query', name], message: 'use only one filter at a time' })))
}

/** For networks without stored epochs. */
function epochNow({ settings, clock }: ValidatorsContext, { network }: FindQuery): number {
  return epochAtTime(chainTimeOf(settings, network), clock.now()) + 1
}

/** All pools, largest first, or the requested one. */
function poolsOf(state: StateReader, query: FindQuery): Promise<{ pool: string; validators: number }[]> {
  const select = 'select pool, validators from validator_pools where network = ?'
  if (!selectionOf(query))
    return state.all(`${select} order by validators desc, pool limit ?`, query.network, query.limit)
  if (query.pool === undefined) return Promise.resolve([])
  return state.all(`${select} and pool = ?`, query.network, query.pool)
}

const toFoundValidator = (entry: NamedEntry, epoch: number): FoundValidator => ({
  validatorIndex: entry.index,
  validatorPubkey: entry.pubkey,
  status: validatorStatus(entry, epoch),
  pool: entry.entity?.pool ?? null,
  subpool: entry.entity?.subpool ?? null,
  nodeOperators: [...(entry.entity?.nodeOperators ?? [])],
  withdrawalAddress: entry.withdrawalAddress,
  activationEpoch: entry.activationEpoch,
  exitEpoch: entry.exitEpoch,
})
