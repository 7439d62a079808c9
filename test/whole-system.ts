// Leads a server with all four groups through simulated days of faults, and compares it with a clean one at the end. The
// server runs in another process (whole-system-host.ts), so that it can be killed.
//   node test/whole-system.ts 17 18 19         runs these seeds and prints one line for each
//   node test/whole-system.ts 17 --shrink      finds fewer events that fail as well
//   node test/whole-system.ts 17 --only=3,8    runs some of its events; --first=8: the first ones
//   --disk=DIR: a small disk for the data folder, which can be filled (test/tiny-disk.ts)
//
// 1. A write that was acknowledged is there at the end, unless a backup from before it was restored.
// 2. What was read from the sources equals what a clean server reads at the end, row by row.
// 3. No limit was exceeded.
// 4. /readyz and the doctor report a fault that lasts, /readyz reports nothing else, and the doctor finds nothing at the
//    end.
// 5. An answer that claims to be final is true.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { callControl } from '#runtime/control-socket.ts'
import { systemRandom } from '#runtime/random.ts'
import { restoreBackup, sealBackup } from '#storage/backup.ts'
import { createKey, revokeKey, rotateKey } from '#storage/keys.ts'
import { openState } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { dayMs } from '#storage/usage.ts'
import { DrivenClock } from './driven-clock.ts'
import { copyEmptyStores } from './template.ts'
import { drawEvents, eventText, type KillTime, type SystemEvent, shrinkEvents } from './whole-system-events.ts'
import type { HostCalls } from './whole-system-host.ts'
import {
  alterNext,
  fullPassSteps,
  openSources,
  type SourceName,
  type Sources,
  sourceNames,
  stepMs,
} from './whole-system-sources.ts'

const hostFile = join(import.meta.dirname, 'whole-system-host.ts')
/** With fewer, a fault of a source may not have been noticed yet. */
const reportedAfterSteps: Readonly<Record<SourceName, number>> = { chain: 2, beacon: 4, feed: 6, rates: 6 }
/** The finding of /readyz, and the stream in the findings of the doctor. */
const findingOf: Readonly<Record<SourceName, readonly [ready: RegExp, doctor: RegExp]>> = {
  chain: [/^(node|index) of chain 1$/, /chain 1/],
  beacon: [/^beacon hoodi$/, /network hoodi/],
  feed: [/^market feed main$/, /feed main/],
  rates: [/^fx rates$/, /rates/],
}
const stores = /^(state|duties) store$|^(rates|chains|markets|beacon)$/
const anything = /./
/** The simulated chain sometimes finalizes an epoch late. */
const lateFinality = /^[6-8] epochs behind$/
/** How long the effects of a fault may last. */
const graceSteps = 6
const recoverySteps = 4
const recoveryStepsMax = 48
const perSecond = 3
const perDay = 40

interface QuoteWrite {
  readonly body: string
  /** undefined: the response was lost. */
  reply: string | undefined
  readonly atMs: number
}

/** What was acknowledged. */
interface Written {
  readonly quotes: Map<string, QuoteWrite>
  readonly keys: Map<string, { key: string; isRevoked: boolean }>
  readonly labels: Map<string, string>
  readonly rates: Map<number, string>
  /** Accepted calls of the limited key, by day. */
  readonly calls: Map<number, number>
}

/** The process of the server. It is used for the next run if it is still alive. */
export class Host {
  readonly #child: ChildProcess
  readonly #calls = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
  readonly exited: Promise<unknown>
  #next = 0
  isAlive = true

  constructor() {
    this.#child = fork(hostFile, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.exited = once(this.#child, 'exit').then(() => {
      this.isAlive = false
      for (const { reject } of this.#calls.values()) reject(new HostDied())
      this.#calls.clear()
    })
    this.#child.on('message', (message: { id: number; result?: unknown; error?: string } | 'up') => {
      if (message === 'up') return
      const call = this.#calls.get(message.id)
      this.#calls.delete(message.id)
      if (message.error === undefined) call?.resolve(message.result)
      else call?.reject(new Error(message.error))
    })
  }

  call<N extends keyof HostCalls>(name: N, input: Parameters<HostCalls[N]>[0]): ReturnType<HostCalls[N]> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (!this.isAlive) reject(new HostDied())
    else {
      const id = ++this.#next
      this.#calls.set(id, { resolve, reject })
      this.#child.send({ id, name, input }, (error) => error && reject(new HostDied()))
    }
    return promise as ReturnType<HostCalls[N]>
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exited
  }
}

