// Method 1: how ratings follow from the stored measures (docs/methodology.md, with worked examples). The formulae are SQL
// because the store does the folding; this is their only home. A later method gets a new number, never a silent change.
//
// 1. A grain is one validator's row for a day (or an hour, where hours are asked for).
// 2. The three effectiveness figures of a record are means over its grains; grains without assignments, and for
//    proposers without duties, do not count.
// 3. Correctness, delay and uptime are ratios of sums. Everything else is a sum.
import type { AggregateField } from '#api/wire/validators.ts'

export const methodVersion = 1

/** Engines add doubles in any order; the last digits that this can change are cut off. */
const rounded = (sql: string): string => `round(${sql}, 10)`

// Per grain. `1e2` and the like are doubles in every engine.
// 100 · (included / assigned) · (correct / (3 · included)) / (delay / included), cancelled so that it also holds for a
// grain in which nothing was included: that is 0.
const attester = `case when assigned = 0 then null when inclusion_delay = 0 then 0e0
  else 1e2 * included * (correct_source + correct_target + correct_head) / (3e0 * assigned * inclusion_delay) end`
// A block with payload scores 1, with an empty one 1/4, a missed or orphaned one 0.
const proposer = `case when proposer_duties = 0 then null
  else 25e0 * (4 * proposed - 3 * proposed_empty) / proposer_duties end`
const validator = `case when proposer_duties = 0 then (${attester}) else 0.375e0 * (${proposer}) + 0.625e0 * (${attester}) end`

const ratio = (above: string, below: string): string =>
  rounded(`case when sum(${below}) = 0 then null else 1e0 * sum(${above}) / sum(${below}) end`)

/** The figures of spec 2.3 that have fractions. */
export const figures = {
  attesterEffectiveness: rounded(`avg(${attester})`),
  proposerEffectiveness: rounded(`avg(${proposer})`),
  validatorEffectiveness: rounded(`avg(${validator})`),
  avgCorrectness: ratio('correct_source + correct_target + correct_head', '3 * included'),
  avgInclusionDelay: ratio('inclusion_delay', 'included'),
  uptime: ratio('included', 'assigned'),
} as const

/** Known only where every epoch was read with an execution source (decision 0035). */
const ifExecutionKnown = (sql: string): string => `case when sum(execution_unknown) = 0 then ${sql} end`

const penalties = [
  'late_source_penalty',
  'late_target_penalty',
  'wrong_target_penalty',
  'wrong_head_penalty',
  'missed_attestation_penalty',
  'sync_penalty',
].join(' + ')

/** Where a record lies in time does not come out of the measures. */
export type PlaceField = 'day' | 'startDay' | 'endDay' | 'startEpoch' | 'endEpoch'

/** Every other field of the aggregated record (spec 2.3). */
export const aggregateSql: Readonly<Record<Exclude<AggregateField, PlaceField>, string>> = {
  attesterEffectiveness: figures.attesterEffectiveness,
  avgCorrectness: figures.avgCorrectness,
  avgInclusionDelay: figures.avgInclusionDelay,
  uptime: figures.uptime,
  validatorEffectiveness: figures.validatorEffectiveness,
  earnings: 'sum(earnings)',
  estimatedPenalties: `sum(${penalties})`,
  estimatedRewards: 'sum(attestation_reward + sync_reward + block_reward)',
  executionProposedEmptyCount: 'sum(proposed_empty)',
  proposedCount: 'sum(proposed)',
  proposerDutiesCount: 'sum(proposer_duties)',
  slashesCollected: 'sum(slashes_collected)',
  slashesReceived: 'sum(slashes_received)',
  syncSignatureCount: 'sum(sync_signatures)',
  totalAttestationAssignments: 'sum(assigned)',
  totalAttestations: 'sum(inclusions)',
  totalUniqueAttestations: 'sum(included)',
  sumAllRewards: ifExecutionKnown('sum(earnings + priority_fee + baseline_mev)'),
  sumAttestationRewards: 'sum(attestation_reward)',
  sumBaselineMev: ifExecutionKnown('sum(baseline_mev)'),
  sumConsensusBlockRewards: 'sum(block_reward)',
  sumCorrectHead: 'sum(correct_head)',
  sumCorrectSource: 'sum(correct_source)',
  sumCorrectTarget: 'sum(correct_target)',
  sumExternallySourcedExecutionRewards: ifExecutionKnown('sum(external_reward)'),
  sumInclusionDelay: 'sum(inclusion_delay)',
  sumLateSourcePenalties: 'sum(late_source_penalty)',
  sumLateSourceVotes: 'sum(late_source)',
  sumLateTargetPenalties: 'sum(late_target_penalty)',
  sumLateTargetVotes: 'sum(late_target)',
  sumMissedAttestationPenalties: 'sum(missed_attestation_penalty)',
  sumMissedAttestationRewards: 'sum(missed_attestation_reward)',
  sumMissedAttestations: 'sum(assigned - included)',
  sumMissedConsensusBlockRewards: 'sum(missed_block_reward)',
  sumMissedExecutionRewards: ifExecutionKnown('sum(missed_execution_reward)'),
  sumMissedSyncCommitteeRewards: 'sum(missed_sync_reward)',
  sumPriorityFees: ifExecutionKnown('sum(priority_fee)'),
  sumSyncCommitteePenalties: 'sum(sync_penalty)',
  sumWrongHeadPenalties: 'sum(wrong_head_penalty)',
  sumWrongHeadVotes: 'sum(included - correct_head)',
  sumWrongTargetPenalties: 'sum(wrong_target_penalty)',
  sumWrongTargetVotes: 'sum(included - correct_target)',
}
