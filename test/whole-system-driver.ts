// Drives whole-system runs of one server (whole-system.ts) and of several (whole-system-cluster.ts): time, events and faults
// of sources. At the end, their data is compared with that of a clean server (whole-system-clean-server.ts).
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { callControl } from '#runtime/control-socket.ts'
import { systemRandom } from '#runtime/random.ts'
import { createKey } from '#storage/keys.ts'
import { openStores, type StateAndIngest, type Stores } from '#storage/open.ts'
import { DrivenClock } from './driven-clock.ts'
import { type HostProcess, ignoreDeath, keepHost, takeHost } from './host-process.ts'
import { firstFunding } from './simulator/first-funding.ts'
import type { GateMode } from './source-gate.ts'
import { readEverything } from './whole-system-clean-server.ts'
import { type CommonEvent, eventText } from './whole-system-events.ts'
import { dutyResponses, failingChecks, request } from './whole-system-requests.ts'
import { alterNext, fullPassSteps, type SourceName, type Sources, sourceNames, stepMs } from './whole-system-sources.ts'
import { assertSameTables } from './whole-system-tables.ts'
import { SystemWrites, type WriteTarget } from './whole-system-writes.ts'

const recoverySteps = 4
const recoveryStepsMax = 48
/** Limits of the plan `free`. */
export const perSecond = 3
export const perDay = 40

export interface DrivenServer {
  dataDir: string
  host: HostProcess
  /** Undefined: it does not run. */
  url: string | undefined
}

export interface Finding {
  readonly name: string
  readonly level: string
  readonly message: string
}

/** Prints what happens if TRACE is set. */
const trace = (text: string): void => {
  if (process.env.TRACE) console.error(`${Math.round(performance.now())} ${text}`)
}

export abstract class SystemRun<E extends { readonly is: string }> {
  protected abstract readonly servers: readonly DrivenServer[]
  protected readonly sources: Sources
  protected readonly dir: string
  protected readonly clock: DrivenClock
  protected admin = ''
  protected limited = ''
  protected aheadMs: number
  protected wrongByMs = 0
  protected step = 0
  protected readonly writes: SystemWrites
  protected readonly broken = new Map<
    SourceName,
    { readonly since: number; readonly until: number; readonly mode: GateMode }
  >()
  /** Wrong values of a record are corrected by a full pass. */
  #needsFullPass = false

