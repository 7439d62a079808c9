// Extension: finds validators by index, key, pool, operator or address (behaviour/validators.md#find-validators). Each
// query reads one page of a database index, so its cost does not grow with the network.
import { extensions } from '#api/extensions.ts'
import type { Parsed } from '#api/kit.ts'
import type { FoundValidator, ValidatorStatus } from '#api/wire/validators-find.ts'
import { createHandler } from '#http/handler.ts'
import type { StateReader, Value } from '#storage/state.ts'
import type { ValidatorsContext } from '../context.ts'
import { validatorsErrorFormat } from '../error-format.ts'
import { getNetworkCoverage } from '../ratings/coverage.ts'
import { toPath } from '../ratings/page-links.ts'
import { chainTimeOf, invalidInput, toConfidence } from '../ratings/requested-epochs.ts'
import { toBytes, toHex } from '../registry/registry.ts'

const endpoint = extensions['validators.find']
type FindQuery = Parsed<typeof endpoint>

export const find = createHandler(endpoint, validatorsErrorFormat, async (query, context: ValidatorsContext) => {
  const { state } = context
  const by = criterionOf(query)
  const { covered } = await getNetworkCoverage(context, query.network)
  const confidence = toConfidence(covered, { from: 0, until: Number.POSITIVE_INFINITY })
  if (!by) {
    return { is: 'body', body: { validators: [], pools: await poolsOf(state, query), next: null }, confidence }
  }
  const found = await indicesBy(state, query, by)
  const shown = found.slice(0, query.limit)
  const epoch = covered.at(-1)?.until ?? epochNow(context, query)
  const validators = await readFoundValidators(state, query, shown, epoch - 1)
  const next = found.length > query.limit ? toPath(endpoint, { ...query, after: shown.at(-1) }, ['limit']) : null
  return { is: 'body', body: { validators, pools: await poolsOf(state, query), next }, confidence }
})

const criteria = ['index', 'pubkey', 'pool', 'nodeOperator', 'depositAddress', 'withdrawalAddress'] as const
type Criterion = (typeof criteria)[number]

function criterionOf(query: FindQuery): Criterion | undefined {
  const given = criteria.filter((name) => query[name] !== undefined)
  if (given.length <= 1) return given[0]
  throw invalidInput(given.map((name) => ({ at: ['query', name], message: 'use only one filter at a time' })))
}

/** For networks without stored epochs. */
function epochNow({ settings, clock }: ValidatorsContext, { network }: FindQuery): number {
  const { genesisUnix, slotSeconds, slotsPerEpoch } = chainTimeOf(settings, network)
  return Math.floor((clock.now() / 1000 - genesisUnix) / (slotSeconds * slotsPerEpoch)) + 1
}

/** In ascending order, one more than the page has. */
async function indicesBy(state: StateReader, query: FindQuery, by: Criterion): Promise<number[]> {
  const { where, values } = selections(query)[by]()
  // With the plus, SQLite uses the index on keys instead of scanning all validators in order.
  const column = by === 'pubkey' ? '+validator_index' : 'validator_index'
  const rows = await state.all<{ validator_index: number }>(
    `select validator_index from ${where} and ${column} > ? order by ${column} limit ?`,
    ...values,
    query.after ?? -1,
    query.limit + 1,
  )
  return rows.map((row) => row.validator_index)
}

interface Selection {
  readonly where: string
  readonly values: Value[]
}

const selections = (query: FindQuery): Record<Criterion, () => Selection> => {
  const select = (where: string, ...values: (Value | undefined)[]): Selection => ({
    where,
    values: [query.network, ...(values as Value[])],
  })
  return {
    index: () => select('validators where network = ? and validator_index = ?', query.index),
    pubkey: () => {
      const digits = (query.pubkey ?? '').replace(/^0x/i, '')
      const [low, high] = [digits.padEnd(96, '0'), digits.padEnd(96, 'f')].map(toBytes)
      return select('validators where network = ? and pubkey >= ? and pubkey <= ?', low, high)
    },
    pool: () => select('validator_entities where network = ? and pool = ?', query.pool),
    nodeOperator: () => select('validator_operators where network = ? and operator = ?', query.nodeOperator),
    depositAddress: () =>
      select('validator_deposits where network = ? and address = ?', toBytes(query.depositAddress ?? '')),
    withdrawalAddress: () =>
      select('validators where network = ? and withdrawal_address = ?', toBytes(query.withdrawalAddress ?? '')),
  }
}

/** All pools, largest first, or the requested one. */
function poolsOf(state: StateReader, query: FindQuery): Promise<{ pool: string; validators: number }[]> {
  const by = criterionOf(query)
  const select = 'select pool, validators from validator_pools where network = ?'
  if (!by) return state.all(`${select} order by validators desc, pool limit ?`, query.network, query.limit)
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
