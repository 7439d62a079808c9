// Which chain the nodes of a network must be on: the one that the settings name, and once something is stored, the one
// of the stored data. So data of two chains is never mixed (behaviour/validators.md#one-chain-per-network).
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { timeoutSignal } from '#runtime/clock.ts'
import { type ChainPins, chainTimeFrom, knownChainOf, pinsOf } from '#runtime/settings/chain-pins.ts'
import { type NetworkSettings, networkSettings, networksOf } from '#runtime/settings/validators.ts'
import type { Settings } from '#runtime/settings.ts'
import { OtherChainError, openBeacon } from '#sources/beacon/client.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import type { Duties } from '#storage/duties.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import { plainTime } from '#validators/duties/layout.ts'
import { describeWindowsMismatch, storedChain, storedWindows } from '#validators/duties/networks.ts'

import { executionChainOf } from '../../network-rpc.ts'

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
  const names = networksOf(context.settings)
  const changed = await Promise.all(names.map((network) => withChainTime(context, network)))
  const timed = Object.fromEntries(names.map((network, at) => [network, changed[at] as NetworkSettings]))
  return { ...context.settings, validators: { ...validators, networks: { ...validators.networks, ...timed } } }
}

/** What the settings, and the name of the network if it is that of a known chain, say about the chain. */
export function expectedChain(network: Network, settings: NetworkSettings): Partial<ChainIdentity> {
  if (settings.beacon.acceptAnyChain) return {}
  const { epochsPerHour: _hour, epochsPerDay: _day, ...pins } = pinsOf(settings)
  const known = knownChainOf(network)
  const isKnown = pins.genesisUnix === undefined || pins.genesisUnix === known?.genesisUnix
  return { ...(isKnown && known), ...pins }
}

/** What the nodes of a network must state before they are used. */
export const requiredChain = async (
  { duties, settings }: Pick<ValidatorsContext, 'duties' | 'settings'>,
  network: Network,
): Promise<Partial<ChainIdentity>> =>
  (await storedChain(duties, network)) ?? expectedChain(network, networkSettings(settings, network))

async function withChainTime(
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'clock' | 'log'>,
  network: Network,
): Promise<NetworkSettings> {
  const { duties } = context
  const settings: NetworkSettings = networkSettings(context.settings, network)
  const { urls, timeoutMs, acceptAnyChain } = settings.beacon
  const { epochsPerHour, epochsPerDay, ...ofChain } = pinsOf(settings)
  const pins: ChainPins = {
    ...(acceptAnyChain ? {} : ofChain),
    ...(epochsPerHour !== undefined && { epochsPerHour }),
    ...(epochsPerDay !== undefined && { epochsPerDay }),
  }
  const limitMs = Math.min(timeoutMs, identityTimeoutMaxMs)
  const stored = await storedChain(duties, network)
  const chain = stored ?? (urls.length > 0 ? await readChainIdentity(context, network, settings, limitMs) : undefined)
  const assumed = acceptAnyChain ? { ...ofChain, ...pins } : pins
  const timed: NetworkSettings = {
    ...settings,
    pins,
    execution: { ...settings.execution, chainId: executionChainOf(network, settings.execution, chain) ?? '' },
    ...chainTimeFrom(network, assumed, chain, await storedWindows(duties, network)),
  }
  const problem = await describeWindowsMismatch(duties, network, timed)
  if (problem !== undefined)
    context.log.error({ network, reason: problem }, 'network disabled: its settings do not match the stored data')
  return timed
}

/**
 * Uses the chain of a node that did not respond when the server started. It changes the settings in place, so that all
 * their users see the new times. This is safe because nothing of the network is stored yet.
 */
export async function adoptChain(
  duties: Duties,
  network: Network,
  time: ChainTime & { readonly pins?: ChainPins },
  chain: ChainIdentity,
): Promise<void> {
  if (await storedChain(duties, network)) return
  await duties.update('writeChain', { network, chain })
  Object.assign(time, chainTimeFrom(network, time.pins ?? plainTime(time), chain))
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
    await duties.update('writeChain', { network, chain: identity })
    return identity
  } catch (error) {
    const fields = { network, reason: (error as Error).message }
    if (error instanceof OtherChainError) log.error(fields, 'beacon node refused: it is on another chain')
    else log.warn(fields, 'no beacon node is reachable; using the configured genesis and slot times')
    return undefined
  }
}