  constructor(sources: Sources, dir: string) {
    this.sources = sources
    this.dir = dir
    this.aheadMs = sources.now() - Date.now()
    this.clock = new DrivenClock(this.aheadMs)
    this.writes = new SystemWrites(this.#writeTarget())
  }

  /** Creates the databases. */
  protected abstract prepare(): Promise<void>
  protected abstract openStores(): Promise<Stores>
  protected abstract openStateAndIngest(): Promise<StateAndIngest>
  protected abstract readonly limitedPlan: 'free' | 'standard'
  protected abstract happen(event: E): Promise<void>

  async run(events: readonly E[]): Promise<void> {
    await this.prepare()
    await this.writeStores(async ({ state }) => {
      const admin = { name: 'admin', plan: 'enterprise', admin: true } as const
      this.admin = (await createKey(state, admin, this.clock, systemRandom)).key
      const limited = { name: 'limited', plan: this.limitedPlan } as const
      this.limited = (await createKey(state, limited, this.clock, systemRandom)).key
    })
    for (const server of this.servers) await this.start(server)
    await this.writes.pushRate('1.0842')
    for (const event of events) {
      trace(`step ${this.step}: ${eventText(event)}`)
      await this.happen(event)
      for (const server of this.servers) if (!server.url) await this.start(server)
    }
    await this.#recover()
    await this.writes.check()
    const responses = await Promise.all(this.running.map(({ url }) => dutyResponses(url, this.admin)))
    for (const server of this.servers) await this.stop(server)
    await this.#compareWithCleanServer(responses)
  }

  async close(): Promise<void> {
    for (const { url, host } of this.servers) {
      // A process that still has a server is of no use for the next run.
      if (url || !host.isAlive) await host.kill()
      else keepHost(host)
    }
  }

  logTail(): string {
    try {
      return readFileSync(this.#logFile, 'utf8').split('\n').slice(-20).join('\n')
    } catch {
      return ''
    }
  }

  get #logFile(): string {
    return join(this.dir, 'log')
  }

  protected get running(): readonly (DrivenServer & { readonly url: string })[] {
    return this.servers.filter((server): server is DrivenServer & { readonly url: string } => server.url !== undefined)
  }

  /** Events that runs of any kind have. */
  protected async happenAnywhere(event: CommonEvent): Promise<void> {
    switch (event.is) {
      case 'pass':
        return this.pass(event.steps)
      case 'quotes':
        for (let at = 0; at < event.count; at++) await this.writes.quote()
        return
      case 'label':
        return this.writes.putLabel(event.slug, event.name)
      case 'create key':
      case 'revoke key':
      case 'rotate key':
        return this.writes.changeKey(event.is)
      case 'push rate':
        return this.writes.pushRate(event.rate)
      case 'reorg':
        return this.sources.chain.reorg(event.depth)
      case 'alter':
        if (event.source === 'feed') this.#needsFullPass = true
        this.sources.gates[event.source].alter = alterNext(event.source, event.seed, event.skipped)
        return
      case 'break':
        if (this.broken.has(event.source)) return
        this.sources.gates[event.source].set(event.mode)
        this.broken.set(event.source, { since: this.step, until: this.step + event.steps, mode: event.mode })
    }
  }

  protected settings(): object {
    return settingsOf(this.sources.settings)
  }

  protected async start(server: DrivenServer): Promise<void> {
    if (!server.host.isAlive) server.host = takeHost()
    await this.moveClock()
    const { dataDir, host } = server
    const input = { name: 'main', dataDir, logFile: this.#logFile, settings: this.settings() }
    server.url = (await host.call('start', input)).url
    await this.settle()
  }

  protected async stop(server: DrivenServer): Promise<void> {
    server.url = undefined
    await server.host.call('stop', { name: 'main' })
  }

  /** Kills the process at a request to a source, counted from 1. */
  protected async killAtRequest(host: HostProcess, at: number, work: () => Promise<void>): Promise<void> {
    let left = at
    const gates = Object.values(this.sources.gates)
    for (const gate of gates)
      gate.onRequest = () => {
        left -= 1
        if (left === 0) void host.kill()
      }
    await work()
    for (const gate of gates) gate.onRequest = undefined
  }

  /** Every step ends the faults that are over. Without a server, only time passes. */
  protected async pass(steps: number): Promise<void> {
    for (let at = 0; at < steps; at++) {
      await this.advance()
      if (this.running.length === 0) continue
      await this.settle()
      await this.checkStep()
    }
  }

  protected async checkStep(): Promise<void> {
    for (const { url } of this.running) await this.#checkFunding(url)
  }

  protected async advance(): Promise<void> {
    await this.endFaults()
    this.step += 1
    this.aheadMs += stepMs
    this.sources.step()
    await this.moveClock()
  }

  /** Ends the faults that are over. */
  protected async endFaults(): Promise<void> {
    for (const [source, fault] of this.broken) if (fault.until <= this.step) await this.repair(source)
  }

  protected async endAllFaults(): Promise<void> {
    for (const source of sourceNames) {
      this.sources.gates[source].alter = undefined
      await this.repair(source)
    }
  }

  protected async repair(source: SourceName): Promise<void> {
    this.sources.gates[source].set('open')
    this.broken.delete(source)
  }

  /** `wrongByMs`: how far the wall time of the servers is off. */
  protected async moveClock(wrongByMs = this.wrongByMs): Promise<void> {
    this.wrongByMs = wrongByMs
    const { aheadMs } = this
    this.clock.moveTo(aheadMs)
    this.clock.wrongByMs = wrongByMs
    const moves = this.servers.map(({ host }) => host.call('move', { aheadMs, wrongByMs }).catch(ignoreDeath))
    await Promise.all(moves)
  }

  /**
   * Waits until nothing is under way. A call of a thread may wait for a source that fails; then it is not waited for. On a
   * busy machine, a thread may take seconds to start, so the limit is higher while no source fails.
   */
  protected async settle(hosts: readonly HostProcess[] = this.running.map(({ host }) => host)): Promise<void> {
    const gates = Object.values(this.sources.gates)
    const idle = { requests: 0, calls: 0, writes: 0 }
    const triesMax = this.broken.size > 0 ? 400 : 4000
    let [before, quiet] = [-1, 0]
    for (let tries = 0; tries < triesMax && quiet < 3; tries++) {
      const busy = (await Promise.all(hosts.map((host) => host.call('busy', {}).catch(() => idle)))).reduce(
        (sum, { requests, writes, calls }) => sum + requests + writes + (tries > triesMax / 4 ? 0 : calls),
        0,
      )
      const count = gates.reduce((sum, gate) => sum + gate.requests, 0)
      quiet = count === before && busy === 0 && gates.every(({ pending }) => pending === 0) ? quiet + 1 : 0
      before = count
      await sleep(4)
    }
  }

  protected async until(what: string, isTrue: () => Promise<boolean>, detail = () => ''): Promise<void> {
    for (let tries = 0; tries < 400; tries++) {
      if (await isTrue()) return
      await sleep(tries < 100 ? 50 : 200)
    }
    const failing = await Promise.all(this.running.map(({ url }) => failingChecks(url)))
    assert.fail(`did not happen: ${what} ${detail()}; /readyz: ${JSON.stringify(failing)}`)
  }

  protected async doctor({ dataDir }: DrivenServer): Promise<readonly Finding[]> {
    const reply = await callControl(dataDir, 'doctor', { sample: 10 })
    assert.ok(reply, 'no control socket')
    return reply.result as Finding[]
  }

  /** What a server claims as final is true. */
  async #checkFunding(url: string): Promise<void> {
    const { chain } = this.sources
    const addresses = chain.addresses()
    const address = addresses[(this.step * 7) % addresses.length] as string
    const query = `module=account&action=fundedby&chainid=1&address=${address}&apikey=${this.admin}`
    const { text, headers } = await request(`${url}/v2/api?${query}`)
    if (headers.get('x-tetrad-finality') !== 'finalized') return
    const asOf = Number(headers.get('x-tetrad-as-of'))
    assert.ok(asOf <= chain.final, `block ${asOf} is claimed as final, block ${chain.final} is`)
    const { result } = JSON.parse(text) as { result: { fundingTxn?: string } | [] }
    const truth = firstFunding(chain, address, Array.isArray(result) ? asOf : chain.final)
    assert.equal(Array.isArray(result) ? undefined : result.fundingTxn, truth?.tx, `funding of ${address}: ${text}`)
  }

  /** Whether writes may fail at present. */
  protected get mayRefuse(): boolean {
    return false
  }

  #writeTarget(): WriteTarget {
    const run = this
    return {
      clock: run.clock,
      get admin() {
        return run.admin
      },
      get urls() {
        return run.running.map(({ url }) => url)
      },
      get mayRefuse() {
        return run.mayRefuse
      },
      writeStores: (work) => run.writeStores(work),
      assertNoticed: (what, isTrue) => run.assertNoticed(what, isTrue),
    }
  }

