// Which chain a network's rows are about. The first node that answers decides, the store remembers, and every node after
// that must be on the same chain: rows of two chains under one name would be worth nothing (behaviour/validators.md#one-chain-per-network).
import { type Network, networks } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import type { Settings } from '#runtime/settings.ts'
import type { ChainIdentity } from '#sources/beacon/client.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import type { Duties } from '#storage/duties.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import { describeWindowsMismatch, storedChain } from '#validators/duties/networks.ts'
import { updateDuties } from '#validators/duties/store.ts'

/** Waiting for a node must not keep the server from starting. */
const identityTimeoutMs = 5000

/** The settings with genesis and slots as the nodes tell them, or told when the rows were read. Asked once per data folder. */
export async function withChainTimes(
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'clock' | 'log'>,
  firstMs = identityTimeoutMs,
): Promise<Settings> {
  const changed = { ...context.settings.validators.networks }
  for (const network of networks) {
    const { urls, timeoutMs } = changed[network].beacon
    const stored = await storedChain(context.duties, network)
    const requested =
      stored || urls.length === 0 ? undefined : readChainIdentity(context, network, urls, Math.min(timeoutMs, firstMs))
    const chain = stored ?? (await requested)
    if (chain) {
      const { genesisUnix, slotSeconds, slotsPerEpoch } = chain
      changed[network] = { ...changed[network], genesisUnix, slotSeconds, slotsPerEpoch }
    }
    const problem = await describeWindowsMismatch(context.duties, network, changed[network])
    if (problem !== undefined)
      context.log.error({ network, reason: problem }, 'this network is neither read nor answered')
  }
  return { ...context.settings, validators: { ...context.settings.validators, networks: changed } }
}

/**
 * Takes the chain over from a node that did not answer when the server started. The settings change in place, so that everything that
 * holds them sees the network's time: nothing has been read or answered by another one yet.
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
      'no beacon node tells its chain; genesis and slots are as configured',
    )
    return undefined
  }
}
