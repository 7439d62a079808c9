// Finds missing epochs, and explains why a range cannot be filled (behaviour/validators.md#fill-gaps) or repaired.
import type { Network } from '#api/wire/validators.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { coveredEpochs } from '../duties/coverage.ts'

/** Missing epochs before the end of the coverage. Later ones are not missing: catching up reads them. */
export async function missingEpochs(duties: StateReader, network: Network, { from, until }: Range): Promise<Range[]> {
  const covered = await coveredEpochs(duties, network)
  return holes(covered, { from, until: Math.min(until, covered.at(-1)?.until ?? 0) })
}

export const countEpochs = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, { from, until }) => sum + until - from, 0)

const emptyRange = ({ from, until }: Range): string =>
  `the range ${from} to ${until} is empty: --until-epoch must be larger than --from-epoch`

/** Why no epoch of the range can be filled; undefined: the range starts before the end of the coverage. */
export async function explainUnfillable(
  duties: StateReader,
  network: Network,
  { from, until }: Range,
): Promise<string | undefined> {
  if (from >= until) return emptyRange({ from, until })
  const end = (await coveredEpochs(duties, network)).at(-1)?.until
  const follow = `tetrad ingest beacon --network ${network} --once`
  if (end === undefined) {
    const setting = `validators.networks.${network}.beacon.fromEpoch`
    return `no epoch of ${network} is stored yet. Start with \`${follow}\`, which reads from ${setting} on`
  }
  if (from < end) return undefined
  return `epochs of ${network} are stored up to ${end - 1}. Later epochs are not gaps: \`${follow}\` reads them once they are final`
}

/**
 * Why the range cannot be repaired; undefined: some of its epochs are stored, and none is after the end of the
 * coverage.
 */
export async function explainUnrepairable(
  duties: StateReader,
  network: Network,
  { from, until }: Range,
): Promise<string | undefined> {
  if (from >= until) return emptyRange({ from, until })
  const covered = await coveredEpochs(duties, network)
  const end = covered.at(-1)?.until ?? 0
  const read = `tetrad ingest beacon --network ${network}`
  if (end === 0) return `no epoch of ${network} is stored yet. Read them with \`${read} --once\``
  if (until > end) {
    const stored = `epochs of ${network} are stored up to ${end - 1}`
    const todo = from < end ? `Pass --until-epoch ${end}, or read` : 'Read'
    return `${stored}; later ones are not final or have not been read yet. ${todo} them first with \`${read} --once\``
  }
  if (within(covered, { from, until }).length > 0) return undefined
  return `epochs ${from} to ${until - 1} of ${network} are not stored. Read them with \`${read} --from-epoch ${from} --until-epoch ${until}\``
}
