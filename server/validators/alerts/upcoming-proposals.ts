// The blocks that watched validators have to propose in the current and the next epoch. It costs one request per epoch.
// If the node does not answer, the figures are unknown until the next epoch.
import type { ChainTime } from '#core/chain-time.ts'
import type { Clock } from '#runtime/clock.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import { BeaconQueries } from '../ingest/read/beacon-queries.ts'

export interface Proposal {
  readonly slot: number
  readonly validator: number
}

export class UpcomingProposals {
  readonly #beacon: Beacon
  readonly #time: ChainTime
  readonly #clock: Pick<Clock, 'now'>
  /** Epochs that were requested; undefined: the node did not answer. */
  readonly #proposers = new Map<number, Int32Array | undefined>()
  #epoch = -1

  constructor(beacon: Beacon, time: ChainTime, clock: Pick<Clock, 'now'>) {
    this.#beacon = beacon
    this.#time = time
    this.#clock = clock
  }

  /** Those that are still due, by slot. Undefined: unknown. */
  async read(signal: AbortSignal): Promise<readonly Proposal[] | undefined> {
    const { genesisUnix, slotSeconds, slotsPerEpoch } = this.#time
    const slot = Math.floor((this.#clock.now() / 1000 - genesisUnix) / slotSeconds)
    const epoch = Math.floor(slot / slotsPerEpoch)
    if (epoch !== this.#epoch) {
      // Forgets past epochs, and asks again for those that the node did not answer.
      for (const [known, proposers] of this.#proposers) if (known < epoch || !proposers) this.#proposers.delete(known)
      this.#epoch = epoch
    }
    const proposals: Proposal[] = []
    for (const wanted of [epoch, epoch + 1]) {
      if (!this.#proposers.has(wanted)) this.#proposers.set(wanted, await this.#request(wanted, signal))
      const proposers = this.#proposers.get(wanted)
      if (!proposers) return undefined
      for (const [at, validator] of proposers.entries())
        proposals.push({ slot: wanted * slotsPerEpoch + at, validator })
    }
    return proposals.filter((proposal) => proposal.slot > slot)
  }

  async #request(epoch: number, signal: AbortSignal): Promise<Int32Array | undefined> {
    try {
      const { rules } = await this.#beacon.chain(signal)
      return await new BeaconQueries(this.#beacon, rules, signal).proposers(epoch)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof BeaconError) return undefined
      throw error
    }
  }
}
