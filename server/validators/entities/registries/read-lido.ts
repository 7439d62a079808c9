// Reads who operates validators of Lido, from its staking modules. All of them withdraw to one vault, which names the pool. A
// key in a module names the operator only together with this address: anybody can write a foreign key into a module.
//
// 1. Modules are those that the StakingRouter lists. A module of an unknown type is reported; its validators have the pool.
// 2. Keys of a module are read if its nonce has changed. Deposited keys never move, so only those after the stored ones are
//    read, a page at a time; the page and the count are one transaction.
// 3. An operator or a module with another name is read again from its first key.
import type { Network } from '#api/contract/wire/validators.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import { putRow } from '#storage/put-row.ts'
import type { State } from '#storage/state.ts'
import { toBytes } from '../../registry/registry.ts'
import { type EntityRule, putRules, rulesPerWrite } from '../rules.ts'
import { UnexpectedAnswer } from './address-registries.ts'
import { type FinalContracts, RegistryContradiction } from './final-contracts.ts'
import {
  isKnownType,
  type LidoModule,
  type LidoOperator,
  readKeys,
  readLidoContracts,
  readOperators,
} from './lido-contracts.ts'

export const lidoSource = 'lido'

const pool = 'Lido'
const source = { kind: 'registry', source: lidoSource } as const
const lock = { lock: 'registry' } as const

/** Returns the problems that the operator should know of, one line each. */
export async function readLido(
  state: State,
  network: Network,
  at: FinalContracts,
  locator: string,
  signal: AbortSignal,
): Promise<string[]> {
  const { vault, modules } = await readLidoContracts(at, locator)
  const ofVault: EntityRule = { ...plainRule, selector: 'withdrawalAddress', value: vault, pool }
  await at.confirm()
  await state.write((tx) => putRules(tx, network, source, [ofVault]), lock)
  const community = modules.find(({ type }) => type === 'community-onchain-v1')
  for (const module of modules.filter(isKnownType)) {
    const stream = `entities/${network}/lido/${module.address}`
    if ((await cursorOf(state, stream)) === module.nonce) continue
    const operators = await readOperators(at, module)
    const idOf = (id: number) => (module === community ? `csm:${id}` : `lido-${module.id}:${id}`)
    for (const operator of operators) {
      if (signal.aborted) return []
      await readOperator(state, network, at, { module, operator, vault, name: operator.name || idOf(operator.id) })
    }
    await state.write((tx) => moveCursor(tx, stream, module.nonce))
  }
  return modules
    .filter((module) => !isKnownType(module))
    .map(({ name, type }) => `the module ${name} has the unknown type ${type}: its validators have no operator`)
}

const plainRule = {
  ...{ days: undefined, pool: null, subpool: null, nodeOperators: null, dvtNetwork: null, dvtOperators: null },
}

interface OperatorInput {
  readonly module: LidoModule
  readonly operator: LidoOperator
  readonly vault: string
  readonly name: string
}

async function readOperator(
  state: State,
  network: Network,
  at: FinalContracts,
  { module, operator, vault, name }: OperatorInput,
): Promise<void> {
  const stored = await state.get<{ name: string; subpool: string; keys: number }>(
    'select name, subpool, key_count as keys from registry_operators where network = ? and module = ? and operator = ?',
    ...[network, toBytes(module.address), operator.id],
  )
  const { deposited } = operator
  if (stored && stored.keys > deposited)
    throw new RegistryContradiction(
      `${module.name} has ${deposited} keys of operator ${operator.id}, it had ${stored.keys}`,
    )
  let from = stored?.name === name && stored.subpool === module.name ? stored.keys : 0
  let pageMax = rulesPerWrite
  while (from < deposited) {
    const count = Math.min(pageMax, deposited - from)
    const keys = await readKeys(at, module, operator.id, from, count)
    if (!keys) {
      if (count === 1) throw new UnexpectedAnswer(`${module.address} refuses key ${from} of operator ${operator.id}`)
      pageMax = Math.ceil(count / 2)
      continue
    }
    const named = { ...plainRule, pool, subpool: module.name, nodeOperators: [name], ownedBy: vault }
    const rules = [...new Set(keys)].map((value): EntityRule => ({ ...named, selector: 'pubkey', value }))
    from += count
    const row = { network, module: toBytes(module.address), operator: operator.id }
    await at.confirm()
    await state.write(async (tx) => {
      await putRules(tx, network, source, rules)
      await putRow(tx, 'registry_operators', ['network', 'module', 'operator'], {
        ...row,
        ...{ name, subpool: module.name, key_count: from },
      })
    }, lock)
  }
}
