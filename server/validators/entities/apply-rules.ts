// Determines the entities of pending validators again (rules.ts, rule 2), some at a time.
import type { Network } from '#api/contract/wire/validators.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { toHex } from '../registry/registry.ts'
import { putMemberships, readEntityDays } from './memberships.ts'
import { resolveRules } from './resolve-rules.ts'
import { bytesOfValue, findRangeRules, findRules, type Selector, type StoredRule } from './rules.ts'

/** Validators per write, so that it holds its lock for a moment only. */
const validatorsPerWrite = 500

/** Returns how many validators have another entity than before. */
export async function applyRules(state: State, network: Network, signal?: AbortSignal): Promise<number> {
  let changed = 0
  while (!signal?.aborted) {
    const any = await state.get('select 1 as found from entity_pending where network = ? limit 1', network)
    if (!any) break
    changed += await state.write((tx) => applyToPending(tx, network), { lock: 'registry' })
    // SQLite never waits, so yield here: requests must not wait for a million validators.
    await nextEventLoopTurn()
  }
  return changed
}

async function applyToPending(tx: StateWriter, network: Network): Promise<number> {
  const pending = await tx.all<{ index: number }>(
    'select validator_index as "index" from entity_pending where network = ? order by validator_index limit ?',
    network,
    validatorsPerWrite,
  )
  const indices = pending.map(({ index }) => index)
  const rulesOf = await findRulesOfValidators(tx, network, indices)
  const currentDay = (await readEntityDays(tx, network))?.currentDay ?? 0
  const memberships = [...rulesOf].flatMap(([index, rules]) => resolveRules(index, rules, currentDay))
  const changed = await putMemberships(tx, network, memberships)
  const last = indices.at(-1) ?? 0
  await tx.run('delete from entity_pending where network = ? and validator_index <= ?', network, last)
  return changed.length
}

/** All rules that select each of these validators. Validators that are not known are left out. */
export async function findRulesOfValidators(
  state: StateReader,
  network: Network,
  indices: readonly number[],
): Promise<Map<number, StoredRule[]>> {
  const list = JSON.stringify(indices)
  const validators = await state.all<{ index: number; pubkey: Uint8Array; address: Uint8Array | null }>(
    `select validator_index as "index", pubkey, withdrawal_address as address from validators
     where network = ? and validator_index in (select value from json_each(?))`,
    ...[network, list],
  )
  const deposits = await state.all<{ index: number; address: Uint8Array }>(
    `select validator_index as "index", address from validator_deposits
     where network = ? and validator_index in (select value from json_each(?))`,
    ...[network, list],
  )
  /** By selector: the validators that have each value. */
  const values = {
    index: Map.groupBy(validators, ({ index }) => String(index)),
    pubkey: Map.groupBy(validators, ({ pubkey }) => toHex(pubkey)),
    withdrawalAddress: Map.groupBy(
      validators.filter(({ address }) => address !== null),
      ({ address }) => toHex(address as Uint8Array),
    ),
    depositAddress: Map.groupBy(deposits, ({ address }) => toHex(address)),
  } satisfies Partial<Record<Selector, Map<string, readonly { readonly index: number }[]>>>
  const addressOf = new Map(validators.map(({ index, address }) => [index, address ? toHex(address) : undefined]))
  const rulesOf = new Map<number, StoredRule[]>(validators.map(({ index }) => [index, []]))
  for (const selector of ['index', 'pubkey', 'withdrawalAddress', 'depositAddress'] as const) {
    const byValue = values[selector]
    const bytes = [...byValue.keys()].map((value) => bytesOfValue(selector, value))
    for (const rule of await findRules(state, network, selector, bytes))
      for (const { index } of byValue.get(rule.value) ?? [])
        if (rule.ownedBy === undefined || rule.ownedBy === addressOf.get(index)) rulesOf.get(index)?.push(rule)
  }
  const known = validators.map(({ index }) => index)
  if (known.length === 0) return rulesOf
  const span = { from: known.reduce((a, b) => Math.min(a, b)), until: known.reduce((a, b) => Math.max(a, b)) + 1 }
  for (const { range, rule } of await findRangeRules(state, network, span))
    for (const index of known) if (range.from <= index && index < range.until) rulesOf.get(index)?.push(rule)
  return rulesOf
}
