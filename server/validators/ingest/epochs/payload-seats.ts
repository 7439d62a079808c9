// Finds the seats of the payload committees of Gloas, epoch by epoch. They are in the state of an epoch. If the node does
// not offer whole states, they are computed, with what the epoch before has shown.
import { type ConsensusRules, isFrom } from '#sources/beacon/consensus.ts'
import { mixFromBlocks } from '#sources/beacon/duty-seeds.ts'
import type { PayloadState } from '#sources/beacon/payload-state.ts'
import { computePayloadCommittees } from '#sources/beacon/shuffle.ts'
import { chainOf, type EpochData } from '../read/epoch.ts'

type SeatSource = Pick<EpochData, 'epoch' | 'atStart' | 'committees' | 'blocks' | 'child'>

/** A segment that fails is read again from its start. */
const epochsMax = 16

export class PayloadSeats {
  /** By epoch, its seats in the state an epoch earlier. The state of the epoch itself may be missing. */
  readonly #listedBefore = new Map<number, Uint32Array>()
  /** By epoch, what its seats depend on: the effective balances an epoch earlier, and the mix. */
  readonly #seatSources = new Map<number, { readonly increments: Uint32Array; readonly mix: Uint8Array | undefined }>()

  /** By slot. Undefined before Gloas, and if they are not known. Call it for one epoch after the other. */
  of(rules: ConsensusRules, { epoch, atStart, committees, blocks, child }: SeatSource): Uint32Array | undefined {
    const source = this.#seatSources.get(epoch)
    const hasSeats = isFrom(rules, 'gloas', epoch)
    const listedBefore = this.#listedBefore.get(epoch)
    const listed = hasSeats ? (seatsOf(rules, atStart.payloads, 'now') ?? listedBefore) : undefined
    for (const known of [this.#seatSources, this.#listedBefore])
      for (const at of known.keys()) if (at <= epoch - epochsMax || at > epoch) known.delete(at)
    const listedNext = seatsOf(rules, atStart.payloads, 'next')
    if (listedNext) this.#listedBefore.set(epoch + 1, listedNext)
    else if (isFrom(rules, 'gloas', epoch + 1))
      this.#seatSources.set(epoch + 1, {
        increments: atStart.increments,
        mix: mixFromBlocks(rules, epoch + 1, chainOf({ blocks, child })),
      })
    if (listed || !hasSeats || !source?.mix) return listed
    // The first epoch of the fork is drawn when it begins.
    const increments = epoch === rules.forkEpochs.gloas ? atStart.increments : source.increments
    return computePayloadCommittees(rules, committees, increments, source.mix)
  }
}

const positions = ['previous', 'now', 'next'] as const

/** The seats that a state lists for its own epoch, the one before or the next, by slot. */
export function seatsOf(
  { slotsPerEpoch, payloadCommitteeSize }: ConsensusRules,
  payloads: PayloadState | undefined,
  epoch: (typeof positions)[number],
): Uint32Array | undefined {
  const size = slotsPerEpoch * payloadCommitteeSize
  const at = positions.indexOf(epoch)
  return payloads?.committees.slice(at * size, (at + 1) * size)
}
