// Private ClickHouse servers for tests: Debian's own in temporary folders on loopback, gone with the test.
//   await using server = await startClickhouse()            one server
//   await using cluster = await startCluster()              2 shards × 2 replicas and what coordinates them
//   const url = await server.database()                     for store.facts, empty
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { end, found, freePort, freePorts, launch, ownFolder, withParent } from './programs.ts'

const jars = '/usr/share/java'
const bin = ['/usr/sbin/clickhouse-server', '/usr/bin/clickhouse-server'].find(existsSync)

/** Why tests on ClickHouse are left out, for `skip`. */
export const noClickhouse: string | false = bin ? false : 'there is no ClickHouse here (Debian: clickhouse-server)'

/** Why tests on a cluster are left out, for `skip`. */
export const noCluster: string | false =
  noClickhouse ||
  (existsSync(join(jars, 'zookeeper.jar')) && found('java', '-version')
    ? false
    : 'there is no ZooKeeper here (Debian: libzookeeper-java default-jre-headless)')

/** Whose password the address of `guarded` shows; `default` has none. */
export const guarded = { user: 'guarded', password: 'a secret: with/odd@signs' } as const

export const clusterName = 'tetrad'

interface Stoppable {
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>
  /** On the same ports with what it has on disk. */
  start(): Promise<void>
}

export interface ClickhouseNode extends Stoppable {
  readonly host: string
  readonly dir: string
  /** What it answers, tab-separated; throws what it says when it refuses. */
  sql(statement: string): Promise<string>
}

export interface ClickhouseServer extends ClickhouseNode, AsyncDisposable {
  /** Its first database. */
  readonly url: string
  /** An address with an empty database. */
  database(): Promise<string>
  /** The same place as another user, who has a password. */
  asGuarded(url: string): string
}

export interface ClickhouseCluster extends AsyncDisposable {
  /** Shard 1 replica 1, shard 1 replica 2, shard 2 replica 1, shard 2 replica 2. */
  readonly nodes: readonly ClickhouseNode[]
  readonly keeper: Stoppable
  /** An address of all nodes with a database that is empty on each. */
  database(): Promise<string>
}

/** What one question may take. */
const questionBytes = 1_000_000_000

export async function startClickhouse(bytesMax = questionBytes): Promise<ClickhouseServer> {
  const ports = portsOf(await freePorts(3))
  const node = await startNode(ports, '', bytesMax)
  return {
    ...node,
    url: `clickhouse://default@${node.host}/default`,
    database: async () => `clickhouse://default@${node.host}/${await freshDatabase([node])}`,
    asGuarded: (url) => url.replace('//default@', `//${guarded.user}:${encodeURIComponent(guarded.password)}@`),
    async [Symbol.asyncDispose]() {
      await node.kill()
      await rm(node.dir, { recursive: true, force: true })
    },
  }
}

export async function startCluster(): Promise<ClickhouseCluster> {
  const free = await freePorts(12)
  const places = [1, 1, 2, 2].map((shard, index) => ({
    shard,
    replica: (index % 2) + 1,
    ports: portsOf(free.slice(3 * index, 3 * index + 3)),
  }))
  const keeper = await startKeeper()
  const shards = [1, 2].map((shard) => places.filter((place) => place.shard === shard).map(({ ports }) => ports.tcp))
  const nodes = await Promise.all(
    places.map(({ shard, replica, ports }) =>
      startNode(ports, clusterXml({ shard, replica, keeper: keeper.port, shards })),
    ),
  )
  const hosts = nodes.map(({ host }) => host).join(',')
  return {
    nodes,
    keeper,
    database: async () => `clickhouse://default@${hosts}/${await freshDatabase(nodes)}?cluster=${clusterName}`,
    async [Symbol.asyncDispose]() {
      await Promise.all([...nodes, keeper].map((each) => each.kill()))
      const folders = [...nodes, keeper].map(({ dir }) => dir)
      await Promise.all(folders.map((dir) => rm(dir, { recursive: true, force: true })))
    },
  }
}

let databases = 0

async function freshDatabase(nodes: readonly ClickhouseNode[]): Promise<string> {
  databases += 1
  const name = `t${process.pid}_${databases}`
  await Promise.all(nodes.map((node) => node.sql(`create database ${name}`)))
  return name
}

/** A place for one installation in a server that is there already. */
export async function openDatabase(url: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const { host } = new URL(url)
  databases += 1
  const name = `t${process.pid}_${databases}`
  await tell(host, `create database ${name}`)
  return {
    url: `clickhouse://default@${host}/${name}`,
    [Symbol.asyncDispose]: async () => void (await tell(host, `drop database ${name}`)),
  }
}

