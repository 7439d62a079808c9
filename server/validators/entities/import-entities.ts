// Imports the entities behind validators (pool, operators, DVT network) from CSV or JSON files. A record selects its
// validators by index, key, deposit address or withdrawal address.
//
// 1. A record that is invalid or matches no known validator is rejected with its line. The others are imported.
// 2. A record replaces the stored entity of its validators. Importing the same file again changes nothing.
// 3. A validator without a record has no entity. Nothing is guessed (behaviour/validators.md#validator-metadata).
import { isDeepStrictEqual } from 'node:util'
import type { Network } from '#api/contract/wire/validators.ts'
import { csvRows } from '#core/csv.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import { putRow } from '#storage/put-row.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { listIndices } from './list-indices.ts'
import type { EntityEntry } from './registry.ts'

/** Exactly one of them selects the validators of a record. */
const selectorFields = ['index', 'pubkey', 'depositAddress', 'withdrawalAddress'] as const
const entityFields = [...selectorFields, 'pool', 'subpool', 'dvtNetwork', 'nodeOperators', 'dvtOperators'] as const
type EntityField = (typeof entityFields)[number]

export type EntityRecord = Readonly<Partial<Record<EntityField, unknown>>>

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
  const unknown = names.filter((name) => !entityFields.includes(name as EntityField))
  if (unknown.length > 0) throw new Error(`unknown columns: ${unknown.join(', ')}; expected ${entityFields.join(', ')}`)
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
  const written = { rejects: [] as EntityReject[], seen: [] as number[], changed: 0 }
  for (const { at, record } of records) {
    const entity = parseEntity(record)
    const indices = 'reason' in entity ? [] : await findIndices(tx, network, entity)
    if ('reason' in entity || indices.length === 0) {
      written.rejects.push({ at, reason: 'reason' in entity ? entity.reason : 'no known validator matches', record })
      continue
    }
    for (const index of indices) {
      written.seen.push(index)
      if (await putEntity(tx, network, index, entity, source)) written.changed += 1
    }
  }
  if (written.changed > 0) await moveCursor(tx, entitiesStream(network), (await entitiesVersion(tx, network)) + 1)
  return written
}

const entitiesStream = (network: Network): string => `entities/${network}`

/** Increases with every change of the network's entities. */
export const entitiesVersion = async (state: StateReader, network: Network): Promise<number> =>
  (await cursorOf(state, entitiesStream(network))) ?? 0

interface ParsedEntity extends EntityEntry {
  readonly by: (typeof selectorFields)[number]
  readonly name: string
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
  return { by, name, pool, subpool, dvtNetwork, nodeOperators, dvtOperators }
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

function findIndices(tx: StateReader, network: Network, { by, name }: ParsedEntity): Promise<number[]> {
  const selection = { by, value: by === 'index' ? Number(name) : name }
  return listIndices(tx, network, selection, { from: 0, count: Number.MAX_SAFE_INTEGER })
}

/** Updates the tables that validators are found by (behaviour/validators.md#find-validators). */
async function updateFindIndex(
  tx: StateWriter,
  network: Network,
  index: number,
  before: Readonly<Record<string, string | null>> | undefined,
  { pool, nodeOperators }: ParsedEntity,
): Promise<void> {
  const poolBefore = before?.pool ?? null
  if (poolBefore !== pool) {
    if (poolBefore !== null) {
      const poolKey = [network, poolBefore]
      await tx.run('update validator_pools set validators = validators - 1 where network = ? and pool = ?', ...poolKey)
      await tx.run('delete from validator_pools where network = ? and pool = ? and validators = 0', ...poolKey)
    }
    if (pool !== null) {
      await tx.run(
        `insert into validator_pools (network, pool, validators) values (?, ?, 1)
         on conflict (network, pool) do update set validators = validator_pools.validators + 1`,
        network,
        pool,
      )
    }
  }
  for (const operator of JSON.parse(before?.node_operators ?? '[]') as string[]) {
    await tx.run(
      'delete from validator_operators where network = ? and operator = ? and validator_index = ?',
      network,
      operator,
      index,
    )
  }
  for (const operator of new Set(nodeOperators)) {
    await tx.run(
      'insert into validator_operators (network, operator, validator_index) values (?, ?, ?)',
      network,
      operator,
      index,
    )
  }
}

/** Returns whether the entity was new or different. */
async function putEntity(
  tx: StateWriter,
  network: Network,
  index: number,
  entity: ParsedEntity,
  source: string,
): Promise<boolean> {
  const row = {
    pool: entity.pool,
    subpool: entity.subpool,
    dvt_network: entity.dvtNetwork,
    node_operators: JSON.stringify(entity.nodeOperators),
    dvt_operators: JSON.stringify(entity.dvtOperators),
    source,
  }
  const before = await tx.get<typeof row>(
    `select ${Object.keys(row).join(', ')} from validator_entities where network = ? and validator_index = ?`,
    network,
    index,
  )
  if (before && isDeepStrictEqual({ ...before }, row)) return false
  await updateFindIndex(tx, network, index, before, entity)
  const key = { network, validator_index: index }
  await putRow(tx, 'validator_entities', Object.keys(key), { ...key, ...row })
  return true
}
