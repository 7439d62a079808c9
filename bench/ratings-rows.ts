// The data and queries of bench/ratings.ts: half days of all validators of a network.
import { createSeededRandom } from '#simulator/seeded-random.ts'
import type { Segment } from '#validators/duties/write.ts'
import { type Measure, measures } from '#validators/method/measures.ts'

/** A deterministic number from 0 to 999. */
function draw(validator: number, part: number, salt: number): number {
  let hash = Math.imul(validator + 1, 0x9e37_79b1) ^ Math.imul(part + 1, 0x85eb_ca6b) ^ Math.imul(salt, 0xc2b2_ae35)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b_3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a_2d39)
  return ((hash ^ (hash >>> 15)) >>> 0) % 1000
}

/** Epochs of one day: mostly good, with some misses, blocks and sync duties like on a real network. */
export function sumsOf(validators: number, part: number, epochs: number): Pick<Segment, 'validator' | 'sums'> {
  const sums = Object.fromEntries(measures.map((name) => [name, new Float64Array(validators)])) as Record<
    Measure,
    Float64Array
  >
  const share = epochs / 225
  // Rewards depend on the number of votes, which changes from day to day.
  const reward = 9234 + (draw(0, part, 9) % 40) - 20
  for (let validator = 0; validator < validators; validator++) {
    const [a, b, c, d] = [1, 2, 3, 4].map((salt) => draw(validator, part, salt)) as [number, number, number, number]
    const missed = a < 1000 - 100 * share ? 0 : a < 1000 - 10 * share ? 1 + (a % 3) : a % Math.floor((epochs * 8) / 9)
    const included = epochs - missed
    const wrongHead = Math.min(included, (b % 7) >> 1)
    const wrongTarget = b < 50 * share ? 1 : 0
    const late = b < 30 * share ? 1 : 0
    const duties = c < 70 && d < 280 * share ? 1 : 0
    const missedBlocks = duties > 0 && c < 10 ? 1 : 0
    const sync = d < 2 ? 24 * epochs + (c % 10) : 0
    const put = (name: Measure, value: number) => {
      sums[name][validator] = value
    }
    put('assigned', epochs)
    put('included', included)
    put('inclusions', included + (c % 9))
    put('inclusion_delay', included + ((c % 14) >> 1))
    put('correct_source', included)
    put('correct_target', included - wrongTarget)
    put('correct_head', included - wrongHead)
    put('late_source', late)
    put('proposer_duties', duties)
    put('proposed', duties - missedBlocks)
    put('sync_signatures', sync)
    put('attestation_reward', included * reward - wrongHead * 2394 - wrongTarget * 4446)
    put('sync_reward', sync * 410)
    put('block_reward', (duties - missedBlocks) * (40_000_000 + a * 1013))
    put('late_source_penalty', late * -2394)
    put('wrong_target_penalty', wrongTarget * -4446)
    put('missed_attestation_penalty', missed * -6840)
    put('missed_attestation_reward', missed * reward + wrongHead * 2394)
    put('missed_block_reward', missedBlocks * 40_000_000)
    put('priority_fee', (duties - missedBlocks) * (21_000_000 + a * 331))
    put('baseline_mev', (duties - missedBlocks) * (35_000_000 + a * 771))
    const penalties = late * -2394 + wrongTarget * -4446 + missed * -6840
    put(
      'earnings',
      included * reward -
        wrongHead * 2394 -
        wrongTarget * 4446 +
        sync * 410 +
        (sums.block_reward[validator] as number) +
        penalties,
    )
  }
  return { validator: Int32Array.from({ length: validators }, (_, index) => index), sums }
}

/** A validator of the registry. */
export const entryOf = (index: number) => ({
  index,
  pubkey: `0x${index.toString(16).padStart(96, '0')}`,
  activationEligibilityEpoch: 0,
  activationEpoch: 0,
  exitEpoch: null,
  withdrawableEpoch: null,
  withdrawalAddress: null,
})

export interface BenchQuery {
  readonly name: string
  readonly validators: readonly number[]
  readonly from: number
  readonly until: number
}

/** The limit of spec 4.5. */
export const validatorsPerCall = 10_000

/** Over the last `queriedDays` of the days. */
export function benchQueries(validators: number, days: number, queriedDays = days): readonly BenchQuery[] {
  const manyCount = Math.min(validatorsPerCall, validators / 10)
  const from = days - queriedDays
  const draws = createSeededRandom('ratings')
  const sample = (count: number) =>
    [...new Set(Array.from({ length: count * 3 }, () => draws.whole(0, validators)))].slice(0, count)
  /** A pool deposits in batches, so its validators have consecutive indices. */
  const runs = [
    ...new Set(
      sample(manyCount / 100).flatMap((first) => Array.from({ length: 100 }, (_, at) => (first + at) % validators)),
    ),
  ]
  const all = Array.from({ length: validators }, (_, index) => index)
  return [
    { name: `one × ${queriedDays} days`, validators: sample(1), from, until: days },
    { name: `100 random × ${queriedDays} days`, validators: sample(100), from, until: days },
    { name: `${manyCount} in runs × ${queriedDays} days`, validators: runs, from, until: days },
    { name: `${manyCount} random × ${queriedDays} days`, validators: sample(manyCount), from, until: days },
    {
      name: 'all × one day long ago',
      validators: all,
      from: from + (queriedDays >> 2),
      until: from + (queriedDays >> 2) + 1,
    },
    { name: 'all × the last day', validators: all, from: days - 1, until: days },
  ]
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** Milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
