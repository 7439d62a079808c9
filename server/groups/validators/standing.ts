// What an answer about a network rests on: the epochs that have been read, and in which of them the validators it speaks of were
// kept. It is the same until somebody writes, so it is kept in memory until then.
import type { Network } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { holes, merge, type Range } from '#core/ranges.ts'
import type { Duties } from '#store/duties.ts'
import { coveredEpochs } from './duties/coverage.ts'
import { hourEpochs } from './duties/hours.ts'
import { refuseOtherWindows, validatorCount, windowsTrouble } from './duties/networks.ts'
import { isWatched, keptEpochs } from './duties/watch-ranges.ts'

export interface Standing {
  /** Epochs that have been read completely. */
  readonly covered: readonly Range[]
  /** Not everyone was kept in all of them. */
  readonly isWatched: boolean
}

const known = new WeakMap<Duties, { version: number; byName: Map<string, Promise<unknown>> }>()

/** What `read` told since the last write. */
function remembered<T>(duties: Duties, name: string, read: () => Promise<T>): Promise<T> {
  const version = duties.version()
  let kept = known.get(duties)
  if (kept?.version !== version) {
    kept = { version, byName: new Map() }
    known.set(duties, kept)
  }
  const { byName } = kept
  const found = byName.get(name)
  if (found) return found as Promise<T>
  const reading = read()
  byName.set(name, reading)
  reading.catch(() => byName.delete(name))
  return reading
}

export const standingOf = (duties: Duties, network: Network): Promise<Standing> =>
  remembered(duties, `duties ${network}`, async () => {
    const [covered, watched] = await Promise.all([coveredEpochs(duties, network), isWatched(duties, network)])
    return { covered, isWatched: watched }
  })

/** For an answer that is made of the network's rows: a fault where they were added up in other windows than are configured. */
export async function rowStandingOf(duties: Duties, network: Network, time: ChainTime): Promise<Standing> {
  const reading = standingOf(duties, network)
  const name = `windows ${network} ${time.epochsPerHour} ${time.epochsPerDay}`
  const [standing, trouble] = await Promise.all([
    reading,
    remembered(duties, name, () => windowsTrouble(duties, network, time)),
  ])
  refuseOtherWindows(trouble)
  return standing
}

/** For an answer that is made of hours in these epochs: without those whose hours have been let go of. */
export async function hourlyStandingOf(
  duties: Duties,
  network: Network,
  time: ChainTime,
  hourly: readonly Range[],
): Promise<Standing> {
  const standing = await rowStandingOf(duties, network, time)
  const { covered } = standing
  const hours = await remembered(duties, `hours ${network}`, () => hourEpochs(duties, network))
  const gone = merge(hourly.flatMap((range) => holes(hours, range)))
  return { ...standing, covered: covered.flatMap((range) => holes(gone, range)) }
}

/** Of what has been read: the epochs in which all of these validators were kept. Whoever does not exist has nothing to keep. */
export async function keptOf(
  duties: Duties,
  network: Network,
  { isWatched, covered }: Standing,
  validators: readonly number[],
): Promise<readonly Range[]> {
  if (!isWatched) return covered
  const count = await remembered(duties, `count ${network}`, () => validatorCount(duties, network))
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
export async function atOneCoverage<T>(duties: Duties, network: Network, work: () => Promise<T>): Promise<T> {
  const coverage = async () => JSON.stringify((await standingOf(duties, network)).covered)
  for (let attempt = 1; attempt < attemptsMax; attempt++) {
    const before = await coverage()
    const result = await work()
    if ((await coverage()) === before) return result
  }
  return work()
}
