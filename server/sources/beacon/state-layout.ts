// Positions of the fields of a state in its SSZ bytes. Later forks append fields, and Gloas replaces one.

import { type ConsensusRules, epochAt, type Fork, forkAt, isForkFrom } from './consensus.ts'
import { builderPaymentSize, committeeEpochs } from './gloas.ts'
import type { View } from './ssz.ts'
import { pubkeySize } from './validator-keys.ts'

const slotAt = 40

/** Those that all forks since Altair share. */
export function stateOffsets(rules: ConsensusRules) {
  const historicalRoots = 8 + 32 + 8 + 16 + 112 + 2 * 32 * rules.historicalRoots
  const votes = historicalRoots + 4 + 72
  const validators = votes + 4 + 8
  const balances = validators + 4
  const mixes = balances + 4
  const participation = mixes + 32 * rules.historicalMixes + 8 * rules.slashingsVector
  const finalized = participation + 8 + 1 + 80
  const scores = finalized + 40
  const syncCommittees = scores + 4
  return { slot: slotAt, validators, balances, mixes, participation, finalized, scores, syncCommittees }
}

/** Those since Electra. */
export function electraOffsets(rules: ConsensusRules, fork: Fork) {
  const { syncCommittees } = stateOffsets(rules)
  const afterCommittees = syncCommittees + 2 * syncCommitteeBytes(rules)
  // The hash of the last payload replaces the offset of its header.
  const nextWithdrawal = afterCommittees + (isForkFrom(fork, 'gloas') ? 32 : 4)
  // After the two withdrawal indices and the offset of the historical summaries.
  const churn = nextWithdrawal + 16 + 4
  const pendingDeposits = churn + 6 * 8
  const lookahead = pendingDeposits + 3 * 4
  return { latestBlockHash: afterCommittees, nextWithdrawal, churn, pendingDeposits, lookahead }
}

/** Those since Gloas. */
export function gloasOffsets(rules: ConsensusRules) {
  const builders = electraOffsets(rules, 'gloas').lookahead + 2 * rules.slotsPerEpoch * 8
  const nextBuilder = builders + 4
  const payments = nextBuilder + 8 + Math.ceil(rules.historicalRoots / 8)
  const builderWithdrawals = payments + 2 * rules.slotsPerEpoch * builderPaymentSize
  const latestBid = builderWithdrawals + 4
  const expectedWithdrawals = latestBid + 4
  const committees = expectedWithdrawals + 4
  const end = committees + committeeEpochs * rules.slotsPerEpoch * rules.payloadCommitteeSize * 8
  return { builders, nextBuilder, payments, builderWithdrawals, latestBid, expectedWithdrawals, committees, end }
}

export const syncCommitteeBytes = (rules: ConsensusRules): number => (rules.syncCommitteeSize + 1) * pubkeySize

/** The fork of a state follows from its slot. */
export const forkOfState = (view: View, rules: ConsensusRules): Fork => forkAt(rules, epochAt(rules, view.u64(slotAt)))
