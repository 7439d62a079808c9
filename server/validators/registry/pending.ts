// Marks validators whose entity is to be determined again, because something has changed that rules select by
// (../entities/rules.ts).
import type { Network } from '#api/contract/wire/validators.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'

const hasRules = async (tx: StateReader, network: Network): Promise<boolean> =>
  (await tx.get('select 1 as found from entity_rules where network = ? limit 1', network)) !== undefined

interface Owned {
  readonly index: number
  readonly withdrawalAddress: Uint8Array | null
}

/** Registries of the chain are asked about addresses that are new (../entities/registries/registry-rows.ts). */
async function putWithdrawalAddresses(tx: StateWriter, network: Network, validators: readonly Owned[]): Promise<void> {
  const addresses = new Map(
    validators.flatMap(({ withdrawalAddress: address }) =>
      address === null ? [] : [[Buffer.from(address).toString('hex'), address]],
    ),
  )
  const rows = [...addresses.values()].map((address) => [network, address])
  await tx.insertMany('withdrawal_addresses', ['network', 'address'], rows, 'on conflict (network, address) do nothing')
}

/** Call this before these validators are written. Marks those that are new or have another withdrawal address. */
export async function markChangedValidators(
  tx: StateWriter,
  network: Network,
  validators: readonly Owned[],
): Promise<void> {
  await putWithdrawalAddresses(tx, network, validators)
  if (!(await hasRules(tx, network))) return
  const rows = await tx.all<{ validator_index: number; withdrawal_address: Uint8Array | null }>(
    `select validator_index, withdrawal_address from validators
     where network = ? and validator_index in (select value from json_each(?))`,
    network,
    JSON.stringify(validators.map(({ index }) => index)),
  )
  const textOf = (address: Uint8Array | null) => address && Buffer.from(address).toString('hex')
  const before = new Map(rows.map((row) => [row.validator_index, textOf(row.withdrawal_address)]))
  const changed = validators.filter(
    ({ index, withdrawalAddress }) => !before.has(index) || before.get(index) !== textOf(withdrawalAddress),
  )
  await tx.insertMany(
    'entity_pending',
    ['network', 'validator_index'],
    changed.map(({ index }) => [network, index]),
    'on conflict (network, validator_index) do nothing',
  )
}

/** Marks validators whose deposits have been linked. */
export async function markDepositors(tx: StateWriter, network: Network, pubkeys: readonly Uint8Array[]): Promise<void> {
  if (!(await hasRules(tx, network))) return
  await tx.run(
    `insert into entity_pending (network, validator_index) select network, validator_index from validators
     where network = ? and pubkey in (${pubkeys.map(() => '?').join()})
     on conflict (network, validator_index) do nothing`,
    ...[network, ...pubkeys],
  )
}
