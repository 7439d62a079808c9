// Method 1: computes ratings from the stored measures (docs/methodology.md has worked examples). All formulas are in
// this file. A changed method gets a new number.
//
// 1. A grain is one validator's sums over a day, or over an hour with `granularity=hour` (4.6).
// 2. The three effectiveness figures of a record are means over its grains. Grains without assignments, or without
//    proposer duties for the proposer figure, do not count.
// 3. Correctness, delay and uptime are ratios of sums. All other figures are sums.
import type { AggregateField } from '#api/contract/wire/validators.ts'
import { type Measure, penalties, rewards } from './measures.ts'

export const methodNumber = 1

/** Sent with every response that has figures, so that stored figures can be attributed to a method. */
export const methodHeaders = { 'x-tetrad-method': `${methodNumber}` } as const

// ------------------------------------------------------------------------------------------------------------------- scores

export type Score = 'attester' | 'proposer' | 'validator'

/** The measures that scores are computed from. All of them are counts. */
export const scoreMeasures = [
  'assigned',
  'included',
  'inclusion_delay',
  'correct_source',
  'correct_target',
  'correct_head',
  'proposer_duties',
  'proposed',
  'proposed_empty',
] as const satisfies readonly Measure[]

/** By window: the sum of the grains' scores, and the number of grains that have one. */
export interface ScoreTotals {
  readonly sums: Float64Array
  readonly counts: Float64Array
}

/** Adds the scores of a validator's grains to their windows. */
export function addScores(
  grains: Readonly<Record<(typeof scoreMeasures)[number], Int32Array>>,
  windowOf: Int32Array,
  totals: Readonly<Record<Score, ScoreTotals>>,
): void {
  const { assigned, included, inclusion_delay, correct_source, correct_target, correct_head } = grains
  const { proposer_duties, proposed, proposed_empty } = grains
  const { attester, proposer, validator } = totals
  for (let grain = 0; grain < windowOf.length; grain++) {
    const window = windowOf[grain] as number
    const blocks = proposer_duties[grain] as number
    let blockScore = 0
    if (blocks !== 0) {
      // A block with payload scores 1, with an empty payload 1/4, a missed or orphaned block 0.
      blockScore = (25 * (4 * (proposed[grain] as number) - 3 * (proposed_empty[grain] as number))) / blocks
      addScore(proposer, window, blockScore)
    }
    const votes = assigned[grain] as number
    if (votes === 0) continue
    const slots = inclusion_delay[grain] as number
    const correct =
      (correct_source[grain] as number) + (correct_target[grain] as number) + (correct_head[grain] as number)
    // 100 · (included / assigned) · (correct / (3 · included)) / (delay / included), simplified. 0 if nothing was
    // included.
    const voteScore = slots === 0 ? 0 : (100 * (included[grain] as number) * correct) / (3 * votes * slots)
    addScore(attester, window, voteScore)
    addScore(validator, window, blocks === 0 ? voteScore : 0.375 * blockScore + 0.625 * voteScore)
  }
}

function addScore({ sums, counts }: ScoreTotals, window: number, score: number): void {
  sums[window] = (sums[window] as number) + score
  counts[window] = (counts[window] as number) + 1
}

// ------------------------------------------------------------------------------------------------------------------ figures

/** Sums and mean scores, one entry per record. NaN: unknown, or no grain has such a score. */
export interface RecordValues {
  sum(measure: Measure): Float64Array
  score(score: Score): Float64Array
}

/** Computes one figure of every record from `measures` and `scores`. NaN: unknown, or it does not exist. */
export interface Figure {
  readonly measures: readonly Measure[]
  readonly scores: readonly Score[]
  of(values: RecordValues): Float64Array
}

/** Rounds half up to ten decimals: the order in which doubles are added must not be visible. */
const rounded = (value: number): number => Math.floor(1e10 * value + 0.5) / 1e10

const sum = (...names: [Measure, ...Measure[]]): Figure => ({
  measures: names,
  scores: [],
  of: (values) =>
    names
      .map((name) => values.sum(name))
      .reduce((total, more) => total.map((value, at) => value + (more[at] as number))),
})

const difference = (above: Measure, below: Measure): Figure => ({
  measures: [above, below],
  scores: [],
  of: (values) => {
    const less = values.sum(below)
    return values.sum(above).map((value, at) => value - (less[at] as number))
  },
})

