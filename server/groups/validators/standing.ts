// What an answer about a network rests on: the epochs that have been read, and in which of them the validators it speaks of were
// kept. It is the same until somebody writes, so it is kept in memory until then (decision 0155).
import type { Network } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { holes, merge, type Range } from '#core/ranges.ts'
import type { Facts } from '#store/facts.ts'
import { coveredEpochs } from './duties.ts'
import { hourEpochs } from './hours.ts'
import { isWatched, keptEpochs, validatorCount } from './ingest/watched.ts'
import { refuseOtherWindows, windowsTrouble } from './row-windows.ts'

export interface Standing {
  /** Epochs that have been read completely. */
  readonly covered: readonly Range[]
  /** Not everyone was kept in all of them. */
  readonly isWatched: boolean
}

const known = new WeakMap<Facts, { version: number; byName: Map<string, Promise<unknown>> }>()

/** What `read` told since the last write. */
function remembered<T>(facts: Facts, name: string, read: () => Promise<T>): Promise<T> {
  const version = facts.version()
  if (version === undefined) return read()
  let kept = known.get(facts)
  if (kept?.version !== version) {
    kept = { version, byName: new Map() }
    known.set(facts, kept)
  }
  const { byName } = kept
  const found = byName.get(name)
  if (found) return found as Promise<T>
  const reading = read()
  byName.set(name, reading)
  reading.catch(() => byName.delete(name))
  return reading
}

export const standingOf = (facts: Facts, network: Network): Promise<Standing> =>
  remembered(facts, `duties ${network}`, async () => {
    const [covered, watched] = await Promise.all([coveredEpochs(facts, network), isWatched(facts, network)])
    return { covered, isWatched: watched }
  })

/** For an answer that is made of the network's rows: a fault where they were added up in other windows than are configured. */
export async function rowStandingOf(facts: Facts, network: Network, time: ChainTime): Promise<Standing> {
  const reading = standingOf(facts, network)
  const name = `windows ${network} ${time.epochsPerHour} ${time.epochsPerDay}`
  const [standing, trouble] = await Promise.all([
    reading,
    remembered(facts, name, () => windowsTrouble(facts, network, time, async () => (await reading).covered)),
  ])
  refuseOtherWindows(trouble)
  return standing
}

/** For an answer that is made of hours in these epochs: without those whose hours have been let go of. */
export async function hourlyStandingOf(
  facts: Facts,
  network: Network,
  time: ChainTime,
  hourly: readonly Range[],
): Promise<Standing> {
  const standing = await rowStandingOf(facts, network, time)
  const { covered } = standing
  const hours = await remembered(facts, `hours ${network}`, () => hourEpochs(facts, network, time, covered))
  const gone = merge(hourly.flatMap((range) => holes(hours, range)))
  return { ...standing, covered: covered.flatMap((range) => holes(gone, range)) }
}

/** Of what has been read: the epochs in which all of these validators were kept. Whoever does not exist has nothing to keep. */
export async function keptOf(
  facts: Facts,
  network: Network,
  { isWatched, covered }: Standing,
  validators: readonly number[],
): Promise<readonly Range[]> {
  if (!isWatched) return covered
  const count = await remembered(facts, `count ${network}`, () => validatorCount(facts, network))
  return keptEpochs(facts, network, covered, count === undefined ? validators : validators.filter((one) => one < count))
}
