// What the nodes of a network know of its head. A node can stand still without reporting that it is syncing, for example if
// it does not get the data of a block, and must not hold the network back if another node is further.
import { epochAtTime, slotAt } from '#core/chain-time.ts'
import type { Clock } from '#runtime/clock.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { createBeaconQueries } from './beacon-queries.ts'

interface HeadSource {
  readonly beacon: Beacon
  readonly chain: Chain
  readonly clock: Pick<Clock, 'now'>
}

type Query = (queries: ReturnType<typeof createBeaconQueries>) => Promise<number | undefined>

/** Epochs since the finalized one, on a chain that finalizes: two, and one more at the start of an epoch. */
const finalizedLagMax = 3

export async function readFinalizedEpoch(source: HeadSource, signal: AbortSignal): Promise<number> {
  const { chain, clock } = source
  const expected = epochAtTime(chain.identity, clock.now()) - finalizedLagMax
  const epoch = await readNewest(source, (queries) => queries.finalizedEpoch('head'), expected, signal)
  if (epoch === undefined) throw new BeaconError('the node did not return the finalized epoch')
  return epoch
}

/** The slot of the newest block. */
export async function readHeadSlot(source: HeadSource, signal: AbortSignal): Promise<number> {
  const { identity, rules } = source.chain
  const expected = slotAt(identity, source.clock.now()) - rules.slotsPerEpoch
  const slot = await readNewest(source, async (queries) => (await queries.head())?.slot, expected, signal)
  if (slot === undefined) throw new BeaconError('the node did not return its newest block')
  return slot
}

/** Asks every node once if the first one is behind `expected`, and returns the newest answer. */
async function readNewest(
  { beacon, chain: { rules } }: HeadSource,
  query: Query,
  expected: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const first = await query(createBeaconQueries(beacon, rules, signal))
  const nodes = beacon.each()
  if (nodes.length < 2 || (first !== undefined && first >= expected)) return first
  const answers = await Promise.all(
    nodes.map(({ ask }) => query(createBeaconQueries({ ...beacon, request: ask }, rules, signal))),
  )
  const known = [first, ...answers].filter((answer) => answer !== undefined)
  return known.length > 0 ? Math.max(...known) : undefined
}
