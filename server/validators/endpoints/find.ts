// Extension: finds validators by index, key, pool, operator or address (behaviour/validators.md#find-validators).
import { extensions } from '#api/extensions.ts'
import type { Parsed } from '#api/kit.ts'
import type { FoundValidator, ValidatorStatus } from '#api/wire/validators-find.ts'
import { createHandler } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { ValidatorsContext } from '../context.ts'
import { validatorsErrorFormat } from '../error-format.ts'
import { getNetworkCoverage } from '../ratings/coverage.ts'
import { toPath } from '../ratings/page-links.ts'
import { chainTimeOf, invalidInput, toConfidence } from '../ratings/requested-epochs.ts'
import { criteria, listIndices, type Selection } from '../registry/list-indices.ts'
import { toHex } from '../registry/registry.ts'

const endpoint = extensions['validators.find']
type FindQuery = Parsed<typeof endpoint>

export const find = createHandler(endpoint, validatorsErrorFormat, async (query, context: ValidatorsContext) => {
  const { state } = context
  const selection = selectionOf(query)
  const { covered } = await getNetworkCoverage(context, query.network)
  const confidence = toConfidence(covered, { from: 0, until: Number.POSITIVE_INFINITY })
  if (!selection) {
    return { is: 'body', body: { validators: [], pools: await poolsOf(state, query), next: null }, confidence }
  }
  const page = { from: (query.after ?? -1) + 1, count: query.limit + 1 }
  const found = await listIndices(state, query.network, selection, page)
  const shown = found.slice(0, query.limit)
  const epoch = covered.at(-1)?.until ?? epochNow(context, query)
  const validators = await readFoundValidators(state, query, shown, epoch - 1)
  const next = found.length > query.limit ? toPath(endpoint, { ...query, after: shown.at(-1) }, ['limit']) : null
  return { is: 'body', body: { validators, pools: await poolsOf(state, query), next }, confidence }
})

function selectionOf(query: FindQuery): Selection | undefined {
  const given = criteria.filter((name) => query[name] !== undefined)
  const [by] = given
  if (given.length <= 1) return by && { by, value: query[by] as string | number }
  throw invalidInput(given.map((name) => ({ at: ['query', name], message: 'use only one filter at a time' })))
}

/** For networks without stored epochs. */
function epochNow({ settings, clock }: ValidatorsContext, { network }: FindQuery): number {
  const { genesisUnix, slotSeconds, slotsPerEpoch } = chainTimeOf(settings, network)
  return Math.floor((clock.now() / 1000 - genesisUnix) / (slotSeconds * slotsPerEpoch)) + 1
}

/** All pools, largest first, or the requested one. */
function poolsOf(state: StateReader, query: FindQuery): Promise<{ pool: string; validators: number }[]> {
  const select = 'select pool, validators from validator_pools where network = ?'
  if (!selectionOf(query))
    return state.all(`${select} order by validators desc, pool limit ?`, query.network, query.limit)
  if (query.pool === undefined) return Promise.resolve([])
  return state.all(`${select} and pool = ?`, query.network, query.pool)
}

interface FoundRow {
  readonly validator_index: number
  readonly pubkey: Uint8Array
  readonly activation_epoch: number | null
  readonly exit_epoch: number | null
  readonly withdrawable_epoch: number | null
  readonly withdrawal_address: Uint8Array | null
  readonly pool: string | null
  readonly subpool: string | null
  readonly node_operators: string | null
}

/** Well below the limit of both engines on parameters. */
const indicesPerQuery = 500

async function readFoundValidators(
  state: StateReader,
  { network }: FindQuery,
  indices: readonly number[],
  epoch: number,
): Promise<FoundValidator[]> {
  const found: FoundValidator[] = []
  for (let from = 0; from < indices.length; from += indicesPerQuery) {
    const batch = indices.slice(from, from + indicesPerQuery)
    const rows = await state.all<FoundRow>(
      `select v.validator_index, v.pubkey, v.activation_epoch, v.exit_epoch, v.withdrawable_epoch, v.withdrawal_address,
         e.pool, e.subpool, e.node_operators
       from validators v left join validator_entities e on e.network = v.network and e.validator_index = v.validator_index
       where v.network = ? and v.validator_index in (${batch.map(() => '?').join()}) order by v.validator_index`,
      network,
      ...batch,
    )
    found.push(...rows.map((row) => toFoundValidator(row, epoch)))
  }
  return found
}

const toFoundValidator = (row: FoundRow, epoch: number): FoundValidator => ({
  validatorIndex: row.validator_index,
  validatorPubkey: toHex(row.pubkey),
  status: statusAt(row, epoch),
  pool: row.pool,
  subpool: row.subpool,
  nodeOperators: JSON.parse(row.node_operators ?? '[]') as string[],
  withdrawalAddress: row.withdrawal_address && toHex(row.withdrawal_address),
  activationEpoch: row.activation_epoch,
  exitEpoch: row.exit_epoch,
})

function statusAt({ activation_epoch, exit_epoch, withdrawable_epoch }: FoundRow, epoch: number): ValidatorStatus {
  if (activation_epoch === null || activation_epoch > epoch) return 'pending'
  if (exit_epoch === null) return 'active'
  if (exit_epoch > epoch) return 'exiting'
  return withdrawable_epoch !== null && withdrawable_epoch <= epoch ? 'withdrawable' : 'exited'
}
