// Epochs that were left out: which they are, and why a range has none that could be filled in (behaviour/validators.md#fill-gaps), or none that could be repaired.
import type { Network } from '#api/wire/validators.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { coveredEpochs } from '../duties/coverage.ts'

/** Those that nobody has read, before the end of the coverage: what comes after it is caught up with. */
export async function missingEpochs(duties: StateReader, network: Network, { from, until }: Range): Promise<Range[]> {
  const covered = await coveredEpochs(duties, network)
  return holes(covered, { from, until: Math.min(until, covered.at(-1)?.until ?? 0) })
}

export const countEpochs = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, one) => sum + one.until - one.from, 0)

/** Why no epoch of the range can be filled in; undefined: it has some that lie before the end of the coverage. */
export async function explainUnfillable(
  duties: StateReader,
  network: Network,
  { from, until }: Range,
): Promise<string | undefined> {
  if (from >= until) return `there is no epoch from ${from} up to ${until}: the second is the one to stop before`
  const end = (await coveredEpochs(duties, network)).at(-1)?.until
  const follow = `tetrad ingest beacon --network ${network} --once`
  if (end === undefined) {
    const setting = `validators.networks.${network}.beacon.fromEpoch`
    return `nothing has been read of ${network} yet, so nothing was left out: begin with ${follow}, from ${setting} on`
  }
  if (from < end) return undefined
  return `${network} has been read up to epoch ${end - 1}, and ${from} was not left out: ${follow} reads what has become final since`
}

/** Why epochs cannot be read again; undefined: some of the range are stored, and none lies behind the end of the coverage. */
export async function explainUnrepairable(
  duties: StateReader,
  network: Network,
  { from, until }: Range,
): Promise<string | undefined> {
  if (from >= until) return `there is no epoch from ${from} up to ${until}: the second is the one to stop before`
  const covered = await coveredEpochs(duties, network)
  const end = covered.at(-1)?.until ?? 0
  const read = `tetrad ingest beacon --network ${network}`
  if (end === 0) return `no epoch of ${network} is stored yet: read them with \`${read} --once\``
  if (until > end) {
    const stored = `epochs of ${network} are stored up to ${end - 1}`
    const todo = from < end ? `pass --until-epoch ${end}, or read` : 'read'
    return `${stored}, and later ones are not final or have not been read: ${todo} them first with \`${read} --once\``
  }
  if (within(covered, { from, until }).length > 0) return undefined
  return `epochs ${from} to ${until - 1} of ${network} are not stored: read them with \`${read} --from-epoch ${from} --until-epoch ${until}\``
}
