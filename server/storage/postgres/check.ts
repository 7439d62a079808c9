// Checks the PostgreSQL server for `tetrad doctor`: version, connections, and settings that put data at risk.
import { parsePostgresUrl } from './address.ts'
import { explainPostgresError } from './errors.ts'
import { PostgresSession } from './session.ts'

/** Settings that put acknowledged writes at risk. Without synchronous_commit, because our sessions turn it on. */
const risky = { fsync: 'off', full_page_writes: 'off' } as const

export async function checkPostgres(url: string) {
  const address = parsePostgresUrl(url)
  let session: PostgresSession | undefined
  try {
    session = await PostgresSession.open(address, 'read')
    const settings = await session.rows<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name in ('server_version', 'max_connections', 'fsync', 'full_page_writes')`,
    )
    const values = new Map(settings.map(({ name, setting }) => [name, setting]))
    const [used] = await session.rows<{ n: number }>(
      "select count(*) as n from pg_stat_activity where backend_type = 'client backend'",
    )
    return {
      name: address.name,
      version: values.get('server_version') ?? 'unknown',
      risks: Object.entries(risky).flatMap(([name, bad]) => (values.get(name) === bad ? [`${name} is ${bad}`] : [])),
      connections: { used: used?.n ?? 0, max: Number(values.get('max_connections')) },
    }
  } catch (error) {
    throw explainPostgresError(error, address.name)
  } finally {
    await session?.close()
  }
}
