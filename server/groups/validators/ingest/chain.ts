// Which chain a network's rows are about. The first node that answers decides, the store remembers, and every node after
// that must be on the same chain: rows of two chains under one name would be worth nothing (decision 0106).
import { type Network, networks } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import type { Settings } from '#core/settings.ts'
import type { ChainIdentity } from '#io/beacon/client.ts'
import { openBeacon } from '#io/beacon/client.ts'
import type { Desk } from '#serve/answer.ts'
import type { Facts, FactsReader } from '#store/facts.ts'
import { coveredEpochs } from '../duties.ts'
import { adoptWindows, windowsTrouble } from '../row-windows.ts'

/** Waiting for a node must not keep the server from starting. */
const firstAnswerMs = 5000

interface ChainRow {
  readonly genesis_unix: number
  readonly genesis_root: string
  readonly slot_seconds: number
  readonly slots_per_epoch: number
}

export async function storedChain(facts: FactsReader, network: Network): Promise<ChainIdentity | undefined> {
  const [row] = await facts.query<ChainRow>(
    'select genesis_unix, genesis_root, slot_seconds, slots_per_epoch from beacon_chains where network = ?',
    [network],
  )
  return (
    row && {
      genesisUnix: row.genesis_unix,
      genesisRoot: row.genesis_root,
      slotSeconds: row.slot_seconds,
      slotsPerEpoch: row.slots_per_epoch,
    }
  )
}

async function storeChain(facts: Facts, network: Network, chain: ChainIdentity): Promise<void> {
  await facts.write((tx) =>
    tx.append('beacon_chains', {
      network: [network],
      genesis_unix: [chain.genesisUnix],
      genesis_root: [chain.genesisRoot],
      slot_seconds: [chain.slotSeconds],
      slots_per_epoch: [chain.slotsPerEpoch],
    }),
  )
}

/** The settings with genesis and slots as the nodes tell them, or told when the rows were read. Asked once per data folder. */
export async function withChainTimes(
  desk: Pick<Desk, 'facts' | 'settings' | 'clock' | 'log'>,
  firstMs = firstAnswerMs,
): Promise<Settings> {
  const changed = { ...desk.settings.validators.networks }
  for (const network of networks) {
    const { urls, timeoutMs } = changed[network].beacon
    const stored = await storedChain(desk.facts, network)
    const asked =
      stored || urls.length === 0 ? undefined : firstAnswer(desk, network, urls, Math.min(timeoutMs, firstMs))
    const chain = stored ?? (await asked)
    if (chain) {
      const { genesisUnix, slotSeconds, slotsPerEpoch } = chain
      changed[network] = { ...changed[network], genesisUnix, slotSeconds, slotsPerEpoch }
    }
    await agreeOnWindows(desk, network, changed[network])
  }
  return { ...desk.settings, validators: { ...desk.settings.validators, networks: changed } }
}

/**
 * Takes the chain over from a node that did not answer when the server started. The settings change in place, so that everything that
 * holds them sees the network's time: nothing has been read or answered by another one yet.
 */
export async function adoptChain(facts: Facts, network: Network, time: ChainTime, chain: ChainIdentity): Promise<void> {
  if (await storedChain(facts, network)) return
  await storeChain(facts, network, chain)
  const { genesisUnix, slotSeconds, slotsPerEpoch } = chain
  Object.assign(time, { genesisUnix, slotSeconds, slotsPerEpoch })
}

/** A store from before gets to know what its rows were added up by; with other settings than those it is left alone (decision 0187). */
async function agreeOnWindows(
  { facts, log }: Pick<Desk, 'facts' | 'log'>,
  network: Network,
  time: ChainTime,
): Promise<void> {
  const covered = await coveredEpochs(facts, network)
  if (covered.length === 0) return
  const trouble = await windowsTrouble(facts, network, time, async () => covered)
  if (trouble !== undefined) {
    log.error({ network, reason: trouble }, 'this network is neither read nor answered')
    return
  }
  // Another server may write at this moment; the next rows put it down as well.
  await adoptWindows(facts, network, time, covered).catch((error: Error) => {
    log.warn({ network, reason: error.message }, 'hours and days of this network are not put down yet')
  })
}

async function firstAnswer(
  { facts, clock, log }: Pick<Desk, 'facts' | 'clock' | 'log'>,
  network: Network,
  urls: readonly string[],
  timeoutMs: number,
): Promise<ChainIdentity | undefined> {
  try {
    const { identity } = await openBeacon({ network, urls, timeoutMs, clock }).chain(AbortSignal.timeout(timeoutMs))
    await storeChain(facts, network, identity)
    return identity
  } catch (error) {
    log.warn(
      { network, reason: (error as Error).message },
      'no beacon node tells its chain; genesis and slots are as configured',
    )
    return undefined
  }
}
