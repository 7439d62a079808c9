// Leads two servers on one PostgreSQL and one Redis through simulated days of faults: killed and restarted servers,
// databases that crash, and failing or altered sources. At the end they are compared with a clean server on SQLite.
//   node test/whole-system-cluster.ts 1 2 3      runs these seeds and prints one line for each
//   node test/whole-system-cluster.ts 1 --only=3,8
//
// 1. A write that a server acknowledged is there at the end, and both servers return it.
// 2. What was read from the sources equals what a clean server reads at the end, row by row.
// 3. Both servers together never accept more calls of 4.3 than its limit. Without Redis they accept none.
// 4. While PostgreSQL is down, /readyz of every server reports it. At the end, neither /readyz nor the doctor of any
//    server reports anything.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { faults } from '#api/faults.ts'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { callControl } from '#runtime/control-socket.ts'
import { systemRandom } from '#runtime/random.ts'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { createKey, revokeKey } from '#storage/keys.ts'
import { openState, openStores, type Stores } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { DrivenClock } from './driven-clock.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { type GateMode, gateModes } from './source-gate.ts'
import { comparedTables, describeDifference, Host, HostDied } from './whole-system.ts'
import {
  alterNext,
  fullPassSteps,
  openSources,
  type SourceName,
  type Sources,
  sourceNames,
  stepMs,
} from './whole-system-sources.ts'

type ClusterEvent =
  | { readonly is: 'pass'; readonly steps: number }
  | { readonly is: 'quotes'; readonly count: number }
  | { readonly is: 'label'; readonly name: string }
  | { readonly is: 'create key' | 'revoke key' }
  | { readonly is: 'burst'; readonly callers: number }
  | { readonly is: 'reorg'; readonly depth: number }
  | { readonly is: 'alter'; readonly source: SourceName; readonly skipped: number; readonly seed: string }
  | { readonly is: 'break'; readonly source: SourceName; readonly mode: GateMode; readonly steps: number }
  /** `at`: after so many requests to sources. */
  | { readonly is: 'kill server'; readonly server: number; readonly at: number; readonly downSteps: number }
  | { readonly is: 'restart server'; readonly server: number }
  | { readonly is: 'crash PostgreSQL' | 'crash Redis' }

