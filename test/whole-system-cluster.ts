// Leads two servers on one PostgreSQL and one Redis through simulated days of faults: killed and restarted servers,
// databases that crash, and failing or altered sources. At the end they are compared with a clean server on SQLite.
//   node test/whole-system-cluster.ts 1 2 3      runs these seeds; see whole-system.ts
//
// 1. A write that a server acknowledged is there at the end, and both servers return it.
// 2. What was read from the sources equals what a clean server reads at the end, row by row.
// 3. Both servers together never accept more calls of 4.3 than its limit. Without Redis they accept none.
// 4. While PostgreSQL or Redis is down, /readyz of every server reports it; so does the doctor for Redis. At the end,
//    neither /readyz nor the doctor of any server reports anything.
// 5. An answer that claims to be final is true.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { faults } from '#api/contract/faults.ts'
import { connectivityFindings } from '#operations/connectivity.ts'
import { systemClock } from '#runtime/clock.ts'
import { openStateAndIngest, openStores, type StateAndIngest, type Stores } from '#storage/open.ts'
import { settingsWith } from './context.ts'
import { killIdleHosts, takeHost } from './host-process.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { gateModes } from './source-gate.ts'
import { type DrivenServer, SystemRun } from './whole-system-driver.ts'
import { type CommonEvent, drawFrom, type EventTable } from './whole-system-events.ts'
import { failingChecks, request } from './whole-system-requests.ts'
import { runSeeds, runToEnd } from './whole-system-seeds.ts'
import { openSources, type Sources, sourceNames } from './whole-system-sources.ts'

type ClusterEvent =
  | CommonEvent
  | { readonly is: 'burst'; readonly callers: number }
  /** `at`: after so many requests to sources. */
  | { readonly is: 'kill server'; readonly server: number; readonly at: number; readonly downSteps: number }
  | { readonly is: 'restart server'; readonly server: number }
  | { readonly is: 'crash PostgreSQL' | 'crash Redis' }

const clusterEvents: EventTable<ClusterEvent> = [
  [6, (draws) => ({ is: 'pass', steps: draws.whole(1, 5) })],
  [4, (draws) => ({ is: 'quotes', count: draws.whole(1, 6) })],
  [2, (draws) => ({ is: 'label', slug: `entity-${draws.whole(1, 5)}`, name: `Name ${draws.whole(1, 1000)}` })],
  [2, (draws) => ({ is: draws.pick(['create key', 'revoke key', 'rotate key']) })],
  [3, (draws) => ({ is: 'burst', callers: draws.whole(1, 4) })],
  [2, (draws) => ({ is: 'reorg', depth: draws.whole(1, 5) })],
  [3, (draws) => ({ is: 'alter', source: draws.pick(sourceNames), skipped: draws.whole(0, 12), seed: draws.hex(6) })],
  [
    2,
    (draws) => ({
      ...{ is: 'break', source: draws.pick(sourceNames), steps: draws.whole(1, 5) },
      mode: draws.pick(gateModes.filter((mode) => mode !== 'silent')),
    }),
  ],
  [
    4,
    (draws) => ({
      ...{ is: 'kill server', server: draws.whole(0, 2), at: draws.pick([0, 5, 25]), downSteps: draws.whole(0, 3) },
    }),
  ],
  [1, (draws) => ({ is: 'restart server', server: draws.whole(0, 2) })],
  [3, () => ({ is: 'crash PostgreSQL' })],
  [2, () => ({ is: 'crash Redis' })],
]
const eventsPerRun = 14

export const drawClusterEvents = (seed: number): ClusterEvent[] =>
  drawFrom(clusterEvents, `cluster ${seed}`, eventsPerRun)

/** Of 4.3, for all servers together. */
const perSecond = 2
/** Long enough that servers that count on their own exceed the limit. */
const burstMs = 3000

class ClusterRun extends SystemRun<ClusterEvent> {
  protected readonly limitedPlan = 'standard'
  protected readonly servers: readonly DrivenServer[]
  readonly #postgres: PostgresServer
  readonly #redis: RedisServer
  readonly #store: { readonly state: string }

  constructor(sources: Sources, dir: string, postgres: PostgresServer, redis: RedisServer, state: string) {
    super(sources, dir)
    this.#postgres = postgres
    this.#redis = redis
    this.#store = { state }
    this.servers = ['one', 'two'].map((name) => ({ dataDir: join(dir, name), host: takeHost(), url: undefined }))
  }

  protected async prepare(): Promise<void> {
    await (await this.openStores()).close()
  }