const ratio = (above: readonly [Measure, ...Measure[]], below: Measure, times = 1): Figure => {
  const total = sum(...above)
  return {
    measures: [...above, below],
    scores: [],
    of: (values) => {
      const divisors = values.sum(below)
      return total.of(values).map((value, at) => {
        const divisor = times * (divisors[at] as number)
        return divisor === 0 ? Number.NaN : rounded(value / divisor)
      })
    },
  }
}

const mean = (score: Score): Figure => ({
  measures: [],
  scores: [score],
  of: (values) => values.score(score).map(rounded),
})

/** Unknown unless every epoch was read with an execution node (behaviour/validators.md#unknown-values). */
const ifExecutionKnown = (figure: Figure): Figure => ({
  ...figure,
  measures: [...figure.measures, 'execution_unknown'],
  of: (values) => {
    const unknown = values.sum('execution_unknown')
    return figure.of(values).map((value, at) => (unknown[at] === 0 ? value : Number.NaN))
  },
})

/** The figures of spec 2.3 that are not sums. */
export const figures = {
  attesterEffectiveness: mean('attester'),
  proposerEffectiveness: mean('proposer'),
  validatorEffectiveness: mean('validator'),
  avgCorrectness: ratio(['correct_source', 'correct_target', 'correct_head'], 'included', 3),
  avgInclusionDelay: ratio(['inclusion_delay'], 'included'),
  uptime: ratio(['included'], 'assigned'),
} as const satisfies Record<string, Figure>

/** Fields that are not computed from measures. */
export type TimeField = 'day' | 'startDay' | 'endDay' | 'startEpoch' | 'endEpoch'

/** All other fields of the aggregated record (spec 2.3). */
export const aggregateFigures: Readonly<Record<Exclude<AggregateField, TimeField>, Figure>> = {
  attesterEffectiveness: figures.attesterEffectiveness,
  avgCorrectness: figures.avgCorrectness,
  avgInclusionDelay: figures.avgInclusionDelay,
  uptime: figures.uptime,
  validatorEffectiveness: figures.validatorEffectiveness,
  earnings: sum('earnings'),
  estimatedPenalties: sum(...penalties),
  estimatedRewards: sum(...rewards),
  executionProposedEmptyCount: sum('proposed_empty'),
  proposedCount: sum('proposed'),
  proposerDutiesCount: sum('proposer_duties'),
  slashesCollected: sum('slashes_collected'),
  slashesReceived: sum('slashes_received'),
  syncSignatureCount: sum('sync_signatures'),
  totalAttestationAssignments: sum('assigned'),
  totalAttestations: sum('inclusions'),
  totalUniqueAttestations: sum('included'),
  sumAllRewards: ifExecutionKnown(sum('earnings', 'priority_fee', 'baseline_mev')),
  sumAttestationRewards: sum('attestation_reward'),
  sumBaselineMev: ifExecutionKnown(sum('baseline_mev')),
  sumConsensusBlockRewards: sum('block_reward'),
  sumCorrectHead: sum('correct_head'),
  sumCorrectSource: sum('correct_source'),
  sumCorrectTarget: sum('correct_target'),
  sumExternallySourcedExecutionRewards: ifExecutionKnown(sum('external_reward')),
  sumInclusionDelay: sum('inclusion_delay'),
  sumLateSourcePenalties: sum('late_source_penalty'),
  sumLateSourceVotes: sum('late_source'),
  sumLateTargetPenalties: sum('late_target_penalty'),
  sumLateTargetVotes: sum('late_target'),
  sumMissedAttestationPenalties: sum('missed_attestation_penalty'),
  sumMissedAttestationRewards: sum('missed_attestation_reward'),
  sumMissedAttestations: difference('assigned', 'included'),
  sumMissedConsensusBlockRewards: sum('missed_block_reward'),
  sumMissedExecutionRewards: ifExecutionKnown(sum('missed_execution_reward')),
  sumMissedSyncCommitteeRewards: sum('missed_sync_reward'),
  sumPriorityFees: ifExecutionKnown(sum('priority_fee')),
  sumSyncCommitteePenalties: sum('sync_penalty'),
  sumWrongHeadPenalties: sum('wrong_head_penalty'),
  sumWrongHeadVotes: difference('included', 'correct_head'),
  sumWrongTargetPenalties: sum('wrong_target_penalty'),
  sumWrongTargetVotes: difference('included', 'correct_target'),
}

/** The distinct measures and scores that these figures need. */
export const inputsFor = (
  list: readonly Figure[],
): { readonly measures: readonly Measure[]; readonly scores: readonly Score[] } => ({
  measures: [...new Set(list.flatMap((figure) => figure.measures))],
  scores: [...new Set(list.flatMap((figure) => figure.scores))],
})