const drawEvent: readonly [weight: number, draw: (draws: SeededRandom) => ClusterEvent][] = [
  [6, (draws) => ({ is: 'pass', steps: draws.whole(1, 5) })],
  [4, (draws) => ({ is: 'quotes', count: draws.whole(1, 6) })],
  [2, (draws) => ({ is: 'label', name: `Name ${draws.whole(1, 1000)}` })],
  [2, (draws) => ({ is: draws.pick(['create key', 'revoke key']) })],
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

export function drawClusterEvents(seed: number): ClusterEvent[] {
  const draws = createSeededRandom(`cluster ${seed}`)
  const weighted = drawEvent.flatMap(([weight, draw]) => Array.from({ length: weight }, () => draw))
  return Array.from({ length: eventsPerRun }, () => draws.pick(weighted)(draws))
}

/** Of 4.3, for all servers together. */
const perSecond = 2
/** Long enough that servers that count on their own exceed the limit. */
const burstMs = 3000
const recoverySteps = 4
const recoveryStepsMax = 48
const triesMax = 600

interface ServerProcess {
  readonly dataDir: string
  host: Host
  url: string | undefined
}

class ClusterRun {
  readonly #sources: Sources
  readonly #dir: string
  readonly #postgres: PostgresServer
  readonly #redis: RedisServer
  readonly #store: { readonly state: string }
  readonly #clock: DrivenClock
  readonly #servers: readonly ServerProcess[]
  readonly #quotes = new Map<string, { readonly body: string; reply: string | undefined }>()
  readonly #keys = new Map<string, { readonly key: string; isRevoked: boolean }>()
  readonly #labels = new Map<string, string>()
  readonly #broken = new Map<SourceName, number>()
  #admin = ''
  #limited = ''
  #aheadMs: number
  #step = 0
  #writes = 0
  #needsFullPass = false

  constructor(sources: Sources, dir: string, postgres: PostgresServer, redis: RedisServer, state: string) {
    this.#sources = sources
    this.#dir = dir
    this.#postgres = postgres
    this.#redis = redis
    this.#store = { state }
    this.#aheadMs = sources.now() - Date.now()
    this.#clock = new DrivenClock(this.#aheadMs)
    this.#servers = ['one', 'two'].map((name) => ({ dataDir: join(dir, name), host: new Host(), url: undefined }))
  }

  async run(events: readonly ClusterEvent[]): Promise<void> {
    await (await openStores(join(this.#dir, 'tools'), this.#store)).close()
    await this.#writeState(async (state) => {
      const admin = { name: 'admin', plan: 'enterprise', admin: true } as const
      this.#admin = (await createKey(state, admin, this.#clock, systemRandom)).key
      this.#limited = (await createKey(state, { name: 'limited', plan: 'standard' }, this.#clock, systemRandom)).key
    })
    for (const server of this.#servers) await this.#start(server)
    await this.#pushRate()
    for (const event of events) {
      await this.#happen(event)
      for (const server of this.#servers) if (!server.url) await this.#start(server)
    }
    await this.#recover()
    await this.#checkWrites()
    for (const server of this.#servers) await this.#stop(server)
    await this.#compare()
  }

  async close(): Promise<void> {
    for (const { host } of this.#servers) await host.kill()
  }

  logTail(): string {
    try {
      return readFileSync(this.#logFile, 'utf8').split('\n').slice(-20).join('\n')
    } catch {
      return ''
    }
  }

  get #logFile(): string {
    return join(this.#dir, 'log')
  }

  async #happen(event: ClusterEvent): Promise<void> {
    switch (event.is) {
      case 'pass':
        return this.#pass(event.steps)
      case 'quotes':
        for (let at = 0; at < event.count; at++) await this.#quote()
        return
      case 'label':
        return this.#label(event.name)
      case 'create key':
      case 'revoke key':
        return this.#changeKey(event.is)
      case 'burst':
        await this.#burst(event.callers, burstMs)
        return
      case 'reorg':
        return this.#sources.chain.reorg(event.depth)
      case 'alter':
        if (event.source === 'feed') this.#needsFullPass = true
        this.#sources.gates[event.source].alter = alterNext(event.source, event.seed, event.skipped)
        return
      case 'break':
        this.#sources.gates[event.source].set(event.mode)
        this.#broken.set(event.source, this.#step + event.steps)
        return
      case 'kill server':
        await this.#kill(this.#servers[event.server] as ServerProcess, event.at)
        return this.#pass(event.downSteps)
      case 'restart server':
        return this.#stop(this.#servers[event.server] as ServerProcess)
      case 'crash PostgreSQL':
        return this.#crashPostgres()
      case 'crash Redis':
        return this.#crashRedis()
    }
  }

  async #start(server: ServerProcess): Promise<void> {
    if (!server.host.isAlive) server.host = new Host()
    await this.#moveClock()
    const settings = { ...this.#settings(this.#sources.settings), store: this.#store, limits: this.#redis.url }
    const input = { name: 'main', dataDir: server.dataDir, logFile: this.#logFile, settings }
    server.url = (await server.host.call('start', input)).url
    await this.#settle()
  }

  #settings(sources: object): object {
    return {
      ...sources,
      ...{ server: { port: 0 }, console: { enabled: false } },
    }
  }

  async #stop(server: ServerProcess): Promise<void> {
    server.url = undefined
    await server.host.call('stop', { name: 'main' })
  }

  /** Kills a server at once, or while it reads from sources. */
  async #kill(server: ServerProcess, at: number): Promise<void> {
    const { host } = server
    let left = at
    for (const gate of Object.values(this.#sources.gates))
      gate.onRequest = () => {
        left -= 1
        if (left === 0) void host.kill()
      }
    const quote = this.#quote()
    if (at > 0) await this.#advance()
    if (at > 0) await this.#settle()
    await host.kill()
    server.url = undefined
    await quote
    for (const gate of Object.values(this.#sources.gates)) gate.onRequest = undefined
  }

  async #pass(steps: number): Promise<void> {
    for (let at = 0; at < steps; at++) {
      await this.#advance()
      await this.#settle()
      for (const { url } of this.#running) await this.#checkFunding(url)
    }
  }

  async #advance(): Promise<void> {
    for (const [source, until] of this.#broken) if (until <= this.#step) this.#repair(source)
    this.#step += 1
    this.#aheadMs += stepMs
    this.#sources.step()
    await this.#moveClock()
  }

  #repair(source: SourceName): void {
    this.#sources.gates[source].set('open')
    this.#broken.delete(source)
  }

  async #moveClock(): Promise<void> {
    this.#clock.moveTo(this.#aheadMs)
    const moves = this.#servers.map(({ host }) => host.call('move', { aheadMs: this.#aheadMs, wrongByMs: 0 }))
    await Promise.all(moves.map((move) => move.catch(ignoreDeath)))
  }

  /** Waits until no server does anything. A call of a thread may wait for a source that fails; then it is not waited for. */
  async #settle(): Promise<void> {
    const gates = Object.values(this.#sources.gates)
    let [before, quiet] = [-1, 0]
    for (let tries = 0; tries < 400 && quiet < 3; tries++) {
      const idle = { requests: 0, calls: 0, writes: 0 }
      const hosts = this.#running.map(({ host }) => host.call('busy', {}).catch(() => idle))
      const busy = (await Promise.all(hosts)).reduce(
        (sum, { requests, writes, calls }) => sum + requests + writes + (tries > 100 ? 0 : calls),
        0,
      )
      const count = gates.reduce((sum, gate) => sum + gate.requests, 0)
      quiet = count === before && busy === 0 && gates.every(({ pending }) => pending === 0) ? quiet + 1 : 0
      before = count
      await sleep(4)
    }
  }

  get #running(): readonly { readonly host: Host; readonly url: string; readonly dataDir: string }[] {
    return this.#servers.flatMap(({ host, url, dataDir }) => (url ? [{ host, url, dataDir }] : []))
  }

  async #until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < triesMax; tries++) {
      if (await isTrue()) return
      await sleep(100)
    }
    assert.fail(`did not happen: ${what}`)
  }

  async #failing(url: string): Promise<readonly { readonly name: string; readonly message: string }[]> {
    const { text } = await request(`${url}/readyz`)
    const { checks } = JSON.parse(text) as { checks: { name: string; ok: boolean; message: string }[] }
    return checks.filter(({ ok }) => !ok)
  }

  /** What a server claims as final is true. */
  async #checkFunding(url: string): Promise<void> {
    const { chain } = this.#sources
    const addresses = chain.addresses()
    const address = addresses[(this.#step * 7) % addresses.length] as string
    const query = `module=account&action=fundedby&chainid=1&address=${address}&apikey=${this.#admin}`
    const { text, headers } = await request(`${url}/v2/api?${query}`)
    if (headers.get('x-tetrad-finality') !== 'finalized') return
    const asOf = Number(headers.get('x-tetrad-as-of'))
    assert.ok(asOf <= chain.final, `block ${asOf} is claimed as final, block ${chain.final} is`)
    const { result } = JSON.parse(text) as { result: { fundingTxn?: string } | [] }
    const truth = chain.firstFunding(address, Array.isArray(result) ? asOf : chain.final)
    assert.equal(Array.isArray(result) ? undefined : result.fundingTxn, truth?.tx, `funding of ${address}: ${text}`)
  }

  /** The servers take turns. */
  async #quote(name = `order-${++this.#writes}`, url = this.#running[this.#writes % this.#running.length]?.url) {
    const body = JSON.stringify({
      ...{ from: { currency: 'USDC', amount: `${100 + this.#writes}` }, to: { currency: 'EURC' } },
      ...{ tenor: 'instant', type: 'reference', recipientAddress: `0x${'11'.repeat(20)}` },
    })
    const write = this.#quotes.get(name) ?? { body, reply: undefined }
    const headers = { ...bearer(this.#admin), 'content-type': 'application/json', 'idempotency-key': name }
    const sent = { method: 'POST', headers, body: write.body }
    const response = await request(`${url}/v1/exchange/fx/quotes`, sent).catch(() => undefined)
    // Without a response it is unknown whether the quote was written.
    if (response?.status === 503) return false
    this.#quotes.set(name, write)
    if (!response) return false
    assert.equal(response.status, 200, response.text)
    if (write.reply !== undefined) assert.equal(response.text, write.reply, `the reply of ${name} is repeated`)
    write.reply = response.text
    return true
  }

  async #pushRate(): Promise<void> {
    const headers = { ...bearer(this.#admin), 'content-type': 'application/json' }
    const body = JSON.stringify({ pair: 'EUR/USD', rate: '1.0842' })
    const [server] = this.#running
    const { status, text } = await request(`${server?.url}/v1/exchange/fx/rates`, { method: 'POST', headers, body })
    assert.equal(status, 200, text)
  }

  /** Like a command that runs next to the servers. */
  async #writeState(work: (state: State) => Promise<void>): Promise<void> {
    const state = await openState(join(this.#dir, 'tools'), this.#store)
    try {
      await work(state)
    } finally {
      await state.close()
    }
  }

  async #label(name: string): Promise<void> {
    await this.#writeState(async (state) => {
      const history = { by: 'operator', via: 'a test', atMs: this.#clock.now() } as const
      const slug = `entity-${this.#labels.size % 4}`
      await state.write((tx) => putLabels(new HistoryWriter(tx, history), [{ chain: '1', slug, name }]))
      this.#labels.set(slug, name)
    })
  }

  async #changeKey(change: 'create key' | 'revoke key'): Promise<void> {
    const [id, held] = [...this.#keys].findLast(([, { isRevoked }]) => !isRevoked) ?? []
    await this.#writeState(async (state) => {
      if (change === 'create key' || !id || !held) {
        const made = await createKey(state, { name: 'caller', plan: 'enterprise' }, this.#clock, systemRandom)
        this.#keys.set(made.id, { key: made.key, isRevoked: false })
      } else {
        await revokeKey(state, id, this.#clock)
        held.isRevoked = true
      }
    })
    await this.#checkKeys()
  }

  async #checkKeys(): Promise<void> {
    for (const { url } of this.#running)
      for (const [id, { key, isRevoked }] of this.#keys) {
        const { status } = await request(`${url}/v0/eth/validators/1`, { headers: bearer(key) })
        if (isRevoked) assert.ok(status === 401 || status === 429, `the revoked key ${id} gets status ${status}`)
        else assert.notEqual(status, 401, `the key ${id} is refused`)
      }
  }

  /** Several callers of 4.3 at every server, each for some time. Returns how many calls were accepted. */
  async #burst(callers: number, lastsMs: number): Promise<number> {
    const query = `module=account&action=fundedby&chainid=1&address=0x${'1'.repeat(40)}&apikey=${this.#limited}`
    const refusals = ['rate limit reached', faults['limit.unavailable'].message]
    const startMs = performance.now()
    let accepted = 0
    const callRepeatedly = async (url: string) => {
      do {
        const { text } = await request(`${url}/v2/api?${query}`)
        if (!refusals.some((refusal) => text.includes(refusal))) accepted += 1
      } while (performance.now() - startMs < lastsMs)
    }
    const urls = this.#running.flatMap(({ url }) => Array.from({ length: callers }, () => url))
    await Promise.all(urls.map(callRepeatedly))
    const tookMs = performance.now() - startMs
    const acceptedMax = perSecond * (Math.floor(tookMs / 1000) + 1)
    assert.ok(accepted <= acceptedMax, `${accepted} calls were accepted within ${tookMs} ms`)
    return accepted
  }

  async #crashPostgres(): Promise<void> {
    await this.#postgres.kill()
    const quote = this.#quote()
    await this.#until('/readyz of every server reports PostgreSQL', async () => {
      const failing = await Promise.all(this.#running.map(({ url }) => this.#failing(url)))
      return failing.every((checks) => checks.some(({ name }) => /store$/.test(name)))
    })
    await this.#postgres.start()
    await quote
    await this.#until('quotes are written again', () => this.#quote())
  }

  /** The counts are lost with it. */
  async #crashRedis(): Promise<void> {
    await this.#redis.kill()
    assert.equal(await this.#burst(2, 0), 0, 'calls that were accepted without Redis')
    await this.#redis.start()
    await this.#until('calls are accepted again', async () => (await this.#burst(1, 0)) > 0)
  }

  /** Ends all faults and waits until no server reports anything. */
  async #recover(): Promise<void> {
    for (const source of sourceNames) {
      this.#sources.gates[source].alter = undefined
      this.#repair(source)
    }
    let left: readonly object[] = []
    for (let tries = 0; tries < recoveryStepsMax; tries++) {
      await this.#pass(1)
      if (tries < (this.#needsFullPass ? fullPassSteps : recoverySteps)) continue
      left = (await Promise.all(this.#running.map(({ url }) => this.#failing(url)))).flat()
      for (const { dataDir } of left.length === 0 ? this.#running : []) {
        const findings = (await callControl(dataDir, 'doctor', { sample: 10 }))?.result as { level: string }[]
        left = [...left, ...findings.filter(({ level }) => level !== 'ok')]
      }
      if (left.length === 0 && (await this.#hasLatestRates())) return
    }
    assert.fail(`reported after the last fault: ${JSON.stringify(left)}`)
  }

  async #hasLatestRates(): Promise<boolean> {
    let oldest = 0
    await this.#writeState(async (state) => {
      const row = await state.get<{ oldest: number }>(
        `select min(at_ms) as oldest from fx_latest where source <> 'desk'`,
      )
      oldest = Number(row?.oldest)
    })
    return oldest === this.#sources.now()
  }

  /** Rule 1. */
  async #checkWrites(): Promise<void> {
    await this.#checkKeys()
    for (const { url } of this.#running)
      for (const [name, { reply }] of this.#quotes) {
        if (reply === undefined) continue
        const { id } = JSON.parse(reply) as { id: string }
        const { status, text } = await request(`${url}/v1/exchange/fx/quotes/${id}`, { headers: bearer(this.#admin) })
        assert.equal(status, 200, `quote ${id} of ${name}: ${text}`)
      }
    await this.#writeState(async (state) => {
      const rows = await state.all<{ slug: string; name: string }>('select slug, name from labels')
      assert.deepEqual(new Map(rows.map(({ slug, name }) => [slug, name])), new Map([...this.#labels].sort()))
    })
  }

  /** Rule 2. */
  async #compare(): Promise<void> {
    const clean = join(this.#dir, 'clean')
    const server = this.#servers[0] as ServerProcess
    const { host } = server
    const input = {
      name: 'clean',
      dataDir: clean,
      logFile: this.#logFile,
      settings: this.#settings(this.#sources.patientSettings),
    }
    const { url } = await host.call('start', input)
    await this.#until('the clean server has read everything', async () => {
      if ((await this.#failing(url)).length > 0) return false
      const { streams } = JSON.parse((await request(`${url}/coverage`)).text) as {
        streams: { name: string; status: string }[]
      }
      return streams.every(({ name, status }) => status === 'healthy' || name.includes('desk'))
    })
    server.url = url
    await this.#settle()
    await host.call('stop', { name: 'clean' })
    const actual = await openStores(join(this.#dir, 'tools'), this.#store)
    const expected = await openStores(clean)
    try {
      await assertSameTables(actual, expected)
    } finally {
      await actual.close()
      await expected.close()
    }
  }
}

async function assertSameTables(actual: Stores, expected: Stores): Promise<void> {
  for (const [file, tables] of Object.entries(comparedTables))
    for (const [table, columns] of Object.entries(tables)) {
      const where = table === 'fx_latest' ? `where source <> 'desk'` : ''
      const rowsOf = async (stores: Stores) => {
        const state = file === 'state.sqlite' ? stores.state : stores.duties
        return (await state.all(`select ${columns} from ${table} ${where}`)).map(rowText).sort()
      }
      const difference = describeDifference(table, await rowsOf(actual), await rowsOf(expected))
      assert.equal(difference, undefined)
    }
}

/** The columns of both engines may have another order. */
const rowText = (row: object): string =>
  JSON.stringify(Object.entries(row).sort(), (_, value) =>
    value instanceof Uint8Array || value?.type === 'Buffer' ? Buffer.from(value).toString('hex') : value,
  )

async function request(url: string, options: RequestInit = {}) {
  const response = await fetch(url, options)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' })

const ignoreDeath = (error: unknown) => {
  if (!(error instanceof HostDied)) throw error
}

/** Returns the message of the failure; undefined: everything was right. */
export async function runCluster(seed: number, events = drawClusterEvents(seed)): Promise<string | undefined> {
  await using resources = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-cluster-'))
  resources.defer(() => rm(dir, { recursive: true, force: true }))
  const postgres = resources.use(await startPostgres())
  const redis = resources.use(await startRedis())
  const sources = resources.use(await openSources(`cluster ${seed}`))
  const run = new ClusterRun(sources, dir, postgres, redis, await postgres.schema())
  resources.defer(() => run.close())
  try {
    await run.run(events)
    return undefined
  } catch (error) {
    return `${(error as Error).stack}\nlog:\n${run.logTail()}`
  }
}

if (import.meta.main) {
  const args = process.argv.slice(2)
  const only = args.find((arg) => arg.startsWith('--only='))?.slice(7)
  const kept = only === undefined ? undefined : new Set(only.split(',').map(Number))
  for (const seed of args.filter((arg) => /^\d+$/.test(arg)).map(Number)) {
    const events = drawClusterEvents(seed).filter((_, at) => kept?.has(at) ?? true)
    const startMs = performance.now()
    const failure = await runCluster(seed, events)
    console.log(JSON.stringify({ seed, failure, tookMs: Math.round(performance.now() - startMs) }))
    if (failure === undefined) continue
    for (const [at, event] of events.entries()) console.error(`  ${at}. ${JSON.stringify(event)}`)
    console.error(failure)
    process.exitCode = 1
  }
}
