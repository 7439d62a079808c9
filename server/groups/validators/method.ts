// Method 1: how ratings follow from the stored measures (docs/methodology.md, with worked examples). This is the only place of the formulas.
// A later method gets a new number, never a silent change.
//
// 1. A grain is one validator's sums over a day (or an hour, where hours are asked for).
// 2. The three effectiveness figures of a record are means over its grains; grains without assignments, and for proposers without duties,
//    do not count.
// 3. Correctness, delay and uptime are ratios of sums. Everything else is a sum.
import type { AggregateField } from '#api/wire/validators.ts'
import { type Measure, measures } from './measures.ts'

/** Sent with every answer that holds figures, so that whoever keeps them knows how they came about. */
export const methodHeaders = { 'x-tetrad-method': '1' } as const

// ------------------------------------------------------------------------------------------------------------------- scores

export type Score = 'attester' | 'proposer' | 'validator'

const attesterMeasures = [
  'assigned',
  'included',
  'inclusion_delay',
  'correct_source',
  'correct_target',
  'correct_head',
] as const
const proposerMeasures = ['proposer_duties', 'proposed', 'proposed_empty'] as const

/** The measures that a grain's score is formed from. */
export const scoreMeasures: Readonly<Record<Score, readonly Measure[]>> = {
  attester: attesterMeasures,
  proposer: proposerMeasures,
  validator: [...attesterMeasures, ...proposerMeasures],
}

/** Scores of many grains at once. */
export class GrainScores {
  readonly #scores: Readonly<Record<Score, Float64Array>>

  constructor(grains: number) {
    const column = () => new Float64Array(grains)
    this.#scores = { attester: column(), proposer: column(), validator: column() }
  }

  /** One per grain; NaN: the grain does not count. */
  of(score: Score): Float64Array {
    return this.#scores[score]
  }

  /** From one array per measure; those of scores that are not asked for may be missing. */
  compute(values: readonly (Int32Array | undefined)[]): void {
    const of = (measure: Measure) => values[measures.indexOf(measure)] as Int32Array
    const { attester, proposer, validator } = this.#scores
    if (of('assigned')) attesterScores(of, attester)
    if (of('proposer_duties')) proposerScores(of, proposer)
    if (!of('assigned') || !of('proposer_duties')) return
    const duties = of('proposer_duties')
    for (let grain = 0; grain < validator.length; grain++) {
      const votes = attester[grain] as number
      validator[grain] = duties[grain] === 0 ? votes : 0.375 * (proposer[grain] as number) + 0.625 * votes
    }
  }
}

type ColumnOf = (measure: Measure) => Int32Array

// 100 · (included / assigned) · (correct / (3 · included)) / (delay / included), cancelled so that it also holds for a
// grain in which nothing was included: that is 0.
function attesterScores(of: ColumnOf, scores: Float64Array): void {
  const [assigned, included, delay] = [of('assigned'), of('included'), of('inclusion_delay')]
  const [source, target, head] = [of('correct_source'), of('correct_target'), of('correct_head')]
  for (let grain = 0; grain < scores.length; grain++) {
    const [duties, slots] = [assigned[grain] as number, delay[grain] as number]
    const correct = (source[grain] as number) + (target[grain] as number) + (head[grain] as number)
    const score = slots === 0 ? 0 : (100 * (included[grain] as number) * correct) / (3 * duties * slots)
    scores[grain] = duties === 0 ? Number.NaN : score
  }
}

// A block with payload scores 1, with an empty one 1/4, a missed or orphaned one 0.
function proposerScores(of: ColumnOf, scores: Float64Array): void {
  const [duties, proposed, empty] = [of('proposer_duties'), of('proposed'), of('proposed_empty')]
  for (let grain = 0; grain < scores.length; grain++) {
    const blocks = 4 * (proposed[grain] as number) - 3 * (empty[grain] as number)
    scores[grain] = duties[grain] === 0 ? Number.NaN : (25 * blocks) / (duties[grain] as number)
  }
}

// ------------------------------------------------------------------------------------------------------------------ figures

/** A record's sums and mean scores. NaN: unknown, or no grain has such a score. */
export interface RecordValues {
  sum(measure: Measure): number
  score(score: Score): number
}

/** One figure of a record, and what it is formed from. */
export interface Figure {
  readonly measures: readonly Measure[]
  readonly scores: readonly Score[]
  /** Null: it is not known, or does not exist. */
  of(values: RecordValues): number | null
}

const known = (value: number): number | null => (Number.isNaN(value) ? null : value)

/** Doubles are added in any order: ten digits, and a half goes up. */
const rounded = (value: number): number => Math.floor(1e10 * value + 0.5) / 1e10

const added = (values: RecordValues, names: readonly Measure[]): number =>
  names.reduce((total, name) => total + values.sum(name), 0)

const sum = (...names: Measure[]): Figure => ({
  measures: names,
  scores: [],
  of: (values) => known(added(values, names)),
})

const difference = (above: Measure, below: Measure): Figure => ({
  measures: [above, below],
  scores: [],
  of: (values) => known(values.sum(above) - values.sum(below)),
})

const ratio = (above: readonly Measure[], below: Measure, times = 1): Figure => ({
  measures: [...above, below],
  scores: [],
  of: (values) => {
    const divisor = times * values.sum(below)
    return divisor === 0 ? null : known(rounded(added(values, above) / divisor))
  },
})

const mean = (score: Score): Figure => ({
  measures: [],
  scores: [score],
  of: (values) => known(rounded(values.score(score))),
})

/** Known only where every epoch was read with an execution source (decision 0035). */
const ifExecutionKnown = (figure: Figure): Figure => ({
  ...figure,
  measures: [...figure.measures, 'execution_unknown'],
  of: (values) => (values.sum('execution_unknown') === 0 ? figure.of(values) : null),
})

/** The figures of spec 2.3 that have fractions. */
export const figures = {
  attesterEffectiveness: mean('attester'),
  proposerEffectiveness: mean('proposer'),
  validatorEffectiveness: mean('validator'),
  avgCorrectness: ratio(['correct_source', 'correct_target', 'correct_head'], 'included', 3),
  avgInclusionDelay: ratio(['inclusion_delay'], 'included'),
  uptime: ratio(['included'], 'assigned'),
} as const satisfies Record<string, Figure>

/** Where a record lies in time does not come out of the measures. */
export type PlaceField = 'day' | 'startDay' | 'endDay' | 'startEpoch' | 'endEpoch'

/** Every other field of the aggregated record (spec 2.3). */
export const aggregateFigures: Readonly<Record<Exclude<AggregateField, PlaceField>, Figure>> = {
  attesterEffectiveness: figures.attesterEffectiveness,
  avgCorrectness: figures.avgCorrectness,
  avgInclusionDelay: figures.avgInclusionDelay,
  uptime: figures.uptime,
  validatorEffectiveness: figures.validatorEffectiveness,
  earnings: sum('earnings'),
  estimatedPenalties: sum(
    'late_source_penalty',
    'late_target_penalty',
    'wrong_target_penalty',
    'wrong_head_penalty',
    'missed_attestation_penalty',
    'sync_penalty',
  ),
  estimatedRewards: sum('attestation_reward', 'sync_reward', 'block_reward'),
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

/** What these figures are formed from, each once. */
export const neededFor = (
  list: readonly Figure[],
): { readonly measures: readonly Measure[]; readonly scores: readonly Score[] } => ({
  measures: [...new Set(list.flatMap((figure) => figure.measures))],
  scores: [...new Set(list.flatMap((figure) => figure.scores))],
})
