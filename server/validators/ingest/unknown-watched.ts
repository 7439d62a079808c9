// Names on a watch list that fit nobody: a mistake most likely, or a validator that is still to come. Those who are kept are in the
// registry since the first epoch that was read with the list.
import type { Network } from '#api/wire/validators.ts'
import type { StateReader, Value } from '#storage/state.ts'
import type { ValidatorsContext } from '../context.ts'
import { toBytes, toHex } from '../registry/registry.ts'

/** Well below every engine's limit on parameters. */
const namesPerQuery = 500

interface NameKind {
  readonly fits: RegExp
  readonly column: string
  readonly toValue: (name: string) => Value
  readonly toName: (value: never) => string
}

const nameKinds: readonly NameKind[] = [
  { fits: /^\d+$/, column: 'validator_index', toValue: Number, toName: String },
  { fits: /^0x.{96}$/, column: 'pubkey', toValue: toBytes, toName: toHex },
  { fits: /^0x.{40}$/, column: 'withdrawal_address', toValue: toBytes, toName: toHex },
]

/** In the order of the list. */
export async function findUnknownWatched(
  state: StateReader,
  network: Network,
  watch: readonly string[],
): Promise<string[]> {
  const known = new Set<string>()
  const plain = (name: string) => (name.startsWith('0x') ? name.toLowerCase() : String(Number(name)))
  for (const { fits, column, toValue, toName } of nameKinds) {
    const names = watch.filter((name) => fits.test(name))
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
  return watch.filter((name) => !known.has(plain(name)))
}

/** As many as a line in the log, or of the doctor, can name. */
export const unknownWatchedShownMax = 10

export async function logUnknownWatched(
  { state, settings, log }: Pick<ValidatorsContext, 'state' | 'settings' | 'log'>,
  network: Network,
): Promise<void> {
  const unknown = await findUnknownWatched(state, network, settings.validators.networks[network].watch)
  if (unknown.length === 0) return
  const message = 'the watch list names validators that the network does not have; they are kept from when they come'
  log.warn({ network, count: unknown.length, first: unknown.slice(0, unknownWatchedShownMax) }, message)
}
