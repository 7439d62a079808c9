// Parses rules from files (CSV with a header line, or a JSON list) and from the configuration.
import { csvRows } from '#core/csv.ts'
import type { Range } from '#core/ranges.ts'
import { entitySelectors as selectors } from '#runtime/settings/validators.ts'
import { openEnd } from './periods.ts'
import { type EntityRule, rangeOf, type Selector } from './rules.ts'

const recordFields = [
  ...selectors,
  ...(['pool', 'subpool', 'dvtNetwork', 'nodeOperators', 'dvtOperators', 'fromDay', 'untilDay'] as const),
] as const
type RecordField = (typeof recordFields)[number]

export type EntityRecord = Readonly<Partial<Record<RecordField, unknown>>>

export interface LocatedRecord {
  /** Line of a CSV file, or index in a JSON list, from 1. */
  readonly at: number
  readonly record: EntityRecord
}

export interface RecordReject extends LocatedRecord {
  readonly reason: string
}

/** A JSON list of objects, or CSV with a header line; lists inside CSV cells are separated by semicolons. */
export function parseEntityRecords(text: string): LocatedRecord[] {
  if (/^\s*\[/.test(text)) {
    return (JSON.parse(text) as unknown[]).map((record, index) => ({
      at: index + 1,
      record: (record ?? {}) as EntityRecord,
    }))
  }
  const rows = [...csvRows(text)]
  const bad = rows.find(({ reason }) => reason !== undefined)
  if (bad) throw new Error(`line ${bad.line}: ${bad.reason}`)
  const [head, ...lines] = rows.filter(({ cells }) => cells.some((cell) => cell !== ''))
  const names = head?.cells.map((name) => name.trim()) ?? []
  const unknown = names.filter((name) => !recordFields.includes(name as RecordField))
  if (unknown.length > 0) throw new Error(`unknown columns: ${unknown.join(', ')}; expected ${recordFields.join(', ')}`)
  return lines.map(({ line, cells }) => {
    const given = names
      .map((name, column) => [name, cells[column]?.trim() ?? ''] as const)
      .filter(([, cell]) => cell !== '')
    return { at: line, record: Object.fromEntries(given) as EntityRecord }
  })
}

/** Records that are invalid are rejected, the others are rules. */
export function parseRules(records: readonly LocatedRecord[]): { rules: EntityRule[]; rejects: RecordReject[] } {
  const [rules, rejects]: [EntityRule[], RecordReject[]] = [[], []]
  for (const { at, record } of records) {
    const rule = parseRule(record)
    if (typeof rule === 'string') rejects.push({ at, reason: rule, record })
    else rules.push(rule)
  }
  return { rules, rejects }
}

const address = /^0x[0-9a-f]{40}$/i
const selectorPatterns: Readonly<Record<Selector, RegExp>> = {
  index: /^\d{1,10}$/,
  pubkey: /^(0x)?[0-9a-f]{96}$/i,
  indices: /^\d{1,10}-\d{1,10}$/,
  withdrawalAddress: address,
  depositAddress: address,
}

/** A text is the reason why the record is invalid. */
function parseRule(record: EntityRecord): EntityRule | string {
  const given = selectors.filter((field) => record[field] !== undefined && record[field] !== null)
  const [selector] = given
  if (!selector || given.length > 1) return `exactly one of ${selectors.join(', ')} is required`
  const written = String(record[selector])
  if (!selectorPatterns[selector].test(written)) return `${selector} is invalid`
  const value = normalize(selector, written)
  if (selector === 'indices' && rangeOf(value).from >= rangeOf(value).until) return 'indices end before they begin'
  const [pool, subpool, dvtNetwork] = (['pool', 'subpool', 'dvtNetwork'] as const).map((field) =>
    readText(record[field]),
  )
  const [nodeOperators, dvtOperators] = (['nodeOperators', 'dvtOperators'] as const).map((field) =>
    readList(record[field]),
  )
  if (pool === undefined || subpool === undefined || dvtNetwork === undefined)
    return `pool, subpool and dvtNetwork must be text of at most ${nameCharsMax} characters`
  if (nodeOperators === undefined || dvtOperators === undefined)
    return `operators must be a list of at most ${namesMax} texts of at most ${nameCharsMax} characters`
  const days = readDays(record)
  if (days === null) return 'fromDay and untilDay must be numbers of chain days, the first one smaller'
  return { selector, value, days, pool, subpool, nodeOperators, dvtNetwork, dvtOperators }
}

function normalize(selector: Selector, value: string): string {
  if (selector === 'index') return String(Number(value))
  if (selector === 'indices') return value.split('-').map(Number).join('-')
  return `0x${value.replace(/^0x/i, '').toLowerCase()}`
}

const nameCharsMax = 256
const namesMax = 256

const isName = (value: unknown): value is string => typeof value === 'string' && value.length <= nameCharsMax

const readText = (value: unknown): string | null | undefined =>
  value === undefined || value === null || value === '' ? null : isName(value) ? value : undefined

/** Null: the record does not name them. An empty list names none. */
function readList(value: unknown): string[] | null | undefined {
  if (value === undefined || value === null) return null
  const list = typeof value === 'string' ? value.split(';').map((item) => item.trim()) : value
  return Array.isArray(list) && list.length <= namesMax && list.every(isName)
    ? list.filter((item) => item !== '')
    : undefined
}

const dayPattern = /^\d{1,9}$/

/** Undefined: the record names no days. Null: they are invalid. */
function readDays({ fromDay, untilDay }: EntityRecord): Range | undefined | null {
  const [from, until] = [fromDay, untilDay].map((day) => (day === undefined || day === null ? undefined : String(day)))
  if (from === undefined && until === undefined) return undefined
  if (![from ?? '0', until ?? '0'].every((day) => dayPattern.test(day))) return null
  const days = { from: Number(from ?? 0), until: until === undefined ? openEnd : Number(until) }
  return days.from < days.until ? days : null
}
