// Which chain a network's rows are about. The first node that answers decides, the store remembers, and every node after
// that must be on the same chain: rows of two chains under one name would be worth nothing (decision 0106).
import { type Network, networks } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import type { Settings } from '#core/settings.ts'
import type { ChainIdentity } from '#io/beacon/client.ts'
import { openBeacon } from '#io/beacon/client.ts'
import type { Duties } from '#store/duties.ts'
import type { ValidatorsContext } from '../context.ts'
import { storedChain, windowsTrouble } from '../duties/networks.ts'
import { updateDuties } from '../duties/store.ts'

/** Waiting for a node must not keep the server from starting. */
const firstAnswerMs = 5000

/** The settings with genesis and slots as the nodes tell them, or told when the rows were read. Asked once per data folder. */
export async function withChainTimes(
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'clock' | 'log'>,
  firstMs = firstAnswerMs,
): Promise<Settings> {
  const changed = { ...context.settings.validators.networks }
  for (const network of networks) {
    const { urls, timeoutMs } = changed[network].beacon
    const stored = await storedChain(context.duties, network)
    const asked =
      stored || urls.length === 0 ? undefined : firstAnswer(context, network, urls, Math.min(timeoutMs, firstMs))
    const chain = stored ?? (await asked)
    if (chain) {
      const { genesisUnix, slotSeconds, slotsPerEpoch } = chain
      changed[network] = { ...changed[network], genesisUnix, slotSeconds, slotsPerEpoch }
    }
    const trouble = await windowsTrouble(context.duties, network, changed[network])
    if (trouble !== undefined)
      context.log.error({ network, reason: trouble }, 'this network is neither read nor answered')
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

async function firstAnswer(
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
