// Stores the rules that name the entities of validators. A rule selects validators by index, key, range of indices,
// withdrawal address or deposit address, and names some of their fields (behaviour/validators.md#entities).
//
// 1. Rules are rows that are found by what they select by, so a million keys cost no more per validator than one.
// 2. Whatever adds, changes or removes a rule marks its validators as pending in the same transaction
//    (apply-rules.ts). So does a new validator, a new withdrawal address or a new deposit (../registry/pending.ts).
// 3. A rule replaces the one with the same selector, source and first day. Writing the same rule again changes nothing.
import { isDeepStrictEqual } from 'node:util'
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { entitySelectors } from '#runtime/settings/validators.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import { replaceOnConflict } from '#storage/put-row.ts'
import { selectIn } from '#storage/select-in.ts'
import type { State, StateReader, StateWriter, Value } from '#storage/state.ts'
import { toBytes, toHex } from '../registry/registry.ts'
import { type Evidence, openEnd } from './periods.ts'

export type Selector = (typeof entitySelectors)[number]

/** What a rule says about its validators. Null: it does not name this. */
export interface NamedEntity {
  readonly pool: string | null
  readonly subpool: string | null
  readonly nodeOperators: readonly string[] | null
  readonly dvtNetwork: string | null
  readonly dvtOperators: readonly string[] | null
}

export interface EntityRule extends NamedEntity {
  readonly selector: Selector
  /** An index, a key, an address, or a range such as `100-199` with both ends. Lower case. */
  readonly value: string
  /** Undefined: the present. */
  readonly days: Range | undefined
  /** It selects only validators that withdraw to this address. */
  readonly ownedBy?: string
}

export interface StoredRule extends EntityRule {
  readonly kind: Evidence['kind']
  readonly source: string
  readonly revision: number
}

export type RuleSource = Pick<StoredRule, 'kind' | 'source'>

// ------------------------------------------------------------------------------------------------------------------- rows

const indexBytes = (index: number): Uint8Array => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(index))
  return bytes
}
const indexOf = (bytes: Uint8Array): number =>
  Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0))

/** How the value of a selector is stored. */
export function bytesOfValue(selector: Selector, value: string): Uint8Array {
  if (selector === 'index') return indexBytes(Number(value))
  return selector === 'indices' ? indexBytes(rangeOf(value).from) : toBytes(value)
}

/** Both ends of the text are included. */
export function rangeOf(indices: string): Range {
  const [first = 0, last = 0] = indices.split('-').map(Number)
  return { from: first, until: last + 1 }
}

/** `from_day` of a rule about the present. */
const present = -1

const columns = [
  ...(['network', 'selector', 'value', 'kind', 'source', 'from_day'] as const),
  ...(['until_index', 'until_day', 'pool', 'subpool', 'node_operators', 'dvt_network', 'dvt_operators'] as const),
  ...(['owned_by', 'revision'] as const),
]
const keyColumns = columns.slice(0, 6)
type RuleRow = Record<Exclude<(typeof columns)[number], 'network'>, Value>

function toRow(network: Network, { kind, source }: RuleSource, rule: EntityRule, revision: number): Value[] {
  const { selector, value, days, pool, subpool, nodeOperators, dvtNetwork, dvtOperators, ownedBy } = rule
  const untilIndex = selector === 'indices' ? rangeOf(value).until : null
  const untilDay = days === undefined || days.until === openEnd ? null : days.until
  const [operators, clusters] = [nodeOperators, dvtOperators].map((names) => names && JSON.stringify(names))
  return [
    ...[network, selector, bytesOfValue(selector, value), kind, source, days?.from ?? present],
    ...[untilIndex, untilDay, pool, subpool, operators ?? null, dvtNetwork, clusters ?? null],
    ...[ownedBy === undefined ? null : toBytes(ownedBy), revision],
  ]
}

function toRule(row: RuleRow): StoredRule {
  const selector = row.selector as Selector
  const bytes = row.value as Uint8Array
  const lists = [row.node_operators, row.dvt_operators].map((text) => (text === null ? null : JSON.parse(String(text))))
  const value =
    selector === 'index'
      ? String(indexOf(bytes))
      : selector === 'indices'
        ? `${indexOf(bytes)}-${(row.until_index as number) - 1}`
        : toHex(bytes)
  const from = row.from_day as number
  return {
    ...{ selector, value, kind: row.kind as Evidence['kind'], source: row.source as string },
    days: from === present ? undefined : { from, until: (row.until_day as number | null) ?? openEnd },
    ...{ pool: row.pool as string | null, subpool: row.subpool as string | null, nodeOperators: lists[0] },
    ...{ dvtNetwork: row.dvt_network as string | null, dvtOperators: lists[1], revision: row.revision as number },
    ...(row.owned_by !== null && { ownedBy: toHex(row.owned_by as Uint8Array) }),
  }
}

