// What determines duties: the RANDAO mixes of a state or of blocks, and the proposers that a state lists since Fulu.
import type { Block } from './block.ts'
import { type ConsensusRules, epochAt, firstSlotAt, forkAt, isForkFrom } from './consensus.ts'
import type { View } from './ssz.ts'
import { electraOffsets, stateOffsets } from './state-layout.ts'

export interface DutySeeds {
  /** The mixes that the duties of this epoch and of the next depend on. */
  readonly mixes: { readonly now: Uint8Array | undefined; readonly next: Uint8Array | undefined }
  /** Since Fulu: the proposers of this epoch and the next, by slot. */
  readonly lookahead?: Int32Array | undefined
}

export function dutySeedsFromState(state: View, rules: ConsensusRules): DutySeeds {
  const at = stateOffsets(rules)
  const epoch = epochAt(rules, state.u64(at.slot))
  const fork = forkAt(rules, epoch)
  // The mix of an epoch is complete at its end. Duties depend on the epoch before the previous one.
  const mixFor = (dutyEpoch: number) => {
    const from = at.mixes + 32 * ((dutyEpoch - 2 + rules.historicalMixes) % rules.historicalMixes)
    return knownMix(new Uint8Array(state.part(from, from + 32).bytes))
  }
  const { lookahead } = electraOffsets(rules, fork)
  return {
    mixes: { now: mixFor(epoch), next: mixFor(epoch + 1) },
    lookahead: isForkFrom(fork, 'fulu')
      ? Int32Array.from({ length: 2 * rules.slotsPerEpoch }, (_, slot) => state.u64(lookahead + slot * 8))
      : undefined,
  }
}

/**
 * The mix that the duties of an epoch depend on. `blocks`: in ascending order, all from the first slot of the previous
 * epoch on. Undefined before the merge, when blocks had no mix. The first two epochs depend on mixes from before genesis;
 * on real chains, these equal the mix of the genesis state, which is in the first block.
 */
export function mixFromBlocks(rules: ConsensusRules, epoch: number, blocks: readonly Block[]): Uint8Array | undefined {
  // A block contains the mix before it. The first block after an epoch has the mix at the end of that epoch.
  const from = firstSlotAt(rules, epoch - 1)
  const first = blocks.find(({ slot }) => slot >= from)
  return knownMix((first?.bid ?? first?.payload)?.prevRandao)
}

/** A chain that does not draw its duties with RANDAO has zeros instead. */
const knownMix = (mix: Uint8Array | undefined): Uint8Array | undefined =>
  mix?.some((byte) => byte !== 0) ? mix : undefined
