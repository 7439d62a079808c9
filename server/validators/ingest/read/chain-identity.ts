// Stores which chain a network's data belongs to. The first node that responds decides. From then on, every node must
// be on the same chain, so that data of two chains is never mixed (behaviour/validators.md#one-chain-per-network).
import { type Network, networks } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { timeoutSignal } from '#runtime/clock.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
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
 * yet. Asks the nodes of all networks at the same time.
 */
export async function withChainTimes(
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'clock' | 'log'>,
): Promise<Settings> {
  const { validators } = context.settings
  const changed = await Promise.all(networks.map((network) => withChainTime(context, network)))
  const timed = Object.fromEntries(networks.map((network, at) => [network, changed[at]]))
  return { ...context.settings, validators: { ...validators, networks: { ...validators.networks, ...timed } } }
}

const timesOf = ({ genesisUnix, slotSeconds, slotsPerEpoch }: ChainIdentity) => ({
  genesisUnix,
  slotSeconds,
  slotsPerEpoch,
})

async function withChainTime(
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'clock' | 'log'>,
  network: Network,
): Promise<NetworkSettings> {
  const settings = context.settings.validators.networks[network]
  const { urls, timeoutMs } = settings.beacon
  const stored = await storedChain(context.duties, network)
  const chain =
    stored ??
    (urls.length > 0
      ? await readChainIdentity(context, network, urls, Math.min(timeoutMs, identityTimeoutMaxMs))
      : undefined)
  const timed = chain ? { ...settings, ...timesOf(chain) } : settings
  const problem = await describeWindowsMismatch(context.duties, network, timed)
  if (problem !== undefined)
    context.log.error({ network, reason: problem }, 'network disabled: its windows do not match the stored data')
  return timed
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
  Object.assign(time, timesOf(chain))
}

async function readChainIdentity(
  { duties, clock, log }: Pick<ValidatorsContext, 'duties' | 'clock' | 'log'>,
  network: Network,
  urls: readonly string[],
  timeoutMs: number,
): Promise<ChainIdentity | undefined> {
  try {
    const { identity } = await openBeacon({ network, urls, timeoutMs, clock }).chain(timeoutSignal(clock, timeoutMs))
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