const selectColumns = columns.slice(1).join(', ')

/** The rules with one of these values. */
export async function findRules(
  state: StateReader,
  network: Network,
  selector: Exclude<Selector, 'indices'>,
  values: readonly Uint8Array[],
): Promise<StoredRule[]> {
  const sql = `select ${selectColumns} from entity_rules where network = ? and selector = ? and value in`
  return (await selectIn<RuleRow>(state, sql, [network, selector], values)).map(toRule)
}

/** The rules by range that may select one of these indices. */
export async function findRangeRules(
  state: StateReader,
  network: Network,
  indices: Range,
): Promise<{ readonly range: Range; readonly rule: StoredRule }[]> {
  const rows = await state.all<RuleRow>(
    `select ${selectColumns} from entity_rules
     where network = ? and selector = 'indices' and value < ? and until_index > ?`,
    ...[network, indexBytes(indices.until), indices.from],
  )
  return rows.map(toRule).map((rule) => ({ range: rangeOf(rule.value), rule }))
}

// ---------------------------------------------------------------------------------------------------------------- writing

/** Rules per transaction, so that a lock is held for a moment only. */
export const rulesPerWrite = 500

const rulesStream = (network: Network): string => `entities/${network}/rules`

/** What the primary key distinguishes within a source. */
const keyOf = ({ selector, value, days }: EntityRule): string =>
  `${selector} ${selector === 'indices' ? rangeOf(value).from : value} ${days?.from ?? present}`

/** Without those that a later one of the list replaces. */
export const withoutReplaced = (rules: readonly EntityRule[]): EntityRule[] => [
  ...new Map(rules.map((rule) => [keyOf(rule), rule])).values(),
]

/** Adds or replaces rules, which must not replace each other. Returns how many are new or different. */
export async function putRules(
  tx: StateWriter,
  network: Network,
  source: RuleSource,
  rules: readonly EntityRule[],
): Promise<number> {
  const stored = new Map<string, EntityRule>()
  for (const [selector, list] of Map.groupBy(rules, (rule) => rule.selector)) {
    const sql = `select ${selectColumns} from entity_rules
      where network = ? and selector = ? and kind = ? and source = ? and value in`
    const values = list.map(({ value }) => bytesOfValue(selector, value))
    const rows = await selectIn<RuleRow>(tx, sql, [network, selector, source.kind, source.source], values)
    for (const rule of rows.map(toRule)) stored.set(keyOf(rule), withoutSource(rule))
  }
  const changed = rules.filter((rule) => !isDeepStrictEqual(stored.get(keyOf(rule)), withoutSource(rule)))
  if (changed.length === 0) return 0
  const revision = ((await cursorOf(tx, rulesStream(network))) ?? 0) + 1
  await moveCursor(tx, rulesStream(network), revision)
  // A range that ends elsewhere than before has left other validators.
  await markPending(tx, network, [...changed, ...changed.flatMap((rule) => stored.get(keyOf(rule)) ?? [])])
  const rows = changed.map((rule) => toRow(network, source, rule, revision))
  await tx.insertMany('entity_rules', columns, rows, replaceOnConflict(keyColumns, columns))
  return changed.length
}

/** For comparisons. */
const withoutSource = (rule: EntityRule): EntityRule => {
  const { selector, value, days, pool, subpool, nodeOperators, dvtNetwork, dvtOperators, ownedBy } = rule
  return {
    ...{ selector, value, days, pool, subpool, nodeOperators, dvtNetwork, dvtOperators },
    ...(ownedBy !== undefined && { ownedBy }),
  }
}

/** The source has these rules, which must not replace each other, and no others. Returns how many are new, different or removed. */
export async function replaceRules(
  state: State,
  network: Network,
  source: RuleSource,
  rules: readonly EntityRule[],
): Promise<number> {
  const removed = await removeRules(state, network, source, new Set(rules.map(keyOf)))
  let changed = 0
  for (let from = 0; from < rules.length; from += rulesPerWrite) {
    const batch = rules.slice(from, from + rulesPerWrite)
    changed += await state.write((tx) => putRules(tx, network, source, batch), { lock: 'registry' })
    await nextEventLoopTurn()
  }
  return removed + changed
}

