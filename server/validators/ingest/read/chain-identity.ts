// Stores which chain a network's data belongs to. The first node that responds decides. From then on, every node must
// be on the same chain, so that data of two chains is never mixed (behaviour/validators.md#one-chain-per-network).
import { type Network, networks } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import type { Settings } from '#runtime/settings.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import type { Duties } from '#storage/duties.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import { describeWindowsMismatch, storedChain } from '#validators/duties/networks.ts'
import { updateDuties } from '#validators/duties/store.ts'

/** A slow node must not delay the start of the server for longer. */
const identityTimeoutMaxMs = 5000

/**
 * Returns the settings with the genesis and slot times of the stored chain, or those of the nodes if none is stored
 * yet.
 */
export async function withChainTimes(
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'clock' | 'log'>,
): Promise<Settings> {
  const changed = { ...context.settings.validators.networks }
  for (const network of networks) {
    const { urls, timeoutMs } = changed[network].beacon
    const stored = await storedChain(context.duties, network)
    const chain =
      stored ??
      (urls.length > 0
        ? await readChainIdentity(context, network, urls, Math.min(timeoutMs, identityTimeoutMaxMs))
        : undefined)
    if (chain) {
      const { genesisUnix, slotSeconds, slotsPerEpoch } = chain
      changed[network] = { ...changed[network], genesisUnix, slotSeconds, slotsPerEpoch }
    }
    const problem = await describeWindowsMismatch(context.duties, network, changed[network])
    if (problem !== undefined)
      context.log.error({ network, reason: problem }, 'network disabled: its windows do not match the stored data')
  }
  return { ...context.settings, validators: { ...context.settings.validators, networks: changed } }
}

/**
 * Uses the chain of a node that did not respond when the server started. It changes the settings in place, so that all
 * their users see the new times. This is safe because nothing of the network is stored yet.
 */
export async function adoptChain(
  duties: Duties,
  network: Network,
  time: ChainTime,
  chain: ChainIdentity,
): Promise<void> {
  if (await storedChain(duties, network)) return
  await updateDuties(duties, 'writeChain', { network, chain })
  const { genesisUnix, slotSeconds, slotsPerEpoch } = chain
  Object.assign(time, { genesisUnix, slotSeconds, slotsPerEpoch })
}

async function readChainIdentity(
  { duties, clock, log }: Pick<ValidatorsContext, 'duties' | 'clock' | 'log'>,
  network: Network,
  urls: readonly string[],
  timeoutMs: number,
): Promise<ChainIdentity | undefined> {
  try {
    const { identity } = await openBeacon({ network, urls, timeoutMs, clock }).chain(AbortSignal.timeout(timeoutMs))
    await updateDuties(duties, 'writeChain', { network, chain: identity })
    return identity
  } catch (error) {
    log.warn(
      { network, reason: (error as Error).message },
      'no beacon node is reachable; using the configured genesis and slot times',
    )
    return undefined
  }
}
