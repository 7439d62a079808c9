// The blocks that watched validators have to propose in the current and the next epoch. It costs one request per epoch.
// If the node does not answer, the figures are unknown until the next epoch.
import { type ChainTime, epochOfSlot, firstSlotOf, slotAt } from '#core/chain-time.ts'
import type { Clock } from '#runtime/clock.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { type BeaconQueries, createBeaconQueries } from '../../ingest/read/beacon-queries.ts'

export interface Proposal {
  readonly slot: number
  readonly validator: number
}

export type ReadUpcoming = (signal: AbortSignal) => Promise<readonly Proposal[] | undefined>

/** Returns those that are still due, by slot. Undefined: unknown. */
export function createUpcomingProposals(beacon: Beacon, time: ChainTime, clock: Pick<Clock, 'now'>): ReadUpcoming {
  /** Epochs that were requested; undefined: the node did not answer. */
  const proposersByEpoch = new Map<number, Int32Array | undefined>()
  let lastEpoch = -1
  return async (signal) => {
    const slot = slotAt(time, clock.now())
    const epoch = epochOfSlot(time, slot)
    if (epoch !== lastEpoch) {
      // Forgets past epochs, and asks again for those that the node did not answer.
      for (const [known, proposers] of proposersByEpoch) if (known < epoch || !proposers) proposersByEpoch.delete(known)
      lastEpoch = epoch
    }
    const proposals: Proposal[] = []
    for (const wanted of [epoch, epoch + 1]) {
      if (!proposersByEpoch.has(wanted)) {
        const request = queryOrUndefined(beacon, (queries) => queries.proposers(wanted), signal)
        proposersByEpoch.set(wanted, await request)
      }
      const proposers = proposersByEpoch.get(wanted)
      if (!proposers) return undefined
      for (const [at, validator] of proposers.entries())
        proposals.push({ slot: firstSlotOf(time, wanted) + at, validator })
    }
    return proposals.filter((proposal) => proposal.slot > slot)
  }
}

/** Undefined if the node does not answer. */
export async function queryOrUndefined<T>(
  beacon: Beacon,
  query: (queries: BeaconQueries, rules: ConsensusRules) => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    const { rules } = await beacon.chain(signal)
    return await query(createBeaconQueries(beacon, rules, signal), rules)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BeaconError) return undefined
    throw error
  }
}