  protected openStateAndIngest(): Promise<StateAndIngest> {
    return openStateAndIngest(join(this.dir, 'tools'), this.#store)
  }

  protected openStores(): Promise<Stores> {
    return openStores(join(this.dir, 'tools'), this.#store)
  }

  protected override settings(): object {
    return { ...super.settings(), store: this.#store, limits: this.#redis.url }
  }

  protected override assertNoticed(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    return this.until(what, isTrue)
  }

  protected async happen(event: ClusterEvent): Promise<void> {
    switch (event.is) {
      case 'burst':
        await this.#burst(event.callers, burstMs)
        return
      case 'kill server':
        await this.#kill(this.servers[event.server] as DrivenServer, event.at)
        return this.pass(event.downSteps)
      case 'restart server':
        return this.stop(this.servers[event.server] as DrivenServer)
      case 'crash PostgreSQL':
        return this.#crashPostgres()
      case 'crash Redis':
        return this.#crashRedis()
      default:
        return this.happenAnywhere(event)
    }
  }

  /** Kills a server at once, or while it reads from sources. */
  async #kill(server: DrivenServer, at: number): Promise<void> {
    const { host } = server
    const quote = this.writes.quote()
    if (at > 0)
      await this.killAtRequest(host, at, async () => {
        await this.advance()
        await this.settle()
      })
    await host.kill()
    server.url = undefined
    await quote
  }

  /** Several callers of 4.3 at every server, each for some time. Returns how many calls were accepted. */
  async #burst(callers: number, lastsMs: number): Promise<number> {
    const query = `module=account&action=fundedby&chainid=1&address=0x${'1'.repeat(40)}&apikey=${this.limited}`
    const refusals = ['rate limit reached', faults['limit.unavailable'].message]
    const startMs = performance.now()
    let accepted = 0
    const callRepeatedly = async (url: string) => {
      do {
        const { text } = await request(`${url}/v2/api?${query}`)
        if (!refusals.some((refusal) => text.includes(refusal))) accepted += 1
      } while (performance.now() - startMs < lastsMs)
    }
    const urls = this.running.flatMap(({ url }) => Array.from({ length: callers }, () => url))
    await Promise.all(urls.map(callRepeatedly))
    const tookMs = performance.now() - startMs
    const acceptedMax = perSecond * (Math.floor(tookMs / 1000) + 1)
    assert.ok(accepted <= acceptedMax, `${accepted} calls were accepted within ${tookMs} ms`)
    return accepted
  }

  async #crashPostgres(): Promise<void> {
    await this.#postgres.kill()
    const quote = this.writes.quote()
    await this.until('/readyz of every server reports PostgreSQL', async () => {
      const failing = await Promise.all(this.running.map(({ url }) => failingChecks(url)))
      return failing.every((checks) => checks.some(({ name }) => /store$/.test(name)))
    })
    await this.#postgres.start()
    await quote
    await this.until('quotes are written again', () => this.writes.quote())
  }

  /** The counts are lost with it. */
  async #crashRedis(): Promise<void> {
    await this.#redis.kill()
    assert.equal(await this.#burst(2, 0), 0, 'calls that were accepted without Redis')
    await this.until('/readyz reports Redis', async () => {
      const failing = await Promise.all(this.running.map(({ url }) => failingChecks(url)))
      return failing.every((checks) => checks.some(({ name }) => name === 'limits in Redis'))
    })
    const findings = await connectivityFindings({ settings: settingsWith(this.settings()), clock: systemClock })
    const isReported = findings.some(({ name, level }) => name === 'limits in Redis' && level !== 'ok')
    assert.ok(isReported, `the doctor does not report Redis: ${JSON.stringify(findings)}`)
    await this.#redis.start()
    await this.until('calls are accepted again', async () => (await this.#burst(1, 0)) > 0)
  }
}

/** Returns the message of the failure; undefined: everything was right. */
export async function runCluster(
  seed: number,
  events: readonly ClusterEvent[] = drawClusterEvents(seed),
): Promise<string | undefined> {
  await using resources = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-cluster-'))
  resources.defer(() => rm(dir, { recursive: true, force: true }))
  const postgres = resources.use(await startPostgres())
  const redis = resources.use(await startRedis())
  const sources = resources.use(await openSources(`cluster ${seed}`))
  return await runToEnd(new ClusterRun(sources, dir, postgres, redis, await postgres.schema()), events)
}

if (import.meta.main) {
  await runSeeds(process.argv.slice(2), drawClusterEvents, runCluster)
  await killIdleHosts()
}
