// The client that the simulated node of an ingest test behaves like: a beacon client or an execution client. It changes
// from run to run with the seed, which test/run.ts prints. Tests that repeat themselves for each client use
// `clientsOfRun`: one client, or all of them in the long run.
import type { BeaconNodeOptions } from '#simulator/beacon/node.ts'
import { type ClientName, profiles } from '#simulator/beacon/profiles.ts'
import { dialects, type NodeDialect } from '#simulator/evm/dialects.ts'
import type { SimulatedCapabilities } from '#simulator/evm/node.ts'
import { seedsOf } from './long.ts'

const clients = Object.keys(profiles) as ClientName[]

export const clientsOfRun = (): readonly ClientName[] =>
  seedsOf(clients.length, 1).map((seed) => clients[seed] as ClientName)

/** The answers and errors of the client, but nothing is pruned. */
export const archiveOf = (client: ClientName): BeaconNodeOptions => ({
  profile: profiles[client],
  ...{ statesFromSlot: () => 0, rewardStatesFromSlot: () => 0, blocksFromSlot: () => 0 },
})

/** The methods and errors of the execution client of this run. Its limits are larger than simulated chains. */
export function executionClientOfRun(): SimulatedCapabilities {
  const dialect = dialects[seedsOf(dialects.length, 1)[0] ?? 0] as NodeDialect
  return { dialect, traces: dialect.traces, receipts: true }
}
