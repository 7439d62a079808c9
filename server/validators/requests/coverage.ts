// Coverage of responses: the epochs that have been read, and in which of them the requested validators were stored. It
// is cached until the next write.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { holes, merge, type Range } from '#core/ranges.ts'
import type { ValidatorsContext } from '../context.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { toFiguresVersion } from '../duties/figures-version.ts'
import { hourEpochs } from '../duties/hours.ts'
import { describeWindowsMismatch, refuseOtherWindows, validatorCount } from '../duties/networks.ts'
import { lastRevision } from '../duties/past-changes.ts'
import { keptEpochs, watchRangesVersion } from '../duties/watch-ranges.ts'

export interface NetworkCoverage {
  /** Epochs that have been read completely. */
  readonly covered: readonly Range[]
  /** Some epochs have only the validators of a watch list. */
  readonly isWatched: boolean
  /** Changes with the epochs in which validators of a watch list are stored. */
  readonly rangesVersion: string | undefined
  /** The version of the figures of these epochs. A replica may answer if it has the same. */
  readonly figures: string
}

export const getNetworkCoverage = async (
  { duties, validators }: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
): Promise<NetworkCoverage> =>
  validators.coverage(duties, network, async () => {
    const [covered, rangesVersion, revision] = await Promise.all([
      coveredEpochs(duties, network),
      watchRangesVersion(duties, network),
      lastRevision(duties, network),
    ])
    const figures = toFiguresVersion(covered, revision)
    return { covered, isWatched: rangesVersion !== undefined, rangesVersion, figures }
  })

/** For responses with figures. Throws a fault if they were added up by other hours or days than configured. */
export async function getRowCoverage(
  context: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
  time: ChainTime,
): Promise<NetworkCoverage> {
  const { duties, validators } = context
  const windows = `${network} ${time.epochsPerHour} ${time.epochsPerDay}`
  const [coverage, problem] = await Promise.all([
    getNetworkCoverage(context, network),
    validators.windowsMismatches(duties, windows, () => describeWindowsMismatch(duties, network, time)),
  ])
  refuseOtherWindows(problem)
  return coverage
}

/** For responses with hourly figures of these epochs: without epochs whose hours have been deleted. */
export async function getHourlyCoverage(
  context: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
  time: ChainTime,
  hourly: readonly Range[],
): Promise<NetworkCoverage> {
  const { duties, validators } = context
  const coverage = await getRowCoverage(context, network, time)
  const { covered } = coverage
  const hours = await validators.storedHours(duties, network, () => hourEpochs(duties, network))
  const deleted = merge(hourly.flatMap((range) => holes(hours, range)))
  return { ...coverage, covered: covered.flatMap((range) => holes(deleted, range)) }
}

/** The covered epochs in which all of these validators were stored. Ignores unknown validators. */
export async function getKeptEpochs(
  { duties, validators: caches }: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
  { isWatched, covered }: NetworkCoverage,
  validators: readonly number[],
): Promise<readonly Range[]> {
  if (!isWatched) return covered
  const count = await caches.validatorCounts(duties, network, () => validatorCount(duties, network))
  return keptEpochs(
    duties,
    network,
    covered,
    count === undefined ? validators : validators.filter((index) => index < count),
  )
}

/** After this many attempts, a response may have one epoch more than its coverage reports. */
const attemptsMax = 5

/** Repeats `work` if epochs were committed meanwhile, so that all it reads belongs to the same coverage. */
export async function withStableCoverage<T>(
  context: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
  work: () => Promise<T>,
): Promise<T> {
  const coverage = async () => JSON.stringify(await getNetworkCoverage(context, network))
  for (let attempt = 1; attempt < attemptsMax; attempt++) {
    const before = await coverage()
    const result = await work()
    if ((await coverage()) === before) return result
  }
  return work()
}
