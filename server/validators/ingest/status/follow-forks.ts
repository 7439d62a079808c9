// Compares every hour which forks the nodes of a network schedule, on both layers: a node that was not upgraded leaves the
// chain with the next one (behaviour/validators.md#unknown-forks).
import type { Network } from '#api/contract/wire/validators.ts'
import { logOutcome, poll } from '#ingest/poll.ts'
import { timeoutSignal } from '#runtime/clock.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import {
  describeMissingForks,
  describeOtherLayer,
  findNextOfNodes,
  readForksOfNodes,
} from '#sources/beacon/next-fork.ts'
import { readNextChainFork } from '#sources/evm/next-fork.ts'
import type { ValidatorsContext } from '../../context.ts'
import { openNetworkRpc } from '../../network-rpc.ts'
import { requiredChain } from '../read/chain-identity.ts'
import type { IngestRun } from './ingest-status.ts'

const everyMs = 3_600_000
const backoffMaxMs = 600_000
const timeoutMs = 20_000

/** Runs until the signal aborts. A network with one node has nothing to compare. */
export async function followForks(
  context: ValidatorsContext,
  network: Network,
  run: Pick<IngestRun, 'recordOtherForks'>,
  signal: AbortSignal,
): Promise<void> {
  const { beacon, execution } = networkSettings(context.settings, network)
  if (beacon.urls.length + execution.rpc.length < 2) return
  await poll(
    context,
    {
      ...{ everyMs, timeoutMs: 3 * timeoutMs, backoffMaxMs },
      work: async () => run.recordOtherForks(await findOtherForks(context, network)),
      report: (outcome) =>
        logOutcome(
          context,
          outcome,
          { network },
          { failed: 'forks could not be compared', recovered: 'forks are compared again' },
        ),
    },
    signal,
  )
}

/** Undefined: all nodes that respond schedule the same. */
async function findOtherForks(context: ValidatorsContext, network: Network): Promise<string | undefined> {
  const { settings, clock } = context
  const { beacon: options, execution } = networkSettings(settings, network)
  const identity = await requiredChain(context, network)
  const beacon = openBeacon({ network, urls: options.urls, timeoutMs: options.timeoutMs, clock, identity })
  const nodes = await readForksOfNodes(beacon, timeoutSignal(clock, timeoutMs))
  const found = describeMissingForks(nodes, clock.now())
  if (execution.rpc.length > 0 && nodes.length > 0) {
    const rpc = openNetworkRpc(network, execution, identity, clock)
    const fork = findNextOfNodes(nodes, clock.now())
    const untilMs = clock.monotonicMs() + timeoutMs
    for (const index of execution.rpc.keys()) {
      const next = await readNextChainFork(rpc.of([index]), untilMs).catch(() => undefined)
      const nextMs = next === null ? null : next?.atMs
      const other = describeOtherLayer(network, fork, nextMs, clock.now())
      if (other !== undefined) found.push(other)
    }
  }
  return found.length === 0 ? undefined : [...new Set(found)].join('; ')
}
