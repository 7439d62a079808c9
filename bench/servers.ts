// Throughput of 1, 2 and 4 servers on one PostgreSQL and one Redis, relative to one server, for a mix of label lists
// (4.1), stored fundings (4.3), quotes (4.4) and markets (4.8). Also prints the CPU time per response and program: with
// fewer cores than processes, that figure is the meaningful one.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { contract } from '#api/contract/contract.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { noRedis, startRedis } from '#test/redis.ts'
import { firstLine, launch, median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const seconds = Number(process.env.BENCH_SECONDS ?? 3)
/** In total, for any number of servers. */
const connections = 32
const counts = [1, 2, 4]
/** Linux counts CPU time in hundredths of a second. */
const tickSeconds = 0.01

interface Load {
  readonly done: number
  readonly failed: number
  readonly seconds: number
}

/** CPU seconds of all descendants of this process, by program. */
function cpuSeconds(servers: readonly number[]): Record<'tetrad' | 'postgres' | 'redis', number> {
  const all = readdirSync('/proc').flatMap((name) => {
    try {
      // `pid (name) state parent …`. Fields 12 to 15 after the name are its own time and that of ended children.
      const [, pid, program = '', rest = ''] =
        /^(\d+) \((.*)\) (.*)$/m.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
      const fields = rest.split(' ').map(Number)
      const ticks = fields.slice(11, 15).reduce((sum, value) => sum + value, 0)
      return [{ pid: Number(pid), parent: fields[1] ?? 0, program, ticks }]
    } catch {
      return []
    }
  })
  const descendants = new Set([process.pid])
  for (let before = 0; before !== descendants.size; ) {
    before = descendants.size
    for (const { pid, parent } of all) if (descendants.has(parent)) descendants.add(pid)
  }
  const sum = (isCounted: (process: (typeof all)[number]) => boolean) =>
    all
      .filter((process) => descendants.has(process.pid) && isCounted(process))
      .reduce((total, { ticks }) => total + ticks * tickSeconds, 0)
  return {
    tetrad: sum(({ pid }) => servers.includes(pid)),
    postgres: sum(({ program }) => program === 'postgres'),
    redis: sum(({ program }) => program.startsWith('redis')),
  }
}

interface Filled {
  readonly address: string
  readonly slug: string
  readonly keys: readonly string[]
}

function requestsOf({ address, slug, keys }: Filled): string[] {
  const head = (line: string, ...more: string[]) => [line, 'host: 127.0.0.1', ...more, '', ''].join('\r\n')
  const body = JSON.stringify(contract['fx.createQuote'].example.input)
  const length = `content-length: ${Buffer.byteLength(body)}`
  return keys.flatMap((key) => [
    head(`GET /v2/api?module=nametag&action=getlabelmasterlist&chainid=1&apikey=${key} HTTP/1.1`),
    head(`GET /v2/api?module=account&action=fundedby&chainid=1&address=${address}&apikey=${key} HTTP/1.1`),
    head(
      'POST /v1/exchange/fx/quotes HTTP/1.1',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      length,
    ) + body,
    head(`GET /markets/slug/${slug} HTTP/1.1`),
  ])
}

interface Server {
  readonly pid: number
  readonly port: number
  /** The requests for this server, with keys of its own, because limits are shared. */
  readonly file: string
}

interface Round {
  readonly perSecond: number
  readonly cpuMs: Readonly<Record<string, number>>
}

/** Loads all servers at the same time, each by its own load generator. */
async function runRound(servers: readonly Server[]): Promise<Round> {
  const pids = servers.map(({ pid }) => pid)
  const before = cpuSeconds(pids)
  const each = String(connections / servers.length)
  const loads = await Promise.all(
    servers.map(({ port, file }) => firstLine<Load>(launch('load.ts', String(port), file, String(seconds), each))),
  )
  const after = cpuSeconds(pids)
  const failed = loads.reduce((sum, load) => sum + load.failed, 0)
  const done = loads.reduce((sum, load) => sum + load.done, 0)
  // On a busy machine Redis may respond too late; then fundings are refused (behaviour/operations.md#redis-outages).
  if (failed > 0) console.log(`  ${failed} of ${done} responses were refused`)
  if (failed > done / 20) throw new Error('too many responses were refused')
  const programs = Object.keys(after) as (keyof typeof after)[]
  return {
    perSecond: loads.reduce((sum, load) => sum + load.done / load.seconds, 0),
    cpuMs: Object.fromEntries(programs.map((name) => [name, ((after[name] - before[name]) * 1000) / done])),
  }
}

async function measure(state: string, redis: string, dir: string): Promise<void> {
  const filled = await firstLine<Filled>(launch('servers-one.ts', state, redis, join(dir, 'fill'), 'fill'))
  const children = Array.from({ length: Math.max(...counts) }, (_, at) =>
    launch('servers-one.ts', state, redis, join(dir, String(at))),
  )
  try {
    const ports = await Promise.all(children.map((child) => firstLine<{ port: number }>(child)))
    const servers = children.map((child, at) => {
      const file = join(dir, `${at}.json`)
      const keys = filled.keys.filter((_, index) => index % children.length === at)
      writeFileSync(file, JSON.stringify(requestsOf({ ...filled, keys })))
      return { pid: child.pid ?? 0, port: ports[at]?.port ?? 0, file }
    })
    // Warm up before measuring.
    await runRound(servers)
    const results = new Map<number, Round[]>(counts.map((count) => [count, []]))
    // Alternate, so that noise affects all counts.
    for (let number = 0; number < rounds; number++)
      for (const count of counts) results.get(count)?.push(await runRound(servers.slice(0, count)))
    printReport(results)
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

function printReport(results: ReadonlyMap<number, readonly Round[]>): void {
  const one = median((results.get(1) ?? []).map(({ perSecond }) => perSecond))
  for (const [count, all] of results) {
    const perSecond = median(all.map((round) => round.perSecond))
    const cpu = (name: string) => median(all.map(({ cpuMs }) => cpuMs[name] ?? 0)).toFixed(3)
    const text = ['tetrad', 'postgres', 'redis'].map((name) => `${name} ${cpu(name)} ms`).join(', ')
    console.log(
      `${count} servers: ${Math.round(perSecond)}/s, ${(perSecond / one).toFixed(2)} of one; per response: ${text}`,
    )
  }
  const cores = availableParallelism()
  console.log(
    `All processes share ${cores} cores, so the ratio does not show what servers on separate machines would reach.`,
  )
}

if (noPostgres || noRedis) console.log(`skipped: ${noPostgres || noRedis}`)
else {
  await using postgres = await startPostgres()
  await using redis = await startRedis()
  const dir = mkdtempSync(join(tmpdir(), 'tetrad-servers-'))
  try {
    await measure(await postgres.schema(), redis.url, dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
