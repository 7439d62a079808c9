// The figures that are stored about a validator's duties: whole numbers that can be added up over time.
// docs/methodology.md explains each. Packed rows store them by their index in `measures`: append new ones to that list, not to
// `counts`, which would move all amounts.

export const counts = [
  'assigned',
  'inclusions',
  'included',
  'inclusion_delay',
  'correct_source',
  'correct_target',
  'correct_head',
  'late_source',
  'late_target',
  'proposer_duties',
  'proposed',
  'proposed_empty',
  'sync_signatures',
  'slashes_collected',
  'slashes_received',
  /**
   * Epochs without an execution node, blocks whose payment is unknown, and missed blocks of epochs in which no payment is
   * known: the four execution amounts are unknown (behaviour/validators.md#unknown-values).
   */
  'execution_unknown',
] as const

export const rewards = ['attestation_reward', 'sync_reward', 'block_reward'] as const
/** Zero or negative, as on the wire. */
export const penalties = [
  'late_source_penalty',
  'late_target_penalty',
  'wrong_target_penalty',
  'wrong_head_penalty',
  'missed_attestation_penalty',
  'sync_penalty',
] as const

/** Only known with an execution node. */
export const executionAmounts = ['missed_execution_reward', 'priority_fee', 'baseline_mev', 'external_reward'] as const

/**
 * Balance changes that are not earnings, of every validator that has a balance (behaviour/validators.md#income). Deposits
 * and consolidations may be negative.
 */
export const transfers = ['deposited', 'withdrawn', 'consolidated'] as const

/** In gwei. */
export const amounts = [
  ...rewards,
  ...penalties,
  'missed_attestation_reward',
  'missed_sync_reward',
  'missed_block_reward',
  ...executionAmounts,
  'earnings',
  ...transfers,
  /** Zero or negative. A part of `earnings`, and not one of the penalties of 4.5. */
  'slashing_penalty',
] as const

export const measures = [...counts, ...amounts] as const
export type Measure = (typeof measures)[number]
export type Transfer = (typeof transfers)[number]
