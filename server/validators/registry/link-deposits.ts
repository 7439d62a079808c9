// Links the deposit addresses that have been read (deposit_senders, by public key) to the validators of the registry
// (validator_deposits). A deposit is usually read before its validator is registered, so both sides call this: the reader
// of deposits with new keys, and the registry with new validators.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { State, StateWriter } from '#storage/state.ts'
import { markDepositors } from './pending.ts'

const insertLinks = `insert into validator_deposits (network, validator_index, address, deposit_index)
  select v.network, v.validator_index, d.address, d.deposit_index
  from validators v join deposit_senders d on d.network = v.network and d.pubkey = v.pubkey where v.network = ?`
const ignoreExisting = 'on conflict (network, validator_index, address) do nothing'

/** Links deposits of these public keys to validators that are registered already. */
export async function linkDepositsOf(tx: StateWriter, network: Network, pubkeys: readonly Uint8Array[]): Promise<void> {
  if (pubkeys.length === 0) return
  const isOfKeys = `d.pubkey in (${pubkeys.map(() => '?').join()})`
  const linked = await tx.run(`${insertLinks} and ${isOfKeys} ${ignoreExisting}`, network, ...pubkeys)
  if (linked > 0) await markDepositors(tx, network, { pubkeys })
}

/** Links new validators of the registry to deposits that were read before. `indices`: of these validators. */
export async function linkDeposits(state: State, network: Network, indices: Range): Promise<void> {
  const any = await state.get('select 1 as any_row from deposit_senders where network = ? limit 1', network)
  if (!any) return
  const sql = `${insertLinks} and v.validator_index >= ? and v.validator_index < ? ${ignoreExisting}`
  await state.write(
    async (tx) => {
      const linked = await tx.run(sql, network, indices.from, indices.until)
      if (linked > 0) await markDepositors(tx, network, { indices })
    },
    { lock: 'registry' },
  )
}