async function removeRules(
  state: State,
  network: Network,
  { kind, source }: RuleSource,
  kept: ReadonlySet<string>,
): Promise<number> {
  const sql = `select ${selectColumns} from entity_rules where network = ? and kind = ? and source = ?`
  const removed: EntityRule[] = []
  for await (const row of state.each<RuleRow>(sql, network, kind, source)) {
    const rule = toRule(row)
    if (!kept.has(keyOf(rule))) removed.push(rule)
  }
  for (let from = 0; from < removed.length; from += rulesPerWrite) {
    const batch = removed.slice(from, from + rulesPerWrite)
    const keys = batch.map((rule) => toRow(network, { kind, source }, rule, 0).slice(0, keyColumns.length))
    await state.write(
      async (tx) => {
        await markPending(tx, network, batch)
        await tx.deleteMany('entity_rules', keyColumns, keys)
      },
      { lock: 'registry' },
    )
    await nextEventLoopTurn()
  }
  return removed.length
}

/** Removes the rules of a source with these values, in the transaction of the caller. */
export async function removeRulesOf(
  tx: StateWriter,
  network: Network,
  source: RuleSource,
  selector: Exclude<Selector, 'indices'>,
  values: readonly string[],
): Promise<void> {
  const bytes = values.map((value) => bytesOfValue(selector, value))
  const found = (await findRules(tx, network, selector, bytes)).filter(
    (rule) => rule.kind === source.kind && rule.source === source.source,
  )
  await markPending(tx, network, found)
  const keys = found.map((rule) => toRow(network, source, rule, 0).slice(0, keyColumns.length))
  await tx.deleteMany('entity_rules', keyColumns, keys)
}

// ---------------------------------------------------------------------------------------------------------------- pending

/** The next day after `after`, at most `last`, on which a rule with days begins or has ended. */
export async function nextBoundary(
  state: StateReader,
  network: Network,
  after: number,
  last: number,
): Promise<number | undefined> {
  const row = await state.get<{ day: number | null }>(
    `select min(day) as day from (
       select from_day as day from entity_rules where network = ? and from_day >= 0
       union all select until_day from entity_rules where network = ? and from_day >= 0 and until_day is not null
     ) as boundaries where day > ? and day <= ?`,
    ...[network, network, after, last],
  )
  return row?.day ?? undefined
}

/** Marks the validators of rules that begin or have ended on this day. */
export async function markBoundary(tx: StateWriter, network: Network, day: number): Promise<void> {
  const rows = await tx.all<RuleRow>(
    `select ${selectColumns} from entity_rules
     where network = ? and from_day >= 0 and (from_day = ? or until_day = ?)`,
    ...[network, day, day],
  )
  await markPending(tx, network, rows.map(toRule))
}

const valuesPerStatement = 400

/** Marks the validators that these rules select. */
export async function markPending(tx: StateWriter, network: Network, rules: readonly EntityRule[]): Promise<void> {
  for (const [selector, list] of Map.groupBy(rules, (rule) => rule.selector)) {
    if (selector === 'indices') {
      for (const { value } of list) {
        const { from, until } = rangeOf(value)
        await tx.run(
          `${markSql('validators')} and validator_index >= ? and validator_index < ? ${ignore}`,
          network,
          from,
          until,
        )
      }
      continue
    }
    const { table, column } = selected[selector]
    const values = list.map(({ value }) => (selector === 'index' ? Number(value) : toBytes(value)))
    for (let at = 0; at < values.length; at += valuesPerStatement) {
      const part = values.slice(at, at + valuesPerStatement)
      const isSelected = `${column} in (${part.map(() => '?').join()})`
      await tx.run(`${markSql(table)} and ${isSelected} ${ignore}`, network, ...part)
    }
  }
}

const markSql = (table: string) =>
  `insert into entity_pending (network, validator_index) select distinct network, validator_index from ${table} where network = ?`
const ignore = 'on conflict (network, validator_index) do nothing'

const selected = {
  index: { table: 'validators', column: 'validator_index' },
  pubkey: { table: 'validators', column: 'pubkey' },
  withdrawalAddress: { table: 'validators', column: 'withdrawal_address' },
  depositAddress: { table: 'validator_deposits', column: 'address' },
} as const

/** How many of these rules are about an index or a key that no validator has yet. */
export async function countUnmatched(
  state: StateReader,
  network: Network,
  rules: readonly EntityRule[],
): Promise<number> {
  let unmatched = 0
  for (const selector of ['index', 'pubkey'] as const) {
    const { column } = selected[selector]
    const values = new Set(rules.filter((rule) => rule.selector === selector).map(({ value }) => value))
    const found = await selectIn<object>(
      state,
      `select validator_index from validators where network = ? and ${column} in`,
      [network],
      [...values].map((value) => (selector === 'index' ? Number(value) : toBytes(value))),
    )
    unmatched += values.size - found.length
  }
  return unmatched
}
