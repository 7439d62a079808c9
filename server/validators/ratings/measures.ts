// What is known about a validator's duties in any stretch of time: whole numbers that can be added up, nothing else.
// docs/methodology.md says what each one means. Chunks store them by their place in `measures`: new ones go to its end.

/** How many. */
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
  /** Epochs read without an execution source: the four execution amounts are then unknown, not zero (behaviour/validators.md#unknown-values). */
  'execution_unknown',
] as const

/** Gwei. Penalties are zero or negative, as the wire shows them; earnings have either sign. */
export const amounts = [
  'attestation_reward',
  'sync_reward',
  'block_reward',
  'late_source_penalty',
  'late_target_penalty',
  'wrong_target_penalty',
  'wrong_head_penalty',
  'missed_attestation_penalty',
  'sync_penalty',
  'missed_attestation_reward',
  'missed_sync_reward',
  'missed_block_reward',
  'missed_execution_reward',
  'priority_fee',
  'baseline_mev',
  'external_reward',
  'earnings',
] as const

export const measures = [...counts, ...amounts] as const
export type Measure = (typeof measures)[number]
