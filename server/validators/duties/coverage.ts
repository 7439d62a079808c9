// Which epochs of a network have been read completely. Ingest continues where coverage ends: there is no second cursor
// that could disagree.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { coverageOf } from '#storage/coverage.ts'
import type { StateReader } from '#storage/state.ts'

export const dutiesStream = (network: Network): string => `duties/${network}`

export const coveredEpochs = (duties: StateReader, network: Network): Promise<Range[]> =>
  coverageOf(duties, dutiesStream(network))
