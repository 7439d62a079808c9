// Links the deposit addresses that have been read (deposit_senders, by public key) to the validators of the registry
// (validator_deposits). A deposit is usually read before its validator is registered, so both sides call this in their
// transaction: the reader of deposits with new keys, and the registry with new validators.
import type { Network } from '#api/contract/wire/validators.ts'
import type { StateWriter } from '#storage/state.ts'
import { markDepositors } from './pending.ts'

/** Well below the parameter limit of both engines. */
const keysPerStatement = 1000

/** Links deposits of these public keys to validators that are registered. */
export async function linkDepositsOf(tx: StateWriter, network: Network, pubkeys: readonly Uint8Array[]): Promise<void> {
  for (let from = 0; from < pubkeys.length; from += keysPerStatement) {
    const part = pubkeys.slice(from, from + keysPerStatement)
    const linked = await tx.run(
      `insert into validator_deposits (network, validator_index, address, deposit_index)
       select v.network, v.validator_index, d.address, d.deposit_index
       from validators v join deposit_senders d on d.network = v.network and d.pubkey = v.pubkey
       where v.network = ? and d.pubkey in (${part.map(() => '?').join()})
       on conflict (network, validator_index, address) do nothing`,
      network,
      ...part,
    )
    if (linked > 0) await markDepositors(tx, network, part)
  }
}