interface Ports {
  readonly http: number
  readonly tcp: number
  readonly interserver: number
}

const portsOf = ([http = 0, tcp = 0, interserver = 0]: readonly number[]): Ports => ({ http, tcp, interserver })

async function startNode(ports: Ports, more: string, bytesMax = questionBytes): Promise<ClickhouseNode> {
  const dir = await ownFolder('clickhouse')
  await writeFile(join(dir, 'users.xml'), usersXml(bytesMax))
  await writeFile(join(dir, 'config.xml'), configXml(dir, ports, more))
  const command = [...withParent, bin ?? '', `--config-file=${join(dir, 'config.xml')}`]
  const begin = () => launch({ cwd: dir, command, ready: ports.http })
  let child = await begin()
  const host = `127.0.0.1:${ports.http}`
  return {
    host,
    dir,
    sql: (statement) => tell(host, statement),
    kill: () => end(child),
    async start() {
      child = await begin()
    },
  }
}

async function tell(host: string, statement: string): Promise<string> {
  // A connection of its own: one that was kept may belong to a server that has died since.
  const response = await fetch(`http://${host}/`, { method: 'POST', body: statement, headers: { connection: 'close' } })
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text.trimEnd()
}

async function startKeeper(): Promise<Stoppable & { readonly port: number; readonly dir: string }> {
  const dir = await ownFolder('zookeeper')
  const port = await freePort()
  await mkdir(join(dir, 'data'))
  const config = {
    tickTime: 500,
    dataDir: join(dir, 'data'),
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    'admin.enableServer': false,
    '4lw.commands.whitelist': '',
  }
  const text = Object.entries(config).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(join(dir, 'zoo.cfg'), text.join(''))
  // What the machine survives need not reach the disk here.
  const java = ['java', '-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dzookeeper.forceSync=no']
  const jar = `${join(jars, 'zookeeper.jar')}:${join(jars, 'slf4j-simple.jar')}`
  const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain'
  const command = [...withParent, ...java, '-cp', jar, main, join(dir, 'zoo.cfg')]
  // It listens before it answers; whoever comes in between is turned away.
  const begin = () => launch({ cwd: dir, command, ready: /ZKAuditProvider/ })
  let child = await begin()
  return {
    port,
    dir,
    kill: () => end(child),
    async start() {
      child = await begin()
    },
  }
}

const plain = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const userXml = (name: string, password: string) => `<${name}>
  <password>${plain(password)}</password>
  <networks><ip>127.0.0.1</ip></networks>
  <profile>default</profile>
  <quota>default</quota>
</${name}>`

/** Small, because several of them share a test machine. */
const usersXml = (bytesMax: number) => `<yandex>
<profiles><default>
  <max_memory_usage>${bytesMax}</max_memory_usage>
  <max_threads>2</max_threads>
  <background_pool_size>2</background_pool_size>
  <background_schedule_pool_size>4</background_schedule_pool_size>
</default></profiles>
<quotas><default></default></quotas>
<users>${userXml('default', '')}${userXml(guarded.user, guarded.password)}</users>
</yandex>
`

const configXml = (dir: string, ports: Ports, more: string) => `<yandex>
<logger><level>error</level><console>1</console></logger>
<http_port>${ports.http}</http_port>
<tcp_port>${ports.tcp}</tcp_port>
<interserver_http_port>${ports.interserver}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host>
<listen_host>127.0.0.1</listen_host>
<path>${dir}/data/</path>
<tmp_path>${dir}/data/tmp/</tmp_path>
<users_config>${dir}/users.xml</users_config>
<default_profile>default</default_profile>
<default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size>
<keep_alive_timeout>10</keep_alive_timeout>
${more}
</yandex>
`

interface Place {
  readonly shard: number
  readonly replica: number
  readonly keeper: number
  /** The ports of each shard's replicas. */
  readonly shards: readonly (readonly number[])[]
}

const clusterXml = ({ shard, replica, keeper, shards }: Place) => `
<macros><shard>${shard}</shard><replica>${shard}-${replica}</replica></macros>
<zookeeper>
  <node><host>127.0.0.1</host><port>${keeper}</port></node>
  <session_timeout_ms>3000</session_timeout_ms>
</zookeeper>
<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
<remote_servers><${clusterName}>${shards
  .map((ports) => {
    const replicas = ports.map((port) => `<replica><host>127.0.0.1</host><port>${port}</port></replica>`)
    return `<shard><internal_replication>true</internal_replication>${replicas.join('')}</shard>`
  })
  .join('')}</${clusterName}></remote_servers>
`