  protected async assertNoticed(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    assert.ok(await isTrue(), what)
  }

  /** Like a command that runs next to the servers. */
  protected async writeStores(work: (stores: StateAndIngest) => Promise<void>): Promise<void> {
    const stores = await this.openStateAndIngest()
    try {
      await work(stores)
    } finally {
      await stores.close()
    }
  }

  /** `responses`: those about duties, of each server. */
  async #compareWithCleanServer(responses: readonly (readonly string[])[]): Promise<void> {
    const [{ host } = assert.fail('no server')] = this.servers
    const clean = await readEverything({
      ...{ dataDir: join(this.dir, 'clean'), logFile: this.#logFile, clock: this.clock, host },
      settings: settingsOf(this.sources.patientSettings),
      until: (what, isTrue, detail) => this.until(what, isTrue, detail),
      settle: () => this.settle([host]),
    })
    for (const actual of responses) assert.deepEqual(actual, clean.dutyResponses, 'responses about duties')
    await using stores = new AsyncDisposableStack()
    const opened = [await this.openStores(), await openStores(clean.dataDir)] as const
    for (const store of opened) stores.defer(() => store.close())
    await assertSameTables(...opened)
  }

  /** Ends all faults and waits until nothing is reported any more. */
  async #recover(): Promise<void> {
    await this.endAllFaults()
    let left: readonly object[] = []
    for (let tries = 0; tries < recoveryStepsMax; tries++) {
      await this.pass(1)
      if (tries < (this.#needsFullPass ? fullPassSteps : recoverySteps)) continue
      left = (await Promise.all(this.running.map(({ url }) => failingChecks(url)))).flat()
      for (const server of left.length === 0 ? this.running : [])
        left = [...left, ...(await this.doctor(server)).filter(({ level }) => level !== 'ok')]
      if (left.length === 0 && (await this.#hasLatestRates())) return
      trace(`step ${this.step}, recovering: ${JSON.stringify(left)}`)
    }
    assert.fail(`reported after the last fault: ${JSON.stringify(left)}`)
  }

  /** On a slow machine, the clock may move before a poll has ended. The next poll brings the rate. */
  async #hasLatestRates(): Promise<boolean> {
    let oldest = 0
    await this.writeStores(async ({ state }) => {
      const query = `select min(at_ms) as oldest from fx_latest where source <> 'desk'`
      oldest = Number((await state.get<{ oldest: number }>(query))?.oldest)
    })
    return oldest === this.sources.now()
  }
}

const settingsOf = (settings: object): object => ({
  ...settings,
  server: { port: 0 },
  console: { enabled: false },
  plans: { free: { perSecond, perDay } },
})
