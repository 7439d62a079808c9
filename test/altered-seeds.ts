// Runs a test with many seeds, each of which alters one answer of a source, and counts the outcomes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { type AlterationReport, type Answer, AnswerAlterer, alterationKinds, reportText } from './altered-answer.ts'
import { seedsOf } from './long.ts'

/**
 * Throws if something wrong was stored or claimed. True if an answer was refused and reported. The run stops the
 * alterer before the source recovers.
 */
export type AlteredRun = (seed: number, alterer: AnswerAlterer) => Promise<boolean>

export type Outcome = 'unaffected' | 'retried' | 'refused' | 'believed' | 'not altered'

export interface AlteredSeeds {
  readonly count: number
  /** In `npm test`; the long run uses all. */
  readonly perRun: number
  /** Seeds that failed before. */
  readonly kept?: readonly number[]
  /** Seeds with the same remainder have the same world, so a clean run is needed only once. */
  readonly worlds: number
  /** What a single source can state without contradicting itself (docs/security.md#trust-in-sources). */
  readonly isBelieved: (report: AlterationReport) => boolean
  /** Which answers are altered. Default: all. */
  readonly isChosen?: (answer: Answer) => boolean
}

const cleanCounts = new WeakMap<AlteredRun, Map<number, Promise<number>>>()

/** The number of answers of a run without an alteration. */
const cleanCountOf = (run: AlteredRun, world: number, isChosen?: AlteredSeeds['isChosen']): Promise<number> =>
  cleanCounts
    .getOrInsertComputed(run, () => new Map())
    .getOrInsertComputed(world, async () => {
      const draws = createSeededRandom('clean')
      const alterer = new AnswerAlterer(draws, Number.POSITIVE_INFINITY, alterationKinds, isChosen)
      assert.equal(await run(world, alterer), false, `world ${world} without an alteration`)
      return alterer.count
    })

export async function runAlteredSeed(
  name: string,
  run: AlteredRun,
  seed: number,
  { worlds, isBelieved, isChosen }: Pick<AlteredSeeds, 'worlds' | 'isBelieved' | 'isChosen'>,
): Promise<{ readonly outcome: Outcome; readonly report: AlterationReport | undefined }> {
  const count = await cleanCountOf(run, seed % worlds, isChosen)
  const draws = createSeededRandom(`${name} ${seed}`)
  const alterer = new AnswerAlterer(draws, draws.whole(0, Math.max(1, count)), alterationKinds, isChosen)
  try {
    const isRefused = await run(seed, alterer)
    const outcome = isRefused ? 'refused' : alterer.count > count ? 'retried' : 'unaffected'
    return { outcome: alterer.report ? outcome : 'not altered', report: alterer.report }
  } catch (error) {
    const { report } = alterer
    const reports = report ? [report, { ...report, path: report.otherPath ?? report.path }] : []
    if (error instanceof assert.AssertionError && reports.some(isBelieved)) return { outcome: 'believed', report }
    throw new Error(`seed ${seed}: ${reportText(report)}: ${(error as Error).message}`, { cause: error })
  }
}

/** One test for all seeds. The first wrong one fails it. */
export function testAlteredSeeds(name: string, openRun: () => AlteredRun, seeds: AlteredSeeds): void {
  test(name, async (t) => {
    const opened = openRun()
    // A function of its own, because the counts of clean runs depend on which answers are altered.
    const run: AlteredRun = (seed, alterer) => opened(seed, alterer)
    const outcomes = new Map<string, number>()
    for (const seed of [...(seeds.kept ?? []), ...seedsOf(seeds.count, seeds.perRun)]) {
      const { outcome } = await runAlteredSeed(name, run, seed, seeds)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
    t.diagnostic([...outcomes].map(([outcome, times]) => `${outcome} ${times}`).join(', '))
  })
}
