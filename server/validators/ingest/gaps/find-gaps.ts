// Finds gaps: epochs that are missing before the end of the coverage. Epochs after it are no gap: catching up reads them.
import type { Network } from '#api/contract/wire/validators.ts'
import { holes, type Range } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { configuredStart, type IngestSource } from '../write/ingest-source.ts'

/** All gaps of a network, from the first epoch that is wanted on, in ascending order. */
export async function findGaps(source: Pick<IngestSource, 'context' | 'network' | 'time'>): Promise<Range[]> {
  const covered = await coveredEpochs(source.context.duties, source.network)
  const [first, last] = [covered[0], covered.at(-1)]
  if (!first || !last) return []
  return holes(covered, { from: Math.min(first.from, configuredStart(source, first.from)), until: last.until })
}

/** The gaps within a range of epochs. */
export async function missingEpochs(duties: StateReader, network: Network, { from, until }: Range): Promise<Range[]> {
  const covered = await coveredEpochs(duties, network)
  return holes(covered, { from, until: Math.min(until, covered.at(-1)?.until ?? 0) })
}
