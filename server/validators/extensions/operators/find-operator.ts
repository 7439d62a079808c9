// Finds pools and node operators by name.
import type { Network } from '#api/contract/wire/validators.ts'
import { type OperatorIdType, operatorIdTypes } from '#api/contract/wire/validators-operators.ts'
import type { StateReader } from '#storage/state.ts'

const tables: Readonly<Record<OperatorIdType, string>> = {
  pool: 'validator_pools where network = ? and pool = ?',
  nodeOperator: 'validator_operators where network = ? and operator = ?',
}

/** What the imported entities have under this name: first a pool, then a node operator. Undefined: neither. */
export async function findOperator(
  state: StateReader,
  network: Network,
  name: string,
  idTypes: readonly OperatorIdType[] = operatorIdTypes,
): Promise<OperatorIdType | undefined> {
  for (const idType of idTypes) {
    if (await state.get(`select 1 as found from ${tables[idType]} limit 1`, network, name)) return idType
  }
  return undefined
}
