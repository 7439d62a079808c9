// The tables as ClickHouse makes them. On a cluster the rows of a large table are spread over the shards, each kept by its replicas, and one
// name stands for all of them; every node has all of a small one, so that no small question crosses machines.
import type { FactsTable } from '../facts.ts'
import { typeNames } from './clickhouse-cells.ts'

export interface Layout {
  readonly database: string
  readonly cluster: string | undefined
  /** Codecs and dictionaries came after 18.16. */
  readonly isCurrent: boolean
}

/** Rows between marks. A year of a validator is 365 rows. */
const rowsPerMark = 2048

/** Where rows are: the name itself, or what stands behind it on each shard. */
export const rowsTable = ({ name, spread }: FactsTable, { cluster }: Layout): string =>
  cluster !== undefined && spread !== undefined ? `${name}_rows` : name

export function createSql(table: FactsTable, layout: Layout): string[] {
  const { name, key, window, order, spread } = table
  const columns = Object.entries(table.columns).map(([column, type]) => {
    if (!layout.isCurrent) return `${column} ${typeNames[type]}`
    return column === key ? `${column} LowCardinality(String)` : `${column} ${typeNames[type]} codec(ZSTD(1))`
  })
  const by = spread && window ? `(${key}, intDiv(${window.column}, ${window.width * window.together}))` : undefined
  const own = statement(layout, rowsTable(table, layout), [...columns, 'batch UInt64'], {
    path: spread === undefined ? name : `${name}/{shard}`,
    replica: spread === undefined ? '{shard}-{replica}' : '{replica}',
    partition: by,
    order: [key, ...order],
  })
  if (layout.cluster === undefined || spread === undefined) return [own]
  const { database, cluster } = layout
  const behind = `${database}.${rowsTable(table, layout)}`
  return [
    own,
    `create table if not exists ${database}.${name} on cluster ${cluster} as ${behind}
     engine = Distributed(${cluster}, ${database}, ${rowsTable(table, layout)}, ${spread})`,
  ]
}

/** What has been applied, and what counts (clickhouse-commits.ts). */
export const createOwn = (layout: Layout): string[] => [
  statement(layout, 'commits', commitColumns, {
    path: 'commits',
    replica: '{shard}-{replica}',
    partition: undefined,
    order: ['gen', 'tbl', 'key', 'win', 'batch'],
  }),
  statement(layout, 'migrations', ['id Int32', 'name String'], {
    path: 'migrations',
    replica: '{shard}-{replica}',
    partition: undefined,
    order: ['id'],
  }),
]

const commitColumns = [
  'tbl String',
  'key String',
  'win Int64',
  'batch UInt64',
  'live UInt8',
  'seq UInt64',
  'id UInt64',
  'gen UInt32',
]

interface Engine {
  readonly path: string
  readonly replica: string
  readonly partition: string | undefined
  readonly order: readonly string[]
}

function statement(layout: Layout, name: string, columns: readonly string[], engine: Engine): string {
  const { database, cluster } = layout
  const kind =
    cluster === undefined
      ? 'MergeTree'
      : `ReplicatedMergeTree('/tetrad/${database}/${engine.path}', '${engine.replica}')`
  return `create table if not exists ${database}.${name}${cluster === undefined ? '' : ` on cluster ${cluster}`}
    (${columns.join(', ')}) engine = ${kind}
    ${engine.partition === undefined ? '' : `partition by ${engine.partition}`} order by (${engine.order.join(', ')})
    settings index_granularity = ${rowsPerMark}`
}
