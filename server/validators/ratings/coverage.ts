// What an answer about a network rests on: the epochs that have been read, and in which of them the validators it speaks of were
// kept. It is the same until the next write, so it is cached until then.
import type { Network } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { holes, merge, type Range } from '#core/ranges.ts'
import type { ValidatorsContext } from '../context.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { hourEpochs } from '../duties/hours.ts'
import { describeWindowsMismatch, refuseOtherWindows, validatorCount } from '../duties/networks.ts'
import { isWatched, keptEpochs } from '../duties/watch-ranges.ts'

export interface NetworkCoverage {
  /** Epochs that have been read completely. */
  readonly covered: readonly Range[]
  /** Not everyone was kept in all of them. */
  readonly isWatched: boolean
}

export const getNetworkCoverage = (
  { duties, validators }: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
): Promise<NetworkCoverage> =>
  validators.coverage(duties, network, async () => {
    const [covered, watched] = await Promise.all([coveredEpochs(duties, network), isWatched(duties, network)])
    return { covered, isWatched: watched }
  })

/** For an answer that is made of the network's rows: a fault where they were added up in other windows than are configured. */
export async function getRowCoverage(
  context: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
  time: ChainTime,
): Promise<NetworkCoverage> {
  const { duties, validators } = context
  const windows = `${network} ${time.epochsPerHour} ${time.epochsPerDay}`
  const [coverage, problem] = await Promise.all([
    getNetworkCoverage(context, network),
    validators.windowTroubles(duties, windows, () => describeWindowsMismatch(duties, network, time)),
  ])
  refuseOtherWindows(problem)
  return coverage
}

/** For an answer that is made of hours in these epochs: without those whose hours have been let go of. */
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
  const gone = merge(hourly.flatMap((range) => holes(hours, range)))
  return { ...coverage, covered: covered.flatMap((range) => holes(gone, range)) }
}

/** Of what has been read: the epochs in which all of these validators were kept. Whoever does not exist has nothing to keep. */
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
    count === undefined ? validators : validators.filter((one) => one < count),
  )
}

/** An answer that other commits overtook so often is given as it is: it holds an epoch more than it names. */
const attemptsMax = 5

/** What `work` reads belongs to one coverage: it is done again when epochs were committed meanwhile. */
export async function withStableCoverage<T>(
  context: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
  work: () => Promise<T>,
): Promise<T> {
  const coverage = async () => JSON.stringify((await getNetworkCoverage(context, network)).covered)
  for (let attempt = 1; attempt < attemptsMax; attempt++) {
    const before = await coverage()
    const result = await work()
    if ((await coverage()) === before) return result
  }
  return work()
}
