// The client that the simulated node of an ingest test behaves like: a beacon client and an execution client. They follow
// from the seed of the run. The long run repeats these tests until every client was used (test/run.ts). A failure names
// the client; TEST_CLIENT=3 uses it again.
import { type BeaconNodeOptions, openNode, type SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import type { SimulatedNetwork } from '#simulator/beacon/records.ts'
import { failureNotes } from './failure-notes.ts'
import { dialects, type NodeDialect } from './simulator/dialects.ts'
import type { SimulatedCapabilities } from './simulator/limited-node.ts'
import { type ClientName, profiles } from './simulator/profiles.ts'

const clients = Object.keys(profiles) as ClientName[]
const clientNumber = Number(process.env.TEST_CLIENT ?? process.env.TEST_SEED ?? 0)

const note = (kind: string, name: string) =>
  failureNotes.add(`The simulated ${kind} node is ${name} (TEST_CLIENT=${clientNumber % clients.length}).`)

export function beaconClientOfRun(): ClientName {
  const client = clients[clientNumber % clients.length] as ClientName
  note('beacon', client)
  return client
}

/** The answers and errors of the client, but nothing is pruned. */
export const archiveOf = (client: ClientName): BeaconNodeOptions => ({
  profile: profiles[client],
  ...{ statesFromSlot: () => 0, rewardStatesFromSlot: () => 0, blocksFromSlot: () => 0 },
})

/** An archive node of the beacon client of this run. */
export const openNodeOfRun = (
  network: SimulatedNetwork,
  options: BeaconNodeOptions = {},
): Promise<SimulatedBeaconNode> => openNode(network, { ...archiveOf(beaconClientOfRun()), ...options })

/** The methods and errors of the execution client of this run. Its limits are larger than simulated chains. */
export function executionClientOfRun(): SimulatedCapabilities {
  const dialect = dialects[(clientNumber % clients.length) % dialects.length] as NodeDialect
  note('execution', dialect.client)
  return { dialect, traces: dialect.traces, receipts: true }
}
