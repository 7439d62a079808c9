// What writes of several processes cost each other on PostgreSQL: quotes per second of one and of two processes, quotes
// while another process reads a feed of markets, and a feed on PostgreSQL relative to SQLite. Quotes are stored without
// pricing and HTTP.
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { firstLine, launch, median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const records = Number(process.env.BENCH_RECORDS ?? 2000)
/** In total, for any number of processes. */
const parallel = 64

interface Figures {
  readonly perSecond: number
  readonly lockWaits?: number
}

/** A process of writes-one.ts: `send` a line and get the next one. */
async function startOne(...args: readonly string[]) {
  const child: ChildProcess = launch('writes-one.ts', ...args)
  if (!child.stdin || !child.stdout) throw new Error('no pipes')
  const { stdin } = child
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const read = async (): Promise<Figures> => {
    const line = await lines.next()
    if (line.done) throw new Error(`${args.join(' ')} ended`)
    return JSON.parse(line.value)
  }
  await read()
  return {
    send: (text: string): Promise<Figures> => {
      stdin.write(`${text}\n`)
      return read()
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

async function startFeed() {
  const child = launch('feed.ts', String(records))
  const { url } = await firstLine<{ url: string }>(child)
  await fetch(url, { method: 'POST' })
  return { url, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

const sumOf = (all: readonly Figures[]): number => all.reduce((sum, { perSecond }) => sum + perSecond, 0)
const ratio = (value: number, base: number): string => (value / base).toFixed(2)

async function compareQuotes(state: string, feedUrl: string): Promise<void> {
  using resources = new DisposableStack()
  const start = async (count: number) => resources.use(await startOne('quotes', state, String(count)))
  const one = await start(parallel)
  const two = [await start(parallel / 2), await start(parallel / 2)]
  const three = [await start(parallel / 3), await start(parallel / 3), await start(parallel / 3)]
  const results = { one: [] as number[], two: [] as number[], three: [] as number[], duringFeed: [] as number[] }
  let lockWaits = 0
  const run = async (processes: readonly (typeof one)[]): Promise<number> => {
    const figures = await Promise.all(processes.map(({ send }) => send(String(seconds))))
    for (const figure of figures) lockWaits += figure.lockWaits ?? 0
    return sumOf(figures)
  }
  await run([one, ...two, ...three])
  // Alternate, so that noise affects all of them.
  for (let round = 0; round < rounds; round++) {
    results.one.push(await run([one]))
    results.two.push(await run(two))
    results.three.push(await run(three))
  }
  const feed = resources.use(await startOne('feed', state, feedUrl, String(records)))
  let isOver = false
  const reading = feed.send('go').finally(() => {
    isOver = true
  })
  while (!isOver) results.duringFeed.push(await run([one]))
  await reading
  const base = median(results.one)
  console.log(`quotes of one process: ${Math.round(base)}/s`)
  console.log(`two processes: ${ratio(median(results.two), base)} of one (goal: 1)`)
  console.log(`three processes: ${ratio(median(results.three), base)} of one`)
  console.log(`one, while another process reads a feed: ${ratio(median(results.duringFeed), base)} of one alone`)
  console.log(`waits of quotes for a lock: ${lockWaits} (goal: 0)`)
}

async function compareFeeds(stateOf: () => Promise<string>, feedUrl: string, dir: string): Promise<void> {
  const [postgres, sqlite]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    for (const [location, results] of [
      [await stateOf(), postgres],
      [join(dir, String(round)), sqlite],
    ] as const) {
      using feed = await startOne('feed', location, feedUrl, String(records))
      results.push((await feed.send('go')).perSecond)
    }
  }
  console.log(`feed on SQLite: ${Math.round(median(sqlite))} markets/s`)
  console.log(`feed on PostgreSQL: ${ratio(median(postgres), median(sqlite))} of SQLite (goal: 0.5)`)
}

if (noPostgres) console.log(`skipped: ${noPostgres}`)
else {
  await using server = await startPostgres()
  using feed = await startFeed()
  const dir = mkdtempSync(join(tmpdir(), 'tetrad-writes-'))
  try {
    await compareQuotes(await server.schema(), feed.url)
    await compareFeeds(() => server.schema(), feed.url, dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
