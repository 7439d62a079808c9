// What more servers on one PostgreSQL and one Redis bring: answers a second of 1, 2 and 4 processes, as ratios to one, for a mix
// of label lists (4.1), stored first fundings (4.3), quotes (4.4) and markets (4.8). Beside it what an answer costs in processor
// time, by program: on a machine with fewer cores than processes that is the figure to reckon with, not the ratio.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { contract } from '#api/contract.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { noRedis, startRedis } from '#test/redis.ts'

const here = import.meta.dirname
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const seconds = Number(process.env.BENCH_SECONDS ?? 3)
/** In all, whatever the number of servers. */
const connections = 32
const counts = [1, 2, 4]
/** Of one core; Linux counts in hundredths. */
const tickSeconds = 0.01

interface Load {
  readonly done: number
  readonly failed: number
  readonly seconds: number
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

function launch(file: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [join(here, file), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
}

async function firstLine<T>(child: ChildProcess): Promise<T> {
  if (!child.stdout) throw new Error('no output to read')
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as T
  throw new Error('the process ended without a line')
}

/** Processor seconds so far, of everything that this process has started, by program. */
function cpuSeconds(servers: readonly number[]): Record<'tetrad' | 'postgres' | 'redis', number> {
  const all = readdirSync('/proc').flatMap((name) => {
    try {
      // `pid (name) state parent …`; the 12th to 15th behind the name are its own time and that of children it has reaped.
      const [, pid, program = '', rest = ''] =
        /^(\d+) \((.*)\) (.*)$/m.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
      const fields = rest.split(' ').map(Number)
      const ticks = fields.slice(11, 15).reduce((sum, one) => sum + one, 0)
      return [{ pid: Number(pid), parent: fields[1] ?? 0, program, ticks }]
    } catch {
      return []
    }
  })
  const ours = new Set([process.pid])
  for (let before = 0; before !== ours.size; ) {
    before = ours.size
    for (const { pid, parent } of all) if (ours.has(parent)) ours.add(pid)
  }
  const sum = (is: (one: (typeof all)[number]) => boolean) =>
    all.filter((one) => ours.has(one.pid) && is(one)).reduce((so, { ticks }) => so + ticks * tickSeconds, 0)
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
  /** What its driver asks, with keys that no other driver uses: limits are those of all servers together. */
  readonly file: string
}

interface Round {
  readonly perSecond: number
  readonly cpuMs: Readonly<Record<string, number>>
}

/** All of them at once, each by a driver of its own. */
async function round(servers: readonly Server[]): Promise<Round> {
  const pids = servers.map(({ pid }) => pid)
  const before = cpuSeconds(pids)
  const each = String(connections / servers.length)
  const loads = await Promise.all(
    servers.map(({ port, file }) => firstLine<Load>(launch('load.ts', String(port), file, String(seconds), each))),
  )
  const after = cpuSeconds(pids)
  const failed = loads.reduce((sum, one) => sum + one.failed, 0)
  const done = loads.reduce((sum, one) => sum + one.done, 0)
  // On a machine that is too busy Redis may be late now and then, and fundings are refused (behaviour/operations.md#redis-outages).
  if (failed > 0) console.log(`  ${failed} of ${done} answers were refused`)
  if (failed > done / 20) throw new Error('too many answers were refused')
  const programs = Object.keys(after) as (keyof typeof after)[]
  return {
    perSecond: loads.reduce((sum, one) => sum + one.done / one.seconds, 0),
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
    // Everybody has compiled and connected before anybody is measured.
    await round(servers)
    const seen = new Map<number, Round[]>(counts.map((count) => [count, []]))
    // Alternating, so that a noisy machine disturbs all alike.
    for (let turn = 0; turn < rounds; turn++)
      for (const count of counts) seen.get(count)?.push(await round(servers.slice(0, count)))
    report(seen)
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

function report(seen: ReadonlyMap<number, readonly Round[]>): void {
  const one = median((seen.get(1) ?? []).map(({ perSecond }) => perSecond))
  for (const [count, all] of seen) {
    const perSecond = median(all.map((each) => each.perSecond))
    const cpu = (name: string) => median(all.map(({ cpuMs }) => cpuMs[name] ?? 0)).toFixed(3)
    const text = ['tetrad', 'postgres', 'redis'].map((name) => `${name} ${cpu(name)} ms`).join(', ')
    console.log(
      `${count} servers: ${Math.round(perSecond)}/s, ${(perSecond / one).toFixed(2)} of one; an answer: ${text}`,
    )
  }
  const cores = availableParallelism()
  console.log(
    `On ${cores} cores, which drivers, PostgreSQL and Redis share: the ratio says what this machine has left, not what a server each on its own machine would do.`,
  )
}

if (noPostgres || noRedis) console.log(`left out: ${noPostgres || noRedis}`)
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
