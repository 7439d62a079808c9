// Epochs that were left out: which they are, and why a range has none that could be filled in (decision 0156).
import type { Network } from '#api/wire/validators.ts'
import { holes, type Range } from '#core/ranges.ts'
import type { FactsReader } from '#store/facts.ts'
import { coveredEpochs } from '../duties.ts'

/** Those that nobody has read, before the end of the coverage: what comes after it is caught up with. */
export async function missingEpochs(facts: FactsReader, network: Network, { from, until }: Range): Promise<Range[]> {
  const covered = await coveredEpochs(facts, network)
  return holes(covered, { from, until: Math.min(until, covered.at(-1)?.until ?? 0) })
}

export const countOf = (ranges: readonly Range[]): number => ranges.reduce((sum, one) => sum + one.until - one.from, 0)

/** Why no epoch of the range can be filled in; undefined: it has some that lie before the end of the coverage. */
export async function outOfReach(
  facts: FactsReader,
  network: Network,
  { from, until }: Range,
): Promise<string | undefined> {
  if (from >= until) return `there is no epoch from ${from} up to ${until}: the second is the one to stop before`
  const end = (await coveredEpochs(facts, network)).at(-1)?.until
  const follow = `tetrad ingest beacon --network ${network} --once`
  if (end === undefined) {
    const setting = `validators.networks.${network}.beacon.fromEpoch`
    return `nothing has been read of ${network} yet, so nothing was left out: begin with ${follow}, from ${setting} on`
  }
  if (from < end) return undefined
  return `${network} has been read up to epoch ${end - 1}, and ${from} was not left out: ${follow} reads what has become final since`
}
