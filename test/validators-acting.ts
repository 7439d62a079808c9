// Random duties for tests that compare responses with a simple reference. They need not be a valid chain, but every
// measure varies, and validators start and exit.
import type { Epochs } from '#core/chain-time.ts'
import type { SeededRandom } from '#simulator/seeded-random.ts'
import { amounts, type Measure, measures } from '#validators/method/measures.ts'
import type { Row } from './validators-reference.ts'

export interface TestValidator {
  readonly index: number
  /** Epochs in which it has duties. */
  readonly fromEpoch: number
  readonly untilEpoch: number
  /** Probability of a missing vote. */
  readonly missing: number
}

/** Some have duties all the time, some start or exit in between, some never start. */
export function drawValidators(draws: SeededRandom, count: number, { from, until }: Epochs): TestValidator[] {
  const midway = () => draws.whole(from + 1, until)
  let index = 0
  return Array.from({ length: count }, (_, at) => {
    index += draws.whole(1, 4000)
    const fromEpoch = at % 5 === 1 ? midway() : at % 5 === 4 ? until : from
    const untilEpoch = at % 5 === 2 ? midway() : until
    return { index, fromEpoch, untilEpoch, missing: at === 0 ? 0 : draws.next() / 4 }
  })
}

export const drawDuties = (
  draws: SeededRandom,
  validators: readonly TestValidator[],
  epochs: Epochs,
  hasExecution: boolean,
): Row[] =>
  validators.flatMap(({ index, fromEpoch, untilEpoch, missing }) =>
    Array.from({ length: epochs.until - epochs.from }, (_, at) => epochs.from + at)
      .filter((epoch) => epoch >= fromEpoch && epoch < untilEpoch)
      .map((epoch) => {
        const values = dutiesOf(draws, missing, hasExecution)
        const all = measures.map((name) => [name, values[name] ?? 0])
        return { epoch, validator: index, ...(Object.fromEntries(all) as Record<Measure, number>) }
      }),
  )

const executionMeasures: readonly Measure[] = [
  'missed_execution_reward',
  'priority_fee',
  'baseline_mev',
  'external_reward',
]

function dutiesOf(draws: SeededRandom, missing: number, hasExecution: boolean): Partial<Record<Measure, number>> {
  const chanceOf = (share: number) => (draws.happens(share) ? 1 : 0)
  const included = chanceOf(1 - missing)
  const proposes = chanceOf(1 / 40)
  const proposed = proposes * chanceOf(0.8)
  const paid = amounts.map((name) => {
    const gwei = draws.happens(0.7) ? draws.whole(0, 50_000_000) : 0
    return [name, name.endsWith('penalty') || (name === 'earnings' && draws.happens(0.3)) ? 0 - gwei : gwei] as const
  })
  return {
    ...Object.fromEntries(paid.filter(([name]) => hasExecution || !executionMeasures.includes(name))),
    execution_unknown: hasExecution ? 0 : 1,
    assigned: 1,
    included,
    inclusions: included * draws.whole(1, 4),
    inclusion_delay: included * (draws.happens(0.2) ? draws.whole(2, 40) : 1),
    correct_source: included,
    correct_target: included * chanceOf(0.95),
    correct_head: included * chanceOf(0.9),
    late_source: included * chanceOf(0.05),
    late_target: included * chanceOf(0.02),
    proposer_duties: proposes,
    proposed,
    proposed_empty: proposed * chanceOf(0.3),
    sync_signatures: draws.happens(0.1) ? draws.whole(1, 9) : 0,
    slashes_collected: chanceOf(0.01),
    slashes_received: chanceOf(0.01),
  }
}
