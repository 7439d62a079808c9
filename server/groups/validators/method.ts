// Method 1: how ratings follow from the stored measures (docs/methodology.md, with worked examples). The formulae are SQL
// because the store does the folding; this is their only home. A later method gets a new number, never a silent change.
//
// 1. A grain is one validator's row for a day (or an hour, where hours are asked for).
// 2. The three effectiveness figures of a record are means over its grains; grains without assignments, and for
//    proposers without duties, do not count.
// 3. Correctness, delay and uptime are ratios of sums. Everything else is a sum.
// 4. In the formulae of a record a measure's name stands for its sum over the record, a score's name for its mean.
import type { AggregateField } from '#api/wire/validators.ts'

/** Sent with every answer that holds figures, so that whoever keeps them knows how they came about. */
export const methodHeaders = { 'x-tetrad-method': '1' } as const

/** Engines add doubles in any order, and differ in what they call rounding: ten digits, and a half goes up. */
const rounded = (sql: string): string => `floor(1e10 * (${sql}) + 0.5e0) / 1e10`

// Per grain. `1e2` and the like are doubles in every engine.
// 100 · (included / assigned) · (correct / (3 · included)) / (delay / included), cancelled so that it also holds for a
// grain in which nothing was included: that is 0.
const attester = `case when assigned = 0 then null when inclusion_delay = 0 then 0e0
  else 1e2 * included * (correct_source + correct_target + correct_head) / (3e0 * assigned * inclusion_delay) end`
// A block with payload scores 1, with an empty one 1/4, a missed or orphaned one 0.
const proposer = `case when proposer_duties = 0 then null
  else 25e0 * (4 * proposed - 3 * proposed_empty) / proposer_duties end`
const validator = `case when proposer_duties = 0 then (${attester}) else 0.375e0 * (${proposer}) + 0.625e0 * (${attester}) end`

export const grainScores = { attester_score: attester, proposer_score: proposer, validator_score: validator } as const

const ratio = (above: string, below: string): string =>
  rounded(`case when ${below} = 0 then null else 1e0 * (${above}) / (${below}) end`)

/** The figures of spec 2.3 that have fractions. */
export const figures = {
  attesterEffectiveness: rounded('attester_score'),
  proposerEffectiveness: rounded('proposer_score'),
  validatorEffectiveness: rounded('validator_score'),
  avgCorrectness: ratio('correct_source + correct_target + correct_head', '3 * included'),
  avgInclusionDelay: ratio('inclusion_delay', 'included'),
  uptime: ratio('included', 'assigned'),
} as const

/** Known only where every epoch was read with an execution source (decision 0035). */
const ifExecutionKnown = (sql: string): string => `case when execution_unknown = 0 then ${sql} end`

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
  earnings: 'earnings',
  estimatedPenalties: penalties,
  estimatedRewards: 'attestation_reward + sync_reward + block_reward',
  executionProposedEmptyCount: 'proposed_empty',
  proposedCount: 'proposed',
  proposerDutiesCount: 'proposer_duties',
  slashesCollected: 'slashes_collected',
  slashesReceived: 'slashes_received',
  syncSignatureCount: 'sync_signatures',
  totalAttestationAssignments: 'assigned',
  totalAttestations: 'inclusions',
  totalUniqueAttestations: 'included',
  sumAllRewards: ifExecutionKnown('earnings + priority_fee + baseline_mev'),
  sumAttestationRewards: 'attestation_reward',
  sumBaselineMev: ifExecutionKnown('baseline_mev'),
  sumConsensusBlockRewards: 'block_reward',
  sumCorrectHead: 'correct_head',
  sumCorrectSource: 'correct_source',
  sumCorrectTarget: 'correct_target',
  sumExternallySourcedExecutionRewards: ifExecutionKnown('external_reward'),
  sumInclusionDelay: 'inclusion_delay',
  sumLateSourcePenalties: 'late_source_penalty',
  sumLateSourceVotes: 'late_source',
  sumLateTargetPenalties: 'late_target_penalty',
  sumLateTargetVotes: 'late_target',
  sumMissedAttestationPenalties: 'missed_attestation_penalty',
  sumMissedAttestationRewards: 'missed_attestation_reward',
  sumMissedAttestations: 'assigned - included',
  sumMissedConsensusBlockRewards: 'missed_block_reward',
  sumMissedExecutionRewards: ifExecutionKnown('missed_execution_reward'),
  sumMissedSyncCommitteeRewards: 'missed_sync_reward',
  sumPriorityFees: ifExecutionKnown('priority_fee'),
  sumSyncCommitteePenalties: 'sync_penalty',
  sumWrongHeadPenalties: 'wrong_head_penalty',
  sumWrongHeadVotes: 'included - correct_head',
  sumWrongTargetPenalties: 'wrong_target_penalty',
  sumWrongTargetVotes: 'included - correct_target',
}
