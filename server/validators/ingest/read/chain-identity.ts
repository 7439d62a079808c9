// Which chain the nodes of a network must be on: the one that the settings name, and once something is stored, the one
// of the stored data. So data of two chains is never mixed (behaviour/validators.md#one-chain-per-network).
import { type Network, networks } from '#api/contract/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { knownChains } from '#core/known-chains.ts'
import { timeoutSignal } from '#runtime/clock.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
import type { Settings } from '#runtime/settings.ts'
import { OtherChainError, openBeacon } from '#sources/beacon/client.ts'
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

/**
 * What the settings say about the chain of a network. The genesis of a known network is not enough to identify it, unless
 * the operator has changed it.
 */
export function expectedChain(
  network: Network,
  { genesisUnix, genesisRoot, beacon }: NetworkSettings,
): Partial<ChainIdentity> {
  if (beacon.acceptAnyChain) return {}
  const known = knownChains[network]
  const root = genesisRoot || (genesisUnix === known.genesisUnix ? known.genesisRoot : undefined)
  return { genesisUnix, ...(root && { genesisRoot: root }) }
}

/** What the nodes of a network must state before they are used. */
export const requiredChain = async (
  { duties, settings }: Pick<ValidatorsContext, 'duties' | 'settings'>,
  network: Network,
): Promise<Partial<ChainIdentity>> =>
  (await storedChain(duties, network)) ?? expectedChain(network, settings.validators.networks[network])

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
      ? await readChainIdentity(context, network, settings, Math.min(timeoutMs, identityTimeoutMaxMs))
      : undefined)
  // The genesis of the stored chain replaces that of the settings, so what the settings say must be kept here.
  const genesisRoot = expectedChain(network, settings).genesisRoot ?? ''
  const timed = { ...settings, genesisRoot, ...(chain && timesOf(chain)) }
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
  settings: NetworkSettings,
  timeoutMs: number,
): Promise<ChainIdentity | undefined> {
  try {
    const options = { network, urls: settings.beacon.urls, timeoutMs, clock }
    const beacon = openBeacon({ ...options, identity: expectedChain(network, settings) })
    const { identity } = await beacon.chain(timeoutSignal(clock, timeoutMs))
    await updateDuties(duties, 'writeChain', { network, chain: identity })
    return identity
  } catch (error) {
    const fields = { network, reason: (error as Error).message }
    if (error instanceof OtherChainError) log.error(fields, 'beacon node refused: it is on another chain')
    else log.warn(fields, 'no beacon node is reachable; using the configured genesis and slot times')
    return undefined
  }
}