/** Prints what happens if TRACE is set. */
const trace = (text: string): void => {
  if (process.env.TRACE) console.error(`${Math.round(performance.now())} ${text}`)
}

export class HostDied extends Error {}

let idleHost: Host | undefined

const takeHost = (): Host => {
  const host = idleHost?.isAlive ? idleHost : new Host()
  idleHost = undefined
  return host
}

class Run {
  readonly #sources: Sources
  /** Where the server's data folder is; may be a small disk. */
  readonly #disk: string
  readonly #dir: string
  readonly #clock: DrivenClock
  readonly #admin: string
  readonly #limited: string
  #host = takeHost()
  #url: string | undefined
  #aheadMs: number
  #wrongByMs = 0
  #step = 0
  #starts = 0
  #writes = 0
  #folder = 'data-0'
  #written: Written
  #backup: { readonly dir: string; readonly written: Written } | undefined
  readonly #broken = new Map<SourceName, { readonly since: number; readonly until: number; readonly mode: string }>()
  #full: { readonly until: number; isNoticed: boolean } | undefined
  #wrongUntil = 0
  /** Findings that may fail until a step. */
  readonly #excused: { readonly finding: RegExp; readonly until: number }[] = []
  #accepted: { readonly sentMs: number; readonly receivedMs: number }[] = []
  /** Accepted calls whose counts may not be stored yet. */
  #uncounted: number[] = []
  #lostCalls = 0
  /** Wrong values of a record are corrected by a full pass. */
  #needsFullPass = false

  static async open(sources: Sources, dir: string, disk: string): Promise<Run> {
    mkdirSync(disk, { recursive: true })
    const data = join(disk, 'data-0')
    await copyEmptyStores(data)
    const aheadMs = sources.now() - Date.now()
    const clock = new DrivenClock(aheadMs)
    const state = await openState(data)
    const admin = await createKey(state, { name: 'admin', plan: 'enterprise', admin: true }, clock, systemRandom)
    const limited = await createKey(state, { name: 'limited', plan: 'free' }, clock, systemRandom)
    await state.close()
    return new Run(sources, dir, disk, clock, aheadMs, admin.key, limited.key)
  }

  private constructor(
    sources: Sources,
    dir: string,
    disk: string,
    clock: DrivenClock,
    aheadMs: number,
    admin: string,
    limited: string,
  ) {
    this.#sources = sources
    this.#dir = dir
    this.#disk = disk
    this.#clock = clock
    this.#aheadMs = aheadMs
    this.#admin = admin
    this.#limited = limited
    this.#written = { quotes: new Map(), keys: new Map(), labels: new Map(), rates: new Map(), calls: new Map() }
  }

