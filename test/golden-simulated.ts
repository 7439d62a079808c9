// What the scenarios of the golden files have in common: servers that read simulated chains.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { AppContext } from '#server/context.ts'
import { openExecution } from '#simulator/beacon/execution.ts'
import { type BeaconNodeOptions, openNode } from '#simulator/beacon/node.ts'
import type { RequestPlan } from './golden-requests.ts'
import { openFollower } from './open-follower.ts'
import { openQuietServer, type QuietServer } from './quiet-server.ts'
import type { CompletedNetwork } from './simulator/simulate-network.ts'

/** Compares the responses of a server with a golden file. `stage` describes what has been ingested. */
export type CheckResponses = (
  file: string,
  stage: string,
  server: QuietServer,
  plans: readonly RequestPlan[],
) => Promise<void>

export interface Scenario {
  readonly name: string
  /** Too slow for every run of the tests. */
  readonly isLong?: true
  run(check: CheckResponses): Promise<void>
}

export const { signal } = new AbortController()

export const indicesUpTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

export async function catchUp(context: AppContext, network: Network): Promise<void> {
  await (await openFollower(context, network)).catchUp(signal)
}

export async function fill(context: AppContext, network: Network, ...ranges: readonly Range[]): Promise<void> {
  const follower = await openFollower(context, network)
  for (const range of ranges) await follower.fill(range, signal)
}

interface SimulatedOptions {
  readonly network: NetworkChanges
  readonly few: RequestPlan['sampleValidators']
  /** The finalized epoch of the node; undefined: the last one of the chain. */
  readonly finalized?: () => number
  readonly node?: BeaconNodeOptions
}
const hoodiChainId = '560048'

type NetworkChanges = Readonly<Record<string, unknown>> & { readonly fromEpoch?: number }

/** Always the same node: the files are written once, and a client must not change a response anyway. */
export async function openSimulated(
  world: CompletedNetwork,
  { network, few, finalized, node: options }: SimulatedOptions,
) {
  const execution = world.plan.hasExecution ? await openExecution(world, hoodiChainId) : undefined
  const offers = { ssz: true, states: true, rewards: true, ...(execution && { chainId: hoodiChainId }), ...options }
  const node = await openNode(world, { ...offers, ...(finalized && { finalized }) })
  const { fromEpoch = 0, ...changes } = network
  const hoodi = {
    ...changes,
    beacon: { urls: [node.url], fromEpoch },
    ...(execution && { execution: { rpc: [{ url: execution.url }] } }),
  }
  const server = await openQuietServer({ settings: { validators: { networks: { hoodi } } } })
  const { validators = [] } = world.snapshots.at(-1) ?? {}
  const plan: RequestPlan = {
    ...{ network: 'hoodi', time: server.context.settings.validators.networks.hoodi, epochs: world.finalized - 1 },
    ...{ allValidators: indicesUpTo(validators.length + 1), sampleValidators: few },
    pubkeys: validators.filter((_, index) => index % 13 === 4).map(({ pubkey }) => pubkey),
  }
  return {
    ...{ server, context: server.context, plan },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
      await execution?.[Symbol.asyncDispose]()
    },
  }
}

export const calm = { outage: { from: 0, until: 0 }, hasExecution: false } as const
