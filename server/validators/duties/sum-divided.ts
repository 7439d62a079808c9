// Divides a query about many validators among threads. Each thread reads its part in a snapshot of its own. If epochs or
// past days were written meanwhile, the snapshots may differ. The whole query then runs again, in one snapshot.
import type { StateReader } from '#storage/state.ts'
import { figuresVersion } from './figures-version.ts'
import { joinSums, type RecordSums, type SumInput } from './record-sums.ts'

/** Queries about at least this many validators are divided. */
const dividedFrom = 64

/** `sum` runs one query; `count` is the number of threads. */
export async function sumDivided(
  reader: StateReader,
  input: SumInput,
  count: number,
  sum: (input: SumInput) => Promise<RecordSums>,
): Promise<RecordSums> {
  const parts = divide(input, count)
  if (parts.length < 2) return sum(input)
  const { network } = input.query
  const before = await figuresVersion(reader, network)
  const sums = await Promise.all(parts.map(sum))
  return (await figuresVersion(reader, network)) === before ? joinSums(sums, input) : sum(input)
}

/** The same query for parts of its validators. */
function divide({ query, ...input }: SumInput, count: number): SumInput[] {
  const { validators } = query
  if (validators.length < dividedFrom) return []
  const size = Math.ceil(validators.length / count)
  const parts = Array.from({ length: count }, (_, at) => validators.slice(at * size, (at + 1) * size))
  return parts.filter(({ length }) => length > 0).map((part) => ({ ...input, query: { ...query, validators: part } }))
}
