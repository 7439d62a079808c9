// Finds entries of a watch list that match no validator: probably a mistake, or a validator that is not on the chain
// yet. Watched validators are in the registry from the first epoch that was read with the list.
import type { Network } from '#api/wire/validators.ts'
import type { StateReader, Value } from '#storage/state.ts'
import type { ValidatorsContext } from '../context.ts'
import { toBytes, toHex } from '../registry/registry.ts'

/** Well below the parameter limit of both database engines. */
const namesPerQuery = 500

interface NameKind {
  readonly pattern: RegExp
  readonly column: string
  readonly toValue: (name: string) => Value
  readonly toName: (value: never) => string
}

const nameKinds: readonly NameKind[] = [
  { pattern: /^\d+$/, column: 'validator_index', toValue: Number, toName: String },
  { pattern: /^0x.{96}$/, column: 'pubkey', toValue: toBytes, toName: toHex },
  { pattern: /^0x.{40}$/, column: 'withdrawal_address', toValue: toBytes, toName: toHex },
]

/** Returned in the order of the list. */
export async function findUnknownWatched(
  state: StateReader,
  network: Network,
  watch: readonly string[],
): Promise<string[]> {
  const known = new Set<string>()
  const normalize = (name: string) => (name.startsWith('0x') ? name.toLowerCase() : String(Number(name)))
  for (const { pattern, column, toValue, toName } of nameKinds) {
    const names = watch.filter((name) => pattern.test(name))
    for (let from = 0; from < names.length; from += namesPerQuery) {
      const values: Value[] = names.slice(from, from + namesPerQuery).map((name) => toValue(name))
      const rows = await state.all<{ name: never }>(
        `select distinct ${column} as name from validators where network = ? and ${column} in (${values.map(() => '?').join()})`,
        network,
        ...values,
      )
      for (const { name } of rows) known.add(toName(name))
    }
  }
  return watch.filter((name) => !known.has(normalize(name)))
}

/** How many entries the log and the doctor show. */
export const unknownWatchedShownMax = 10

export async function logUnknownWatched(
  { state, log }: Pick<ValidatorsContext, 'state' | 'log'>,
  network: Network,
  watch: readonly string[],
): Promise<void> {
  const unknown = await findUnknownWatched(state, network, watch)
  if (unknown.length === 0) return
  const message = 'watch list names unknown validators; they are recorded once they appear'
  log.warn({ network, count: unknown.length, first: unknown.slice(0, unknownWatchedShownMax) }, message)
}
