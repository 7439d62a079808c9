// The version of the figures of a network, to find out whether two snapshots have the same figures. It changes with every
// commit that changes figures, and not if rows are merged.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { coveredEpochs } from './coverage.ts'
import { lastRevision } from './past-changes.ts'

export async function figuresVersion(reader: StateReader, network: Network): Promise<string> {
  const [covered, revision] = await Promise.all([coveredEpochs(reader, network), lastRevision(reader, network)])
  return toFiguresVersion(covered, revision)
}

export const toFiguresVersion = (covered: readonly Range[], revision: number): string =>
  `${revision} ${JSON.stringify(covered)}`
