// Finds entries of a watch list that match no validator: probably a mistake, or a validator that is not on the chain
// yet. Watched validators are in the registry from the first epoch that was read with the list.
import type { Network } from '#api/contract/wire/validators.ts'
import { selectIn } from '#storage/select-in.ts'
import type { StateReader, Value } from '#storage/state.ts'
import type { ValidatorsContext } from '../../context.ts'
import { toBytes, toHex } from '../../registry/registry.ts'

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
    const sql = `select distinct ${column} as name from validators where network = ? and ${column} in`
    const rows = await selectIn<{ name: never }>(state, sql, [network], names.map(toValue))
    for (const { name } of rows) known.add(toName(name))
  }
  return watch.filter((name) => !known.has(normalize(name)))
}

/** How many entries the log and the doctor show. */
export const unknownWatchedShownMax = 10

export async function logUnknownWatched(
  { ingest, log }: Pick<ValidatorsContext, 'ingest' | 'log'>,
  network: Network,
  watch: readonly string[],
): Promise<void> {
  const unknown = await findUnknownWatched(ingest, network, watch)
  if (unknown.length === 0) return
  const message = 'watch list names unknown validators; they are recorded once they appear'
  log.warn({ network, count: unknown.length, first: unknown.slice(0, unknownWatchedShownMax) }, message)
}
