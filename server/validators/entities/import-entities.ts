// Imports the entities behind validators (pool, operators, DVT network) from CSV or JSON files. A record selects its
// validators by index, key, deposit address or withdrawal address.
//
// 1. A record that is invalid or matches no known validator is rejected with its line. The others are imported.
// 2. A record replaces the present entity of its validators, or the one of the days that it names
//    (behaviour/validators.md#entities). Importing the same file again changes nothing.
// 3. A validator without a record has no entity. Nothing is guessed (behaviour/validators.md#validator-metadata).
import type { Network } from '#api/contract/wire/validators.ts'
import { csvRows } from '#core/csv.ts'
import type { Range } from '#core/ranges.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { listIndices } from '../registry/list-indices.ts'
import type { EntityEntry } from '../registry/registry.ts'
import { type Membership, putMemberships } from './memberships.ts'
import { entityFields, openEnd } from './periods.ts'

/** Exactly one of them selects the validators of a record. */
const selectorFields = ['index', 'pubkey', 'depositAddress', 'withdrawalAddress'] as const
const recordFields = [
  ...selectorFields,
  ...(['pool', 'subpool', 'dvtNetwork', 'nodeOperators', 'dvtOperators', 'fromDay', 'untilDay'] as const),
] as const
type RecordField = (typeof recordFields)[number]

export type EntityRecord = Readonly<Partial<Record<RecordField, unknown>>>

export interface EntityReject {
  /** Line of a CSV file, or index in a JSON list, from 1. */
  readonly at: number
  readonly reason: string
  readonly record: unknown
}

const recordsPerWrite = 500

/** A JSON list of objects, or CSV with a header line; lists inside CSV cells are separated by semicolons. */
export function parseEntityRecords(text: string): { at: number; record: EntityRecord }[] {
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

export async function importEntities(
  state: State,
  network: Network,
  records: readonly { readonly at: number; readonly record: EntityRecord }[],
  source: string,
) {
  const rejects: EntityReject[] = []
  const seen = new Set<number>()
  let changed = 0
  for (let from = 0; from < records.length; from += recordsPerWrite) {
    const batch = records.slice(from, from + recordsPerWrite)
    const written = await state.write((tx) => putRecords(tx, network, batch, source), { lock: 'registry' })
    rejects.push(...written.rejects)
    for (const index of written.seen) seen.add(index)
    changed += written.changed
  }
  return { records: records.length, validators: seen.size, changed, rejects }
}

async function putRecords(
  tx: StateWriter,
  network: Network,
  records: readonly { readonly at: number; readonly record: EntityRecord }[],
  source: string,
) {
  const rejects: EntityReject[] = []
  const seen = new Set<number>()
  const memberships: Membership[] = []
  for (const { at, record } of records) {
    const entity = parseEntity(record)
    const indices = 'reason' in entity ? [] : await findIndices(tx, network, entity)
    if ('reason' in entity || indices.length === 0) {
      rejects.push({ at, reason: 'reason' in entity ? entity.reason : 'no known validator matches', record })
      continue
    }
    for (const index of indices) {
      seen.add(index)
      memberships.push(...toMemberships(index, entity, source))
    }
  }
  const changed = await putMemberships(tx, network, memberships)
  return { rejects, seen: [...seen], changed: changed.length }
}

function toMemberships(index: number, entity: ParsedEntity, source: string): Membership[] {
  const { pool, subpool, nodeOperators, dvtNetwork, dvtOperators, by, name, days } = entity
  const evidence = { kind: 'rule', source, rule: by === 'depositAddress' ? `${by} ${name.toLowerCase()}` : by } as const
  const values = {
    pool: pool === null ? null : { name: pool, subpool, operators: [] },
    operators: nodeOperators.length === 0 ? null : { name: null, subpool: null, operators: nodeOperators },
    dvt:
      dvtNetwork === null && dvtOperators.length === 0
        ? null
        : { name: dvtNetwork, subpool: null, operators: dvtOperators },
  }
  return entityFields.map((field) => ({
    ...{ index, field, days },
    value: values[field] && { ...values[field], ...evidence },
  }))
}

interface ParsedEntity extends EntityEntry {
  readonly by: (typeof selectorFields)[number]
  readonly name: string
  /** Undefined: the present. */
  readonly days: Range | undefined
}

const selectorPatterns = {
  index: /^\d{1,10}$/,
  pubkey: /^(0x)?[0-9a-f]{96}$/i,
  depositAddress: /^0x[0-9a-f]{40}$/i,
  withdrawalAddress: /^0x[0-9a-f]{40}$/i,
} as const

function parseEntity(record: EntityRecord): ParsedEntity | { readonly reason: string } {
  const given = selectorFields.filter((field) => record[field] !== undefined && record[field] !== null)
  const [by] = given
  if (!by || given.length > 1) return { reason: `exactly one of ${selectorFields.join(', ')} is required` }
  const name = String(record[by])
  if (!selectorPatterns[by].test(name)) return { reason: `${by} is invalid` }
  const texts = (['pool', 'subpool', 'dvtNetwork'] as const).map((field) => readText(record[field]))
  const lists = (['nodeOperators', 'dvtOperators'] as const).map((field) => readList(record[field]))
  const [pool, subpool, dvtNetwork] = texts
  const [nodeOperators, dvtOperators] = lists
  if (pool === undefined || subpool === undefined || dvtNetwork === undefined)
    return { reason: 'pool, subpool and dvtNetwork must be text' }
  if (!nodeOperators || !dvtOperators) return { reason: 'operators must be a list of text' }
  const days = readDays(record)
  if (days === null) return { reason: 'fromDay and untilDay must be numbers of chain days, the first one smaller' }
  return { by, name, pool, subpool, dvtNetwork, nodeOperators, dvtOperators, days }
}

const readText = (value: unknown): string | null | undefined =>
  value === undefined || value === null || value === '' ? null : typeof value === 'string' ? value : undefined

function readList(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return []
  const list = typeof value === 'string' ? value.split(';').map((item) => item.trim()) : value
  return Array.isArray(list) && list.every((item) => typeof item === 'string')
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

function findIndices(tx: StateReader, network: Network, { by, name }: ParsedEntity): Promise<number[]> {
  const selection = { by, value: by === 'index' ? Number(name) : name }
  return listIndices(tx, network, selection, { from: 0, count: Number.MAX_SAFE_INTEGER })
}
