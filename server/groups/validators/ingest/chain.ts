// Which chain a network's rows are about. The first node that answers decides, the store remembers, and every node after
// that must be on the same chain: rows of two chains under one name would be worth nothing (decision 0106).
import { type Network, networks } from '#api/wire/validators.ts'
import type { Settings } from '#core/settings.ts'
import type { ChainIdentity } from '#io/beacon/client.ts'
import { openBeacon } from '#io/beacon/client.ts'
import type { Desk } from '#serve/answer.ts'
import type { Facts, FactsReader } from '#store/facts.ts'

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

/** The settings with genesis and slots as the nodes tell them, for every network that has nodes. Asked once per data folder. */
export async function withChainTimes(
  desk: Pick<Desk, 'facts' | 'settings' | 'clock' | 'log'>,
  firstMs = firstAnswerMs,
): Promise<Settings> {
  const changed = { ...desk.settings.validators.networks }
  for (const network of networks) {
    const { urls, timeoutMs } = changed[network].beacon
    if (urls.length === 0) continue
    const chain =
      (await storedChain(desk.facts, network)) ?? (await firstAnswer(desk, network, urls, Math.min(timeoutMs, firstMs)))
    if (!chain) continue
    const { genesisUnix, slotSeconds, slotsPerEpoch } = chain
    changed[network] = { ...changed[network], genesisUnix, slotSeconds, slotsPerEpoch }
  }
  return { ...desk.settings, validators: { ...desk.settings.validators, networks: changed } }
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
