// Who had which duty in the epochs of a gap: computed from RANDAO and the validators, without asking a node.
import type { Block } from '#sources/beacon/block.ts'
import { chooseProposers } from '#sources/beacon/choose-proposers.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { mixFromBlocks } from '#sources/beacon/duty-seeds.ts'
import { computeCommittees } from '#sources/beacon/shuffle.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { type FullState, ReplayError } from './chain-replay.ts'

/** `validators`: those at the first slot of the epoch. */
export interface ComputedDuties {
  committees(epoch: number, validators: Validators): Committees
  /** By slot. `previous`: the validators at the first slot of the previous epoch, if they are known. */
  proposers(epoch: number, validators: Validators, previous: Validators | undefined): ArrayLike<number>
  /** By seat. */
  syncCommittee(epoch: number): ArrayLike<number>
}

/** `blocks`: in ascending order, from two epochs before that of the state on. */
export function computeDuties(rules: ConsensusRules, before: FullState, blocks: readonly Block[]): ComputedDuties {
  const { syncCommittees } = before.transition
  const mixFor = (epoch: number): Uint8Array => {
    const mix = mixFromBlocks(rules, epoch, blocks)
    if (!mix) throw new ReplayError(`epoch ${epoch}: no block has the RANDAO mix that its committees depend on`)
    return mix
  }
  const periodOf = (epoch: number) => Math.floor(epoch / rules.epochsPerSyncPeriod)
  return {
    committees: (epoch, validators) => computeCommittees(rules, epoch, validators, mixFor(epoch)),
    proposers(epoch, now, previous) {
      const proposers = chooseProposers(rules, epoch, { now, previous, blocks })
      if (!proposers) throw new ReplayError(`epoch ${epoch}: what its proposers depend on is unknown`)
      return proposers
    },
    syncCommittee(epoch) {
      const periods = periodOf(epoch) - periodOf(before.epoch)
      if (periods > 1)
        throw new ReplayError(`epoch ${epoch}: its sync committee is not in the state of epoch ${before.epoch}`)
      return periods === 1 ? syncCommittees.next : syncCommittees.now
    },
  }
}
