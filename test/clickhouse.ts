// A temporary ClickHouse server for tests, on free loopback ports.
//   await using clickhouse = await startClickhouse()
//   const url = await clickhouse.database()        for mirrors.clickhouse.url, empty
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { end, freePort, launch, ownFolder, withParent } from './programs.ts'

const binary = ['/usr/sbin/clickhouse-server', '/usr/bin/clickhouse-server'].find(existsSync)

/** Why tests on ClickHouse are skipped, for `skip`. */
export const noClickhouse: string | false = binary ? false : 'there is no ClickHouse here (Debian: clickhouse-server)'

/** The user of `database`. */
export const clickhouseUser = { name: 'mirror', password: 'a secret: with/odd@signs' } as const

export interface ClickhouseServer extends AsyncDisposable {
  /** The URL of a new database. */
  database(): Promise<string>
  /** Tab-separated. */
  sql(statement: string, database?: string): Promise<string>
}

export async function startClickhouse(): Promise<ClickhouseServer> {
  const dir = await ownFolder('clickhouse')
  const ports = { http: await freePort(), tcp: await freePort(), interserver: await freePort() }
  await writeFile(join(dir, 'users.xml'), usersXml)
  await writeFile(join(dir, 'config.xml'), configXml(dir, ports))
  const command = [...withParent, binary ?? '', `--config-file=${join(dir, 'config.xml')}`]
  const child = await launch({ cwd: dir, command, ready: ports.http })
  const host = `127.0.0.1:${ports.http}`
  let databases = 0
  const sql = async (statement: string, database = 'default') => {
    const response = await fetch(`http://${host}/?database=${database}`, { method: 'POST', body: statement })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text.trimEnd()
  }
  return {
    sql,
    database: async () => {
      databases += 1
      await sql(`create database t${databases}`)
      const { name, password } = clickhouseUser
      return `http://${name}:${encodeURIComponent(password)}@${host}/t${databases}`
    },
    async [Symbol.asyncDispose]() {
      await end(child)
      await rm(dir, { recursive: true, force: true })
    },
  }
}

const userXml = (name: string, password: string) => `<${name}>
  <password>${password}</password>
  <networks><ip>127.0.0.1</ip></networks>
  <profile>default</profile>
  <quota>default</quota>
</${name}>`

/** Small, because it shares the machine with other tests. */
const usersXml = `<yandex>
<profiles><default>
  <max_memory_usage>1000000000</max_memory_usage>
  <max_threads>2</max_threads>
  <background_pool_size>2</background_pool_size>
  <background_schedule_pool_size>4</background_schedule_pool_size>
</default></profiles>
<quotas><default></default></quotas>
<users>${userXml('default', '')}${userXml(clickhouseUser.name, clickhouseUser.password)}</users>
</yandex>
`

const configXml = (
  dir: string,
  { http, tcp, interserver }: { readonly http: number; readonly tcp: number; readonly interserver: number },
) => `<yandex>
<logger><level>error</level><console>1</console></logger>
<http_port>${http}</http_port>
<tcp_port>${tcp}</tcp_port>
<interserver_http_port>${interserver}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host>
<listen_host>127.0.0.1</listen_host>
<path>${dir}/data/</path>
<tmp_path>${dir}/data/tmp/</tmp_path>
<users_config>${dir}/users.xml</users_config>
<default_profile>default</default_profile>
<default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size>
</yandex>
`
