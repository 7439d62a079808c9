// Explains to the caller of a repair why a range of epochs cannot be repaired (behaviour/validators.md#repair-epochs).
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { coveredEpochs } from '../../duties/coverage.ts'

/** Undefined: the range is not empty, and none of its epochs is after the end of the coverage. */
export async function explainUnrepairable(
  duties: StateReader,
  network: Network,
  { from, until }: Range,
): Promise<string | undefined> {
  if (from >= until) return `the range ${from} to ${until} is empty: --until-epoch must be larger than --from-epoch`
  const end = (await coveredEpochs(duties, network)).at(-1)?.until ?? 0
  const read = `tetrad ingest beacon --network ${network} --once`
  if (end === 0) return `no epoch of ${network} is stored yet. Read them with \`${read}\``
  if (until <= end) return undefined
  const stored = `epochs of ${network} are stored up to ${end - 1}`
  const todo = from < end ? `Pass --until-epoch ${end}, or read` : 'Read'
  return `${stored}; later ones are not final or have not been read yet. ${todo} them first with \`${read}\``
}
