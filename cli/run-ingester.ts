// Runs an ingester of validators in this process: with its beacon node, all databases and the lease.

import type { Network } from '#api/contract/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { Settings } from '#runtime/settings.ts'
import type { AppContext } from '#server/context.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import { withContext } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { type LeaseOptions, runWithLease } from './lease.ts'
import { clock, log } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { stopSignal } from './stop.ts'

export interface BeaconCommand extends CommonOptions, LeaseOptions {
  readonly network: Network
  readonly once?: boolean
  readonly fromEpoch?: number
  readonly untilEpoch?: number
}

const nodeErrorNames = new Set([
  ...['BeaconError', 'ContradictionError', 'OtherChainError', 'NodesDisagreeError', 'UnknownForkError'],
  ...['DepositGap', 'FetchError', 'Fault'],
])

/** Errors of a node are shown as command failures, not as bugs. */
export async function toCommandFailure(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    // Checks the name, because an error from another thread loses its class.
    if (error instanceof Error && nodeErrorNames.has(error.name) && !(error instanceof Fault))
      throw new CommandFailure('beacon.unavailable', error.message)
    throw error
  }
}

/** `stored`: the chain of the stored data. A node of another chain is refused. */
export async function beaconOf(
  { network }: BeaconCommand,
  settings: Settings,
  stored?: ChainIdentity,
): Promise<Beacon> {
  const { urls, timeoutMs } = networkSettings(settings, network).beacon
  if (urls.length === 0) {
    throw new CommandFailure(
      'beacon.missing',
      `No beacon node is configured: set validators.networks.${network}.beacon.urls.`,
    )
  }
  const [{ openBeacon }, { expectedChain }] = await Promise.all([
    import('#sources/beacon/client.ts'),
    import('#validators/ingest/read/chain-identity.ts'),
  ])
  const identity = stored ?? expectedChain(network, networkSettings(settings, network))
  return openBeacon({ network, urls, timeoutMs, clock, identity })
}

type Ingester = (context: AppContext, signal: AbortSignal) => Promise<void>

/** Runs an ingester under the lease, with the chain times of the node. */
export async function runIngester(options: BeaconCommand, ingester: Ingester, signal: AbortSignal): Promise<void> {
  // Fails early if no node is configured.
  await beaconOf(options, (await configOf(options)).settings)
  const run = async (context: AppContext) => {
    const { withChainTimes } = await import('#validators/ingest/read/chain-identity.ts')
    const timed = { ...context, settings: await withChainTimes(context) }
    await runWithLease(timed, options, 'beacon', ingester, signal)
  }
  await withContext(options, run, log)
}

/** Runs an ingester until it ends or a signal stops it, which is not a failure. */
export async function runStoppable(options: BeaconCommand, ingester: Ingester): Promise<void> {
  const signal = stopSignal(clock)
  await runIngester(options, ingester, signal).catch((error) => {
    if (!signal.aborted) throw error
  })
}
