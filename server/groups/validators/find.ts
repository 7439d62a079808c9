// Beyond the specification: which validators there are, by what is known about them (decision 0123). Every question is a range
// of an index, read as far as the page goes; nothing here grows with the network.
import { extensions } from '#api/extensions.ts'
import type { Parsed } from '#api/kit.ts'
import type { FoundValidator, ValidatorStatus } from '#api/wire/validators-find.ts'
import { answer } from '#serve/answer.ts'
import type { StateReader, Value } from '#store/state.ts'
import type { ValidatorsContext } from './context.ts'
import { pathTo } from './links.ts'
import { toBytes, toHex } from './registry.ts'
import { shape } from './shape.ts'
import { chainTimeOf, confidenceOf, refuse } from './span.ts'
import { standingOf } from './standing.ts'

const endpoint = extensions['validators.find']
type Query = Parsed<typeof endpoint>

export const find = answer(endpoint, shape, async (query, context: ValidatorsContext) => {
  const { state } = context
  const by = criterionOf(query)
  const { covered } = await standingOf(context, query.network)
  const confidence = confidenceOf(covered, { from: 0, until: Number.POSITIVE_INFINITY })
  if (!by) {
    return { is: 'body', body: { validators: [], pools: await poolsOf(state, query), next: null }, confidence }
  }
  const found = await indicesBy(state, query, by)
  const shown = found.slice(0, query.limit)
  const epoch = covered.at(-1)?.until ?? epochNow(context, query)
  const validators = await readAll(state, query, shown, epoch - 1)
  const next = found.length > query.limit ? pathTo(endpoint, { ...query, after: shown.at(-1) }, ['limit']) : null
  return { is: 'body', body: { validators, pools: await poolsOf(state, query), next }, confidence }
})

const criteria = ['index', 'pubkey', 'pool', 'nodeOperator', 'depositAddress', 'withdrawalAddress'] as const
type Criterion = (typeof criteria)[number]

function criterionOf(query: Query): Criterion | undefined {
  const given = criteria.filter((name) => query[name] !== undefined)
  if (given.length <= 1) return given[0]
  throw refuse(given.map((name) => ({ at: ['query', name], says: 'ask by one thing at a time' })))
}

/** Where nothing has been read yet, the chain's own clock says how far it is. */
function epochNow({ settings, clock }: ValidatorsContext, { network }: Query): number {
  const { genesisUnix, slotSeconds, slotsPerEpoch } = chainTimeOf(settings, network)
  return Math.floor((clock.now() / 1000 - genesisUnix) / (slotSeconds * slotsPerEpoch)) + 1
}

/** One more than the page holds, in rising order. */
async function indicesBy(state: StateReader, query: Query, by: Criterion): Promise<number[]> {
  const { where, values } = placesOf(query)[by]()
  // The plus keeps a range of keys from being read in the order of indices, all of them.
  const place = by === 'pubkey' ? '+validator_index' : 'validator_index'
  const rows = await state.all<{ validator_index: number }>(
    `select validator_index from ${where} and ${place} > ? order by ${place} limit ?`,
    ...values,
    query.after ?? -1,
    query.limit + 1,
  )
  return rows.map((row) => row.validator_index)
}

interface Place {
  readonly where: string
  readonly values: Value[]
}

const placesOf = (query: Query): Record<Criterion, () => Place> => {
  const at = (where: string, ...values: (Value | undefined)[]): Place => ({
    where,
    values: [query.network, ...(values as Value[])],
  })
  return {
    index: () => at('validators where network = ? and validator_index = ?', query.index),
    pubkey: () => {
      const digits = (query.pubkey ?? '').replace(/^0x/i, '')
      const [low, high] = [digits.padEnd(96, '0'), digits.padEnd(96, 'f')].map(toBytes)
      return at('validators where network = ? and pubkey >= ? and pubkey <= ?', low, high)
    },
    pool: () => at('validator_entities where network = ? and pool = ?', query.pool),
    nodeOperator: () => at('validator_operators where network = ? and operator = ?', query.nodeOperator),
    depositAddress: () =>
      at('validator_deposits where network = ? and address = ?', toBytes(query.depositAddress ?? '')),
    withdrawalAddress: () =>
      at('validators where network = ? and withdrawal_address = ?', toBytes(query.withdrawalAddress ?? '')),
  }
}

/** All of them, largest first, or the one that was asked for. */
function poolsOf(state: StateReader, query: Query): Promise<{ pool: string; validators: number }[]> {
  const by = criterionOf(query)
  const select = 'select pool, validators from validator_pools where network = ?'
  if (!by) return state.all(`${select} order by validators desc, pool limit ?`, query.network, query.limit)
  if (query.pool === undefined) return Promise.resolve([])
  return state.all(`${select} and pool = ?`, query.network, query.pool)
}

interface Row {
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

/** Below every engine's limit on parameters. */
const indicesPerQuery = 500

async function readAll(
  state: StateReader,
  { network }: Query,
  indices: readonly number[],
  epoch: number,
): Promise<FoundValidator[]> {
  const found: FoundValidator[] = []
  for (let from = 0; from < indices.length; from += indicesPerQuery) {
    const part = indices.slice(from, from + indicesPerQuery)
    const rows = await state.all<Row>(
      `select v.validator_index, v.pubkey, v.activation_epoch, v.exit_epoch, v.withdrawable_epoch, v.withdrawal_address,
         e.pool, e.subpool, e.node_operators
       from validators v left join validator_entities e on e.network = v.network and e.validator_index = v.validator_index
       where v.network = ? and v.validator_index in (${part.map(() => '?').join()}) order by v.validator_index`,
      network,
      ...part,
    )
    found.push(...rows.map((row) => toFound(row, epoch)))
  }
  return found
}

const toFound = (row: Row, epoch: number): FoundValidator => ({
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

function statusAt({ activation_epoch, exit_epoch, withdrawable_epoch }: Row, epoch: number): ValidatorStatus {
  if (activation_epoch === null || activation_epoch > epoch) return 'pending'
  if (exit_epoch === null) return 'active'
  if (exit_epoch > epoch) return 'exiting'
  return withdrawable_epoch !== null && withdrawable_epoch <= epoch ? 'withdrawable' : 'exited'
}
