// The parts of a full state that epoch transitions need besides the validators. Ingest only needs them to compute
// states that no node has any more (validators/ingest/replay).
import { type ConsensusRules, isForkFrom } from './consensus.ts'
import type { PayloadState } from './payload-state.ts'
import { SszError, type View } from './ssz.ts'
import { electraOffsets, forkOfState, stateOffsets, syncCommitteeBytes } from './state-layout.ts'
import { indicesOfKeys, pubkeySize, type ValidatorKeys } from './validator-keys.ts'

export interface TransitionState {
  readonly justification: Justification
  /** Gwei of validators slashed in each epoch; index: epoch modulo the length. */
  readonly slashings: Float64Array
  /** Since Electra: gwei of the deposit churn that earlier epochs left. */
  readonly depositBalanceToConsume: number
  /** In Electra and Fulu: where the search for withdrawals continues. Since Gloas, it is in the payload state. */
  readonly sweep?: Pick<PayloadState, 'partialWithdrawals' | 'nextWithdrawalValidator'> | undefined
  /** By seat: the committees of this sync period and the next. */
  readonly syncCommittees: { readonly now: Uint32Array; readonly next: Uint32Array }
}

export interface Justification {
  /** Whether the last four epochs are justified, the latest first. */
  readonly bits: readonly boolean[]
  /** Epochs of the checkpoints. */
  readonly previousJustified: number
  readonly currentJustified: number
  readonly finalized: number
}

/** `keys`: those of the same state. */
export function transitionStateFromSsz(view: View, rules: ConsensusRules, keys: ValidatorKeys): TransitionState {
  const at = stateOffsets(rules)
  const slashings = view.part(at.participation - 8 * rules.slashingsVector, at.participation)
  const bitsAt = at.participation + 8
  const bits = view.part(bitsAt, bitsAt + 1).bytes[0] as number
  const syncSize = syncCommitteeBytes(rules)
  const fork = forkOfState(view, rules)
  const electra = electraOffsets(rules, fork)
  return {
    justification: {
      bits: [0, 1, 2, 3].map((bit) => ((bits >> bit) & 1) === 1),
      previousJustified: view.u64(bitsAt + 1),
      currentJustified: view.u64(bitsAt + 41),
      finalized: view.u64(at.finalized),
    },
    slashings: Float64Array.from({ length: rules.slashingsVector }, (_, index) => slashings.u64(index * 8)),
    depositBalanceToConsume: isForkFrom(fork, 'electra') ? view.u64(electra.churn + 8) : 0,
    sweep: isForkFrom(fork, 'electra') && !isForkFrom(fork, 'gloas') ? sweepFromSsz(view, electra) : undefined,
    syncCommittees: {
      now: seatsFrom(view.part(at.syncCommittees, at.syncCommittees + syncSize), rules, keys),
      next: seatsFrom(view.part(at.syncCommittees + syncSize, at.syncCommittees + 2 * syncSize), rules, keys),
    },
  }
}

const sweepFromSsz = (view: View, at: ReturnType<typeof electraOffsets>): TransitionState['sweep'] => ({
  partialWithdrawals: new Uint8Array(view.variable(at.pendingDeposits + 4, at.pendingDeposits + 8).bytes),
  nextWithdrawalValidator: view.u64(at.nextWithdrawal + 8),
})

function seatsFrom(committee: View, rules: ConsensusRules, keys: ValidatorKeys): Uint32Array {
  const seats = Array.from({ length: rules.syncCommitteeSize }, (_, seat) =>
    committee.hex(seat * pubkeySize, pubkeySize),
  )
  const indices = indicesOfKeys(keys, seats)
  return Uint32Array.from(seats, (pubkey) => {
    const index = indices.get(pubkey)
    if (index === undefined) throw new SszError(`the sync committee member ${pubkey} is not a validator`)
    return index
  })
}