  async run(events: readonly SystemEvent[]): Promise<void> {
    await this.#start()
    await this.#pushRate('1.0842')
    for (const event of events) {
      trace(`step ${this.#step}: ${eventText(event)}`)
      await this.#happen(event)
      if (!this.#url) await this.#start()
    }
    await this.#recover()
    await this.#checkWritten()
    const responses = await this.#dutyResponses(this.#admin)
    await this.#stop()
    await this.#compare(responses)
  }

  async close(): Promise<void> {
    // A process that still has a server is of no use for the next run.
    if (this.#url || !this.#host.isAlive) await this.#host.kill()
    else idleHost = this.#host
  }

  logTail(): string {
    try {
      return readFileSync(this.#logFile, 'utf8').split('\n').slice(-15).join('\n')
    } catch {
      return ''
    }
  }

  get #logFile(): string {
    return join(this.#dir, 'log')
  }

  get #data(): string {
    return join(this.#disk, this.#folder)
  }

  async #happen(event: SystemEvent): Promise<void> {
    switch (event.is) {
      case 'pass':
        return this.#pass(event.steps)
      case 'quotes':
        for (let at = 0; at < event.count; at++) await this.#quote()
        return
      case 'label':
        return this.#label(event.slug, event.name)
      case 'create key':
      case 'revoke key':
      case 'rotate key':
        return this.#changeKey(event.is)
      case 'push rate':
        return this.#pushRate(event.rate)
      case 'burst':
        return this.#burst(event.calls)
      case 'reorg':
        return this.#sources.chain.reorg(event.depth)
      case 'alter':
        if (event.source === 'feed') this.#needsFullPass = true
        this.#sources.gates[event.source].alter = alterNext(event.source, event.seed, event.skipped)
        this.#excuse(findingOf[event.source][0], 2 * graceSteps)
        return
      case 'break':
        if (this.#broken.has(event.source)) return
        this.#sources.gates[event.source].set(event.mode)
        this.#broken.set(event.source, { since: this.#step, until: this.#step + event.steps, mode: event.mode })
        this.#excuse(findingOf[event.source][0], event.steps + graceSteps)
        return
      case 'fill disk':
        return this.#fillDisk(event.steps)
      case 'wrong clock':
        this.#wrongByMs = event.byMs
        this.#wrongUntil = this.#step + event.steps
        this.#excuse(anything, event.steps + graceSteps)
        return this.#moveClock()
      case 'kill':
        await this.#kill(event.when, event.at)
        return this.#stayDown(event.downSteps)
      case 'restart':
        await this.#stop()
        return this.#stayDown(event.downSteps)
      case 'backup':
        return this.#makeBackup()
      case 'restore':
        return this.#restore()
    }
  }

  #excuse(finding: RegExp, steps: number): void {
    this.#excused.push({ finding, until: this.#step + steps })
  }

  async #start(): Promise<void> {
    if (!this.#host.isAlive) this.#host = takeHost()
    this.#starts += 1
    this.#accepted = []
    this.#excuse(anything, graceSteps)
    await this.#moveClock()
    const start = () =>
      this.#host.call('start', {
        ...{ name: 'main', dataDir: this.#data, logFile: this.#logFile },
        settings: settingsOf(this.#sources.settings),
      })
    const started = await start().catch(async (error: unknown) => {
      if (!this.#full || error instanceof HostDied) throw error
      await this.#freeDisk()
      return start()
    })
    this.#url = started.url
    await this.#settle()
  }

  async #stop(): Promise<void> {
    this.#url = undefined
    await this.#host.call('stop', { name: 'main' }).catch((error: unknown) => {
      // The last counts of calls cannot be written.
      if (!this.#full) throw error
      this.#lostCalls += this.#uncounted.length
    })
    this.#uncounted = []
  }

  async #stayDown(steps: number): Promise<void> {
    for (let at = 0; at < steps; at++) await this.#advance()
  }

  /** Every step ends the faults that are over. */
  async #pass(steps: number): Promise<void> {
    for (let at = 0; at < steps; at++) {
      await this.#advance()
      if (!this.#url) continue
      await this.#settle()
      await this.#checkReady()
      await this.#checkFunding()
    }
  }

  async #advance(): Promise<void> {
    for (const [source, fault] of this.#broken) if (fault.until <= this.#step) await this.#repair(source)
    if (this.#full && this.#full.until <= this.#step) await this.#freeDisk()
    if (this.#wrongByMs !== 0 && this.#wrongUntil <= this.#step) this.#wrongByMs = 0
    this.#step += 1
    this.#aheadMs += stepMs
    this.#sources.step()
    await this.#moveClock()
  }

  async #moveClock(): Promise<void> {
    this.#clock.moveTo(this.#aheadMs)
    this.#clock.wrongByMs = this.#wrongByMs
    await this.#host.call('move', { aheadMs: this.#aheadMs, wrongByMs: this.#wrongByMs }).catch(ignoreDeath)
  }

  /** Waits until nothing is under way. A call of a thread may wait for a source that fails; then it is not waited for. */
  async #settle(): Promise<void> {
    const gates = Object.values(this.#sources.gates)
    let [before, quiet] = [-1, 0]
    for (let tries = 0; tries < 400 && this.#host.isAlive && quiet < 3; tries++) {
      const busy = await this.#host.call('busy', {}).catch(() => ({ requests: 0, calls: 0, writes: 0 }))
      const count = gates.reduce((sum, gate) => sum + gate.requests, 0)
      const isQuiet =
        count === before && busy.requests + busy.writes === 0 && gates.every(({ pending }) => pending === 0)
      quiet = isQuiet && (busy.calls === 0 || tries > 100) ? quiet + 1 : 0
      before = count
      await sleep(4)
    }
  }

  async #repair(source: SourceName): Promise<void> {
    const fault = this.#broken.get(source)
    if (!fault) return
    const isLong = this.#step - fault.since >= reportedAfterSteps[source]
    if (isLong && fault.mode !== 'slow' && this.#url && this.#wrongByMs === 0 && !this.#wasStartedRecently) {
      await this.#expectReport(source)
    }
    this.#sources.gates[source].set('open')
    this.#broken.delete(source)
    this.#excuse(findingOf[source][0], graceSteps)
  }

