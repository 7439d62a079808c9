// What is stored about registries of the chain: their state, and which withdrawal addresses they have been asked about.
//
// 1. The rules of a set of addresses, and that they have been asked about, are one transaction. So a process that is killed
//    leaves whole sets, and the next one continues after them.
// 2. A registry that cannot be read keeps its rules. `at_block` says as of which block it was complete.
import type { Network } from '#api/contract/wire/validators.ts'
import { putRow } from '#storage/put-row.ts'
import type { State, StateReader } from '#storage/state.ts'
import { toHex } from '../../registry/registry.ts'
import { type EntityRule, putRules, type RuleSource, removeRulesOf, replaceRules } from '../rules.ts'
import type { FinalBlock } from './final-contracts.ts'

const lock = { lock: 'registry' } as const

export interface RegistryState {
  readonly source: string
  /** The contracts that it begins with. */
  readonly contracts: string
  /** Null: it has not been read completely yet. */
  readonly atBlock: number | null
  readonly atUnix: number | null
  /** Why it is not read at present; null: it is. */
  readonly problem: string | null
}

export const readRegistryStates = (state: StateReader, network: Network): Promise<RegistryState[]> =>
  state.all<RegistryState>(
    `select source, contracts, at_block as "atBlock", at_unix as "atUnix", problem from entity_sources
     where network = ? and contracts <> '' order by source`,
    network,
  )

const sourceOf = (registry: string): RuleSource => ({ kind: 'registry', source: registry })

export interface ConfiguredRegistry {
  readonly id: string
  /** Of `withdrawal_addresses.asked`; 0: it is not asked about addresses. */
  readonly bit: number
  readonly contracts: string
}

/** A registry with other contracts than before is asked about everything again. One that is not configured is removed. */
export async function syncRegistries(
  state: State,
  network: Network,
  configured: readonly ConfiguredRegistry[],
): Promise<void> {
  const stored = new Map((await readRegistryStates(state, network)).map((row) => [row.source, row]))
  for (const { id, bit, contracts } of configured) {
    const before = stored.get(id)
    stored.delete(id)
    if (before?.contracts === contracts) continue
    if (before) await forgetRegistry(state, network, id)
    await state.write(async (tx) => {
      const clear = 'update withdrawal_addresses set asked = asked & ? where network = ? and asked & ? <> 0'
      if (bit !== 0) await tx.run(clear, ~bit, network, bit)
      const row = { at_block: null, at_unix: null, problem: null }
      await putRow(tx, 'entity_sources', ['network', 'source'], { network, source: id, contracts, ...row })
    }, lock)
  }
  for (const id of stored.keys()) {
    await forgetRegistry(state, network, id)
    await state.write((tx) => tx.run('delete from entity_sources where network = ? and source = ?', network, id), lock)
  }
}

/** Only one registry has operators: that of staking modules. */
async function forgetRegistry(state: State, network: Network, id: string): Promise<void> {
  await replaceRules(state, network, sourceOf(id), [])
  await state.write(async (tx) => {
    if (id === 'lido') await tx.run('delete from registry_operators where network = ?', network)
    await tx.run('delete from cursors where stream like ?', `entities/${network}/${id}/%`)
  }, lock)
}

export interface AskedAddress {
  readonly address: string
  /** Bits of the registries that have answered about it. */
  readonly asked: number
}

/** Some addresses that these registries have not been asked about. */
export async function nextAddresses(
  state: StateReader,
  network: Network,
  bits: number,
  count: number,
): Promise<AskedAddress[]> {
  const rows = await state.all<{ address: Uint8Array; asked: number }>(
    'select address, asked from withdrawal_addresses where network = ? and asked & ? <> ? limit ?',
    ...[network, bits, bits, count],
  )
  return rows.map(({ address, asked }) => ({ address: toHex(address), asked }))
}

/** What a registry answered about a set of addresses. */
export interface AddressAnswer {
  readonly id: string
  readonly bit: number
  readonly asked: readonly string[]
  readonly rules: readonly EntityRule[]
}

/** Rule 1. */
export async function storeAddressAnswers(
  state: State,
  network: Network,
  addresses: readonly AskedAddress[],
  answers: readonly AddressAnswer[],
): Promise<void> {
  const asked = new Map(addresses.map((row) => [row.address, row.asked]))
  for (const answer of answers)
    for (const address of answer.asked) asked.set(address, (asked.get(address) ?? 0) | answer.bit)
  const rows = [...asked].map(([address, bits]) => [network, Buffer.from(address.slice(2), 'hex'), bits])
  await state.write(async (tx) => {
    for (const answer of answers) {
      const named = new Set(answer.rules.map(({ value }) => value))
      const others = answer.asked.filter((address) => !named.has(address))
      await removeRulesOf(tx, network, sourceOf(answer.id), 'withdrawalAddress', others)
      await putRules(tx, network, sourceOf(answer.id), answer.rules)
    }
    await tx.updateMany('withdrawal_addresses', ['network', 'address'], ['asked'], rows)
  }, lock)
}

/** Writes only what differs from before. */
export async function storeRegistryState(
  state: State,
  network: Network,
  { source, problem }: Pick<RegistryState, 'source' | 'problem'>,
  block?: FinalBlock,
): Promise<void> {
  const before = (await readRegistryStates(state, network)).find((row) => row.source === source)
  if (!before || (before.problem === problem && (!block || before.atBlock === block.number))) return
  const at = block ? { at_block: block.number, at_unix: block.unix } : {}
  await state.write(
    (tx) =>
      putRow(tx, 'entity_sources', ['network', 'source'], {
        network,
        source,
        contracts: before.contracts,
        problem,
        ...at,
      }),
    lock,
  )
}
