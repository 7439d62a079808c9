// Deletes everything that is stored of a network: after its chain has started again with another genesis, or if it is
// not needed any more. A second call continues where the first one was interrupted, because the name is deleted last.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Network } from '#api/contract/wire/networks.ts'
import type { Duties } from '#storage/duties.ts'
import type { State } from '#storage/state.ts'
import { deleteStreams } from './duties/delete-network.ts'

/** Tables of the ingest database. Those that refer to others come first. */
export const registryTables = [
  ...['validator_entities', 'validator_operators', 'validator_pools', 'validator_deposits', 'deposit_senders'],
  ...[
    'entity_days',
    'entity_changes',
    'entity_rules',
    'entity_pending',
    'withdrawal_addresses',
    'entity_sources',
    'registry_operators',
    'epoch_gaps',
    'chain_snapshots',
    'chain_snapshot_parts',
    'open_alerts',
    'head_alerts',
    'webhook_deliveries',
    'validators',
  ],
] as const

/** Records of states are in `DATA/beacon/NETWORK`. Returns the number of deleted rows. */
export async function forgetNetwork(
  { ingest, duties }: { readonly ingest: State; readonly duties: Duties },
  network: Network,
  dataDir: string,
): Promise<number> {
  const registry = await ingest.write(
    async (tx) => {
      let rows = await deleteStreams(tx, network)
      for (const table of registryTables) rows += await tx.run(`delete from ${table} where network = ?`, network)
      return rows
    },
    { lock: 'registry', isLong: true },
  )
  const figures = await duties.update('deleteNetwork', { network })
  await rm(join(dataDir, 'beacon', network), { recursive: true, force: true })
  return registry + figures
}