  get #wasStartedRecently(): boolean {
    return this.#excused.some(({ finding, until }) => finding === anything && until >= this.#step)
  }

  async #expectReport(source: SourceName): Promise<void> {
    const [ready, doctor] = findingOf[source]
    // The pushed rate is fresh for a month, so the server stays ready without the sources.
    if (source !== 'rates')
      await this.#until(`/readyz reports ${source}`, async () =>
        (await this.#failing()).some(({ name }) => ready.test(name)),
      )
    const findings = await this.#doctor()
    assert.ok(
      findings.some(({ name, level }) => level !== 'ok' && doctor.test(name)),
      `the doctor does not report ${source}: ${JSON.stringify(findings)}`,
    )
  }

  async #until(what: string, isTrue: () => Promise<boolean>, detail = () => ''): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      if (await isTrue()) return
      await sleep(tries < 100 ? 50 : 200)
    }
    assert.fail(`did not happen: ${what} ${detail()}; /readyz: ${JSON.stringify(await this.#failing())}`)
  }

  async #failing(): Promise<readonly { readonly name: string; readonly message: string }[]> {
    const { status, text } = await this.#fetch('/readyz')
    const { checks } = JSON.parse(text) as { checks: { name: string; ok: boolean; message: string }[] }
    const failing = checks.filter(({ ok }) => !ok)
    assert.equal(status, failing.length === 0 ? 200 : 503)
    return failing
  }

  async #doctor(): Promise<readonly { name: string; level: string; message: string }[]> {
    const reply = await callControl(this.#data, 'doctor', { sample: 10 })
    assert.ok(reply, 'no control socket')
    return reply.result as { name: string; level: string; message: string }[]
  }

  /** Rule 4: only faults that last, or ended a short time ago, are reported. */
  async #checkReady(): Promise<void> {
    if (this.#full?.isNoticed)
      await this.#until('/readyz reports the full disk', async () =>
        (await this.#failing()).some(({ name }) => stores.test(name)),
      )
    const isExcused = (name: string) =>
      this.#excused.some(({ finding, until }) => until >= this.#step && finding.test(name))
    const unexpected = (await this.#failing()).filter(
      ({ name, message }) => !isExcused(name) && !lateFinality.test(message),
    )
    assert.deepEqual(unexpected, [], `/readyz reports a fault that is not there, step ${this.#step}`)
  }

  /** Rule 5. */
  async #checkFunding(): Promise<void> {
    const { chain } = this.#sources
    const addresses = chain.addresses()
    const address = addresses[(this.#step * 7) % addresses.length] as string
    const query = `module=account&action=fundedby&chainid=1&address=${address}&apikey=${this.#admin}`
    const { text, headers } = await this.#fetch(`/v2/api?${query}`)
    if (headers.get('x-tetrad-finality') !== 'finalized') return
    const asOf = Number(headers.get('x-tetrad-as-of'))
    assert.ok(asOf <= chain.final, `block ${asOf} is claimed as final, block ${chain.final} is`)
    const { result } = JSON.parse(text) as { result: { fundingTxn?: string } | [] }
    const truth = chain.firstFunding(address, Array.isArray(result) ? asOf : chain.final)
    assert.equal(Array.isArray(result) ? undefined : result.fundingTxn, truth?.tx, `funding of ${address}: ${text}`)
  }

  async #fetch(path: string, options: RequestInit = {}) {
    const response = await fetch(`${this.#url}${path}`, options)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  async #quote(name = `order-${++this.#writes}`): Promise<QuoteWrite | undefined> {
    const body = JSON.stringify({
      ...{ from: { currency: 'USDC', amount: `${100 + this.#writes}` }, to: { currency: 'EURC' } },
      ...{ tenor: 'instant', type: this.#writes % 2 === 0 ? 'tradable' : 'reference' },
      recipientAddress: `0x${'11'.repeat(20)}`,
    })
    const write: QuoteWrite = this.#written.quotes.get(name) ?? { body, reply: undefined, atMs: this.#clock.now() }
    const headers = {
      authorization: `Bearer ${this.#admin}`,
      'content-type': 'application/json',
      'idempotency-key': name,
    }
    try {
      const { status, text } = await this.#fetch('/v1/exchange/fx/quotes', {
        method: 'POST',
        headers,
        body: write.body,
      })
      if (status !== 200) {
        assert.equal(status, 503, text)
        return undefined
      }
      if (write.reply !== undefined) assert.equal(text, write.reply, `the reply of ${name} is repeated`)
      write.reply = text
      this.#written.quotes.set(name, write)
      return write
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      // The response was lost.
      this.#written.quotes.set(name, write)
      return undefined
    }
  }

  async #label(slug: string, name: string): Promise<void> {
    await this.#writeState(async (state) => {
      await state.write((tx) =>
        putLabels(new HistoryWriter(tx, { by: 'operator', via: 'a test', atMs: this.#clock.now() }), [
          { chain: '1', slug, name },
        ]),
      )
      this.#written.labels.set(slug, name)
    })
  }

  /** Like a command that runs next to the server. On a full disk it may fail, and then nothing is written. */
  async #writeState(work: (state: State) => Promise<void>): Promise<void> {
    try {
      const state = await openState(this.#data)
      try {
        await work(state)
      } finally {
        await state.close()
      }
    } catch (error) {
      if (!this.#full) throw error
    }
  }

  async #changeKey(change: 'create key' | 'revoke key' | 'rotate key'): Promise<void> {
    const { keys } = this.#written
    const [id, held] = [...keys].findLast(([, { isRevoked }]) => !isRevoked) ?? []
    await this.#writeState(async (state) => {
      if (change === 'create key' || !id || !held) {
        const made = await createKey(state, { name: 'caller', plan: 'enterprise' }, this.#clock, systemRandom)
        keys.set(made.id, { key: made.key, isRevoked: false })
      } else if (change === 'revoke key') {
        await revokeKey(state, id, this.#clock)
        held.isRevoked = true
      } else {
        const old = held.key
        const rotated = await rotateKey(state, { id }, this.#clock, systemRandom)
        assert.ok(rotated)
        held.key = rotated.key
        assert.equal(await this.#statusWith(old), 401, 'the old secret of a rotated key is refused')
      }
    })
    await this.#checkKeys()
  }

  async #statusWith(key: string): Promise<number> {
    return (await this.#fetch('/v0/eth/validators/1', { headers: bearer(key) })).status
  }

  async #checkKeys(): Promise<void> {
    for (const [id, { key, isRevoked }] of this.#written.keys) {
      const status = await this.#statusWith(key)
      if (isRevoked) assert.ok(status === 401 || status === 429, `the revoked key ${id} gets status ${status}`)
      else assert.notEqual(status, 401, `the key ${id} is refused`)
    }
  }

  async #pushRate(rate: string): Promise<void> {
    const headers = { ...bearer(this.#admin), 'content-type': 'application/json' }
    const body = JSON.stringify({ pair: 'EUR/USD', rate })
    const { status, text } = await this.#fetch('/v1/exchange/fx/rates', { method: 'POST', headers, body })
    if (status === 200) this.#written.rates.set(Date.parse((JSON.parse(text) as { time: string }).time), rate)
    else assert.ok(this.#full || this.#wrongByMs !== 0 || status === 400, `${status} ${text}`)
  }

  /** Rule 3. */
  async #burst(calls: number): Promise<void> {
    const written = this.#written.calls
    const day = Math.floor(this.#clock.now() / dayMs)
    const timeMs = () => performance.now() + this.#aheadMs
    await Promise.all(
      Array.from({ length: calls }, async () => {
        const sentMs = timeMs()
        const status = await this.#statusWith(this.#limited)
        if (status === 429) return
        this.#accepted.push({ sentMs, receivedMs: timeMs() })
        this.#uncounted.push(performance.now())
        written.set(day, (written.get(day) ?? 0) + 1)
      }),
    )
    const byTime = this.#accepted.toSorted((a, b) => a.receivedMs - b.receivedMs)
    for (let at = perSecond; at < byTime.length; at++) {
      const within = byTime.slice(at - perSecond, at + 1)
      const tookMs = Math.max(...within.map((call) => call.receivedMs)) - Math.min(...within.map((call) => call.sentMs))
      assert.ok(tookMs >= 1000, `${perSecond + 1} calls were accepted within ${tookMs} ms`)
    }
    const accepted = written.get(day) ?? 0
    assert.ok(accepted <= perDay + this.#lostCalls, `${accepted} calls were accepted in one day`)
  }

  async #fillDisk(steps: number): Promise<void> {
    if (this.#full || this.#disk === this.#dir) return
    this.#full = { until: this.#step + steps, isNoticed: false }
    const file = openSync(join(this.#disk, 'filler'), 'a')
    for (let size = 1_048_576; size >= 512; size /= 2) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size))
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
      }
    }
    closeSync(file)
    this.#excuse(anything, steps + graceSteps)
    // Existing pages of the log can still be written.
    for (let tries = 0; tries < 40 && !this.#full.isNoticed; tries++)
      this.#full.isNoticed =
        (await this.#quote()) === undefined && (await this.#failing()).some(({ name }) => stores.test(name))
  }

  async #freeDisk(): Promise<void> {
    if (!this.#full) return
    rmSync(join(this.#disk, 'filler'), { force: true })
    this.#full = undefined
    this.#excuse(anything, graceSteps)
  }

  async #kill(when: KillTime, at: number): Promise<void> {
    const host = this.#host
    if (when === 'commit') {
      await host.call('killAtCommit', { point: at }).catch(ignoreDeath)
      for (let tries = 0; tries < 3 && host.isAlive; tries++) {
        await this.#quote().catch(() => {})
        await this.#advance()
        await this.#settle()
      }
    } else if (when === 'request') {
      let left = at
      for (const gate of Object.values(this.#sources.gates))
        gate.onRequest = () => {
          left -= 1
          if (left === 0) void host.kill()
        }
      for (let tries = 0; tries < 3 && host.isAlive && left > 0; tries++) {
        await this.#advance()
        await this.#settle()
      }
      for (const gate of Object.values(this.#sources.gates)) gate.onRequest = undefined
    } else if (when === 'quote') {
      const quote = this.#quote()
      for (let turn = 0; turn < at; turn++) await new Promise((resolve) => setImmediate(resolve))
      await host.kill()
      await quote
    }
    await host.kill()
    this.#url = undefined
    this.#lostCalls += this.#uncounted.filter((atMs) => performance.now() - atMs < 5000).length
    this.#uncounted = []
  }

  async #makeBackup(): Promise<void> {
    const dir = join(this.#dir, `backup-${this.#step}-${++this.#writes}`)
    const copied = await callControl(this.#data, 'copyStores', { dir }).then(
      (reply) => reply !== undefined,
      (error: unknown) => {
        if (!this.#full) throw error
        return false
      },
    )
    if (!copied) return
    await sealBackup(dir, this.#clock.now(), 'test')
    this.#backup = { dir, written: structuredClone(this.#written) }
  }

  async #restore(): Promise<void> {
    if (!this.#backup) return
    await this.#freeDisk()
    await this.#stop()
    rmSync(this.#data, { recursive: true, force: true })
    this.#folder = `data-${this.#starts}`
    await restoreBackup(this.#backup.dir, this.#data)
    this.#written = structuredClone(this.#backup.written)
  }

  /** Ends all faults and waits until nothing is reported any more. */
  async #recover(): Promise<void> {
    for (const source of sourceNames) {
      this.#sources.gates[source].alter = undefined
      await this.#repair(source)
    }
    await this.#freeDisk()
    this.#wrongByMs = 0
    let left: readonly object[] = []
    for (let tries = 0; tries < recoveryStepsMax; tries++) {
      await this.#pass(1)
      if (tries < (this.#needsFullPass ? fullPassSteps : recoverySteps)) continue
      left = await this.#failing()
      if (left.length === 0) left = (await this.#doctor()).filter(({ level }) => level !== 'ok')
      if (left.length === 0 && this.#hasLatestRates()) return
      trace(`step ${this.#step}, recovering: ${JSON.stringify(left)}`)
    }
    assert.fail(`reported after the last fault: ${JSON.stringify(left)}`)
  }

  /** On a slow machine, the clock may move before a poll has ended. The next poll brings the rate. */
  #hasLatestRates(): boolean {
    using db = new DatabaseSync(join(this.#data, 'state.sqlite'), { readOnly: true })
    const row = db.prepare(`select min(at_ms) as oldest from fx_latest where source <> 'desk'`).get()
    return row?.oldest === this.#sources.now()
  }

  /** Rule 1. */
  async #checkWritten(): Promise<void> {
    await this.#checkKeys()
    const yesterdayMs = this.#clock.now() - dayMs
    for (const [name, { atMs, reply }] of this.#written.quotes) {
      // Idempotency keys are kept for a day, as of the server's clock.
      if (atMs > yesterdayMs + 3_600_000) assert.ok(await this.#quote(name), `${name} is answered again`)
      if (reply === undefined) continue
      const { id } = JSON.parse(reply) as { id: string }
      const { status, text } = await this.#fetch(`/v1/exchange/fx/quotes/${id}`, { headers: bearer(this.#admin) })
      assert.equal(status, 200, `quote ${id} of ${name}: ${text}`)
    }
  }

  async #dutyResponses(key: string): Promise<string[]> {
    const responses: string[] = []
    for (let index = 0; index < 24; index += 3) {
      const { status, text } = await this.#fetch(`/v1/eth/validators/${index}/explain?limit=100`, {
        headers: bearer(key),
      })
      assert.equal(status, 200, text)
      responses.push(text)
    }
    return responses
  }

  /** Rule 2. */
  async #compare(responses: readonly string[]): Promise<void> {
    const clean = join(this.#dir, 'clean')
    await copyEmptyStores(clean)
    const state = await openState(clean)
    const { key } = await createKey(state, { name: 'clean', plan: 'enterprise' }, this.#clock, systemRandom)
    await state.close()
    const settings = settingsOf(this.#sources.patientSettings)
    const { url } = await this.#host.call('start', { name: 'clean', dataDir: clean, logFile: this.#logFile, settings })
    this.#url = url
    let unread: readonly object[] = []
    const hasRead = async () => {
      if ((await this.#failing()).length > 0) return false
      const { text } = await this.#fetch('/coverage')
      const { streams } = JSON.parse(text) as { streams: { name: string; status: string }[] }
      unread = streams.filter(({ name, status }) => status !== 'healthy' && !name.includes('desk'))
      return unread.length === 0
    }
    await this.#until('the clean server has read everything', hasRead, () => JSON.stringify(unread))
    await this.#settle()
    assert.deepEqual(responses, await this.#dutyResponses(key), 'responses about duties')
    await this.#host.call('stop', { name: 'clean' })
    this.#url = undefined
    for (const [file, tables] of Object.entries(comparedTables)) {
      using actual = new DatabaseSync(join(this.#data, file), { readOnly: true })
      using expected = new DatabaseSync(join(clean, file), { readOnly: true })
      for (const [table, columns] of Object.entries(tables)) assertSameRows(actual, expected, table, columns)
    }
    using actual = new DatabaseSync(join(this.#data, 'state.sqlite'), { readOnly: true })
    const labels = actual.prepare('select slug, name from labels order by slug').all()
    const expectedLabels = [...this.#written.labels].map(([slug, name]) => ({ slug, name }))
    assert.deepEqual(
      labels.map((row) => ({ ...row })),
      expectedLabels.sort((a, b) => (a.slug < b.slug ? -1 : 1)),
      'labels',
    )
    for (const [atMs, rate] of this.#written.rates) {
      const row = actual.prepare(`select rate from fx_rates where source = 'desk' and at_ms = ?`).get(atMs)
      assert.equal(Number(row?.rate), Number(rate), `the rate pushed at ${atMs}`)
    }
  }
}

/**
 * Tables that are read from the sources, without the columns that depend on when they were read. Missed duties are
 * compared by responses, because their order in a row depends on how many epochs were written together.
 */
export const comparedTables: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'state.sqlite': {
    fundings: '*',
    unfinalized_fundings: '*',
    unfinalized_blocks: '*',
    validators: '*',
    market_records: 'kind, id, slug, title, fields, links, extra_fields',
    market_links: '*',
    market_documents: 'market_id, slug, body, tags_at, etag, vanished_ms',
    market_search: '*',
    market_words: '*',
    market_list: '*',
    fx_latest: `source, base, quote, at_ms, rate`,
    epoch_gaps: '*',
    market_rejects: '*',
    market_deferred_documents: '*',
  },
  'duties.sqlite': {
    duty_hours: '*',
    duty_days: '*',
    duty_short_spans: '*',
    duty_long_spans: '*',
    duty_presence: '*',
    duty_units: '*',
    duty_summaries: '*',
    coverage: '*',
    duty_networks: '*',
    inactivity_scores: '*',
    unexplained_balance_changes: '*',
    reward_audits: '*',
  },
}

function assertSameRows(actual: DatabaseSync, expected: DatabaseSync, table: string, columns: string): void {
  const where = table === 'fx_latest' ? `where source <> 'desk'` : ''
  const rowsOf = (db: DatabaseSync) =>
    db
      .prepare(`select ${columns} from ${table} ${where}`)
      .all()
      .map((row) =>
        JSON.stringify(row, (_, value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)),
      )
      .sort()
  assert.equal(describeDifference(table, rowsOf(actual), rowsOf(expected)), undefined)
}

/** Undefined: the rows are equal. */
export function describeDifference(
  table: string,
  actual: readonly string[],
  expected: readonly string[],
): string | undefined {
  const [expectedSet, actualSet] = [new Set(expected), new Set(actual)]
  const more = actual.filter((row) => !expectedSet.has(row))
  const missing = expected.filter((row) => !actualSet.has(row))
  if (more.length === 0 && missing.length === 0) return undefined
  const some = (rows: readonly string[]) =>
    rows
      .slice(0, 3)
      .map((row) => row.slice(0, 400))
      .join('\n    ')
  return `${table}: ${more.length} rows that a clean run does not have:\n    ${some(more)}\n  and ${missing.length} that it has:\n    ${some(missing)}`
}

const settingsOf = (settings: object): object => ({
  ...settings,
  server: { port: 0 },
  console: { enabled: false },
  plans: { free: { perSecond, perDay } },
})

const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' })

const ignoreDeath = (error: unknown) => {
  if (!(error instanceof HostDied)) throw error
}

/** Returns the message of the failure; undefined: everything was right. */
export async function runEvents(
  seed: number,
  events: readonly SystemEvent[],
  disk?: string,
): Promise<string | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-whole-'))
  await using sources = await openSources(`whole system ${seed}`)
  const run = await Run.open(sources, dir, disk ?? dir)
  try {
    await run.run(events)
    return undefined
  } catch (error) {
    return `${(error as Error).stack}\nlog:\n${run.logTail()}`
  } finally {
    await run.close()
    await rm(dir, { recursive: true, force: true })
    if (disk !== undefined) rmSync(disk, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const args = process.argv.slice(2)
  const small = args.find((arg) => arg.startsWith('--disk='))?.slice(7)
  const first = Number(args.find((arg) => arg.startsWith('--first='))?.slice(8) ?? Number.POSITIVE_INFINITY)
  const only = new Set(
    args
      .find((arg) => arg.startsWith('--only='))
      ?.slice(7)
      .split(',')
      .map(Number),
  )
  for (const seed of args.filter((arg) => /^\d+$/.test(arg)).map(Number)) {
    const disk = small === undefined ? undefined : join(small, String(seed))
    const events = drawEvents(seed).filter((_, at) => at < first && (only.size === 0 || only.has(at)))
    const startMs = performance.now()
    const failure = await runEvents(seed, events, disk)
    console.log(JSON.stringify({ seed, failure, tookMs: Math.round(performance.now() - startMs) }))
    if (failure === undefined) continue
    for (const [at, event] of events.entries()) console.error(`  ${at}. ${eventText(event)}`)
    console.error(failure)
    process.exitCode = 1
    if (!args.includes('--shrink')) continue
    const shortest = await shrinkEvents(events, async (fewer) => (await runEvents(seed, fewer, disk)) !== undefined)
    console.error(`shortest: ${shortest.map(eventText).join('; ')}`)
  }
  await idleHost?.kill()
}
