// The seats of the payload committees of Gloas, as a state lists them.
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import type { PayloadState } from '#sources/beacon/payload-state.ts'

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
