// The registry of validators in the state database: the chain's data about each, its deposit addresses, and its entity.
// Keys and addresses are stored as bytes and returned as lower-case 0x text.
import type { Network } from '#api/contract/wire/validators.ts'
import { replaceOnConflict } from '#storage/put-row.ts'
import { selectIn } from '#storage/select-in.ts'
import type { State, StateReader } from '#storage/state.ts'
import { linkDepositsOf } from './link-deposits.ts'
import { markChangedValidators } from './pending.ts'

export interface ValidatorEntry {
  readonly index: number
  /** 0x and 96 hexadecimal digits. */
  readonly pubkey: string
  readonly activationEligibilityEpoch: number | null
  readonly activationEpoch: number | null
  readonly exitEpoch: number | null
  readonly withdrawableEpoch: number | null
  readonly withdrawalAddress: string | null
}

/** The present entity of a validator. */
export interface EntityEntry {
  readonly pool: string | null
  readonly subpool: string | null
  readonly dvtNetwork: string | null
  readonly nodeOperators: readonly string[]
  readonly dvtOperators: readonly string[]
}

export const toBytes = (hex: string): Uint8Array => Buffer.from(hex.replace(/^0x/i, ''), 'hex')
export const toHex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`

/** Inserts or updates validators, which must be distinct, and links their deposits. */
export async function putValidators(state: State, network: Network, entries: readonly ValidatorEntry[]): Promise<void> {
  const rows = entries.map((entry) => [
    network,
    entry.index,
    toBytes(entry.pubkey),
    entry.activationEligibilityEpoch,
    entry.activationEpoch,
    entry.exitEpoch,
    entry.withdrawableEpoch,
    entry.withdrawalAddress === null ? null : toBytes(entry.withdrawalAddress),
  ])
  const columns = [
    ...['network', 'validator_index', 'pubkey', 'activation_eligibility_epoch', 'activation_epoch', 'exit_epoch'],
    ...['withdrawable_epoch', 'withdrawal_address'],
  ]
  const onConflict = replaceOnConflict(['network', 'validator_index'], columns)
  const owners = entries.map(({ index, withdrawalAddress }) => ({
    index,
    withdrawalAddress: withdrawalAddress === null ? null : toBytes(withdrawalAddress),
  }))
  await state.write(
    async (tx) => {
      await markChangedValidators(tx, network, owners)
      await tx.insertMany('validators', columns, rows, onConflict)
      await linkDepositsOf(
        tx,
        network,
        entries.map(({ pubkey }) => toBytes(pubkey)),
      )
    },
    { lock: 'registry' },
  )
}

/** The index of a known validator, by index or public key. */
export async function findIndex(
  state: StateReader,
  network: Network,
  indexOrPubkey: string,
): Promise<number | undefined> {
  const [column, value] = /^\d{1,12}$/.test(indexOrPubkey)
    ? (['validator_index', Number(indexOrPubkey)] as const)
    : (['pubkey', toBytes(indexOrPubkey)] as const)
  const sql = `select validator_index from validators where network = ? and ${column} = ?`
  return (await state.get<{ validator_index: number }>(sql, network, value))?.validator_index
}

/** The distinct indices of the keys that are known. */
export async function indicesOf(state: StateReader, network: Network, pubkeys: readonly string[]): Promise<number[]> {
  const sql = 'select validator_index from validators where network = ? and pubkey in'
  const rows = await selectIn<{ validator_index: number }>(state, sql, [network], pubkeys.map(toBytes))
  return [...new Set(rows.map((row) => row.validator_index))]
}

/** An entry of the registry with its entity; undefined: it has none. */
export interface NamedEntry extends ValidatorEntry {
  readonly entity: EntityEntry | undefined
}

export interface RegistryEntry extends NamedEntry {
  readonly depositAddresses: readonly string[]
}

type EntryRow = Omit<ValidatorEntry, 'pubkey' | 'withdrawalAddress'> & {
  readonly pubkey: Uint8Array
  readonly withdrawalAddress: Uint8Array | null
}

/** Those of these validators that are known, by index. */
export async function readEntries(
  state: StateReader,
  network: Network,
  indices: readonly number[],
): Promise<NamedEntry[]> {
  const rows = await state.all<EntryRow>(
    `select validator_index as "index", pubkey, activation_eligibility_epoch as "activationEligibilityEpoch",
       activation_epoch as "activationEpoch", exit_epoch as "exitEpoch", withdrawable_epoch as "withdrawableEpoch",
       withdrawal_address as "withdrawalAddress"
     from validators where network = ? and validator_index in (select value from json_each(?)) order by validator_index`,
    network,
    JSON.stringify(indices),
  )
  const entities = await readEntities(state, network, indices)
  return rows.map((row) => ({
    ...row,
    pubkey: toHex(row.pubkey),
    withdrawalAddress: row.withdrawalAddress && toHex(row.withdrawalAddress),
    entity: entities.get(row.index),
  }))
}

const noEntity: EntityEntry = { pool: null, subpool: null, dvtNetwork: null, nodeOperators: [], dvtOperators: [] }

/** The present entities of those of these validators that have one (../entities/memberships.ts). */
export async function readEntities(
  state: StateReader,
  network: Network,
  indices: readonly number[],
): Promise<Map<number, EntityEntry>> {
  const rows = await state.all<{
    readonly validator_index: number
    readonly field: 'pool' | 'operators' | 'dvt'
    readonly name: string | null
    readonly subpool: string | null
    readonly operators: string
  }>(
    `select validator_index, field, name, subpool, operators from validator_entities
     where network = ? and validator_index in (select value from json_each(?)) and until_day is null`,
    network,
    JSON.stringify(indices),
  )
  const entities = new Map<number, EntityEntry>()
  for (const { validator_index, field, name, subpool, operators } of rows) {
    const entity = entities.get(validator_index) ?? noEntity
    const value =
      field === 'pool'
        ? { pool: name, subpool }
        : field === 'operators'
          ? { nodeOperators: JSON.parse(operators) }
          : { dvtNetwork: name, dvtOperators: JSON.parse(operators) }
    entities.set(validator_index, { ...entity, ...value })
  }
  return entities
}

/** Everything that is known about one validator. */
export const readValidator = async (
  state: StateReader,
  network: Network,
  index: number,
): Promise<RegistryEntry | undefined> => (await readValidators(state, network, [index]))[0]

/** Everything that is known about these validators, by index. */
export async function readValidators(
  state: StateReader,
  network: Network,
  indices: readonly number[],
): Promise<RegistryEntry[]> {
  const entries = await readEntries(state, network, indices)
  const deposits = await state.all<{ validator_index: number; address: Uint8Array }>(
    `select validator_index, address from validator_deposits
     where network = ? and validator_index in (select value from json_each(?)) order by deposit_index, address`,
    network,
    JSON.stringify(indices),
  )
  const depositsOf = Map.groupBy(deposits, (deposit) => deposit.validator_index)
  return entries.map((entry) => ({
    ...entry,
    depositAddresses: (depositsOf.get(entry.index) ?? []).map(({ address }) => toHex(address)),
  }))
}
