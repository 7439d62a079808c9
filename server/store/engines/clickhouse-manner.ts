// How an installation is asked and told: by its version, and by whether it is a cluster.
import { Fault } from '#core/fault.ts'
import type { Door } from './clickhouse-door.ts'
import type { Place } from './clickhouse-place.ts'
import type { Layout } from './clickhouse-tables.ts'

export type Settings = Readonly<Record<string, string | number>>

export interface Manner {
  readonly reading: Settings
  readonly writing: Settings
  readonly layout: Layout
}

export async function mannerOf(door: Door, { database, cluster, name }: Place, quorumMs: number): Promise<Manner> {
  const one = async (sql: string) => (await door.read({ sql })).trim()
  const version = (await one('select version()')).split('.').map(Number)
  const isCurrent = (version[0] ?? 0) >= 20
  const layout = { database, cluster, isCurrent }
  const many = isCurrent ? { max_partitions_per_insert_block: 0 } : {}
  const reading = { join_default_strictness: 'ALL', max_execution_time: 100, max_result_bytes: 2 ** 29 }
  if (cluster === undefined) return { layout, reading, writing: many }
  const replicas = Number(
    await one(
      `select min(n) from (select shard_num, count() as n from system.clusters where cluster = '${cluster}' group by shard_num)`,
    ),
  )
  if (!(replicas > 0)) {
    const detail = `${name} has no cluster ${cluster}; check ?cluster= and remote_servers`
    throw new Fault('store.unavailable', { detail })
  }
  return {
    layout,
    reading: { ...reading, select_sequential_consistency: replicas > 1 ? 1 : 0 },
    writing: {
      ...many,
      insert_distributed_sync: 1,
      insert_quorum: replicas > 1 ? 2 : 0,
      insert_quorum_timeout: quorumMs,
      // A read that must not miss anything needs inserts one after another.
      ...(isCurrent && { insert_quorum_parallel: 0 }),
    },
  }
}
