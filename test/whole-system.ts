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
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callControl } from '#runtime/control-socket.ts'
import { openStateAndIngest, openStores, type StateAndIngest, type Stores } from '#storage/open.ts'
import { restoreBackup } from '#storage/restore.ts'
import { sealBackup } from '#storage/seal-backup.ts'
import { dayMs } from '#storage/usage.ts'
import { HostDied, ignoreDeath, killIdleHosts, takeHost } from './host-process.ts'
import { copyEmptyStores } from './template.ts'
import { type DrivenServer, perDay, perSecond, SystemRun } from './whole-system-driver.ts'
import { drawEvents, type KillTime, type SystemEvent } from './whole-system-events.ts'
import { failingChecks, statusWith } from './whole-system-requests.ts'
import { runSeeds, runToEnd } from './whole-system-seeds.ts'
import { openSources, type SourceName, type Sources } from './whole-system-sources.ts'
import type { Acknowledged } from './whole-system-writes.ts'

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

class Run extends SystemRun<SystemEvent> {
  protected readonly limitedPlan = 'free'
  protected readonly servers: readonly DrivenServer[]
  readonly #server: DrivenServer
  /** Where the server's data folder is; may be a small disk. */
  readonly #disk: string
  #starts = 0
  /** Accepted calls of the limited key, by day. */
  #calls = new Map<number, number>()
  #backupCount = 0
  #backup:
    | { readonly dir: string; readonly acknowledged: Acknowledged; readonly calls: Map<number, number> }
    | undefined
  #full: { readonly until: number; isNoticed: boolean } | undefined
  #wrongUntil = 0
  /** Findings that may fail until a step. */
  readonly #excused: { readonly finding: RegExp; readonly until: number }[] = []
  #accepted: { readonly sentMs: number; readonly receivedMs: number }[] = []
  /** Accepted calls whose counts may not be stored yet. */
  #uncounted: number[] = []
  #lostCalls = 0

  constructor(sources: Sources, dir: string, disk: string) {
    super(sources, dir)
    this.#disk = disk
    this.#server = { dataDir: join(disk, 'data-0'), host: takeHost(), url: undefined }
    this.servers = [this.#server]
  }

  protected async prepare(): Promise<void> {
    mkdirSync(this.#disk, { recursive: true })
    await copyEmptyStores(this.#server.dataDir)
  }

  protected openStateAndIngest(): Promise<StateAndIngest> {
    return openStateAndIngest(this.#server.dataDir)
  }

  protected openStores(): Promise<Stores> {
    return openStores(this.#server.dataDir)
  }

  protected async happen(event: SystemEvent): Promise<void> {
    switch (event.is) {
      case 'burst':
        return this.#burst(event.calls)
      case 'fill disk':
        return this.#fillDisk(event.steps)
      case 'wrong clock':
        this.#wrongUntil = this.step + event.steps
        this.#excuse(anything, event.steps + graceSteps)
        return this.moveClock(event.byMs)
      case 'kill':
        await this.#kill(event.when, event.at)
        return this.pass(event.downSteps)
      case 'restart':
        await this.stop(this.#server)
        return this.pass(event.downSteps)
      case 'backup':
        return this.#makeBackup()
      case 'restore':
        return this.#restore()
      case 'alter':
        this.#excuse(findingOf[event.source][0], 2 * graceSteps)
        return this.happenAnywhere(event)
      case 'break':
        this.#excuse(findingOf[event.source][0], event.steps + graceSteps)
        return this.happenAnywhere(event)
      default:
        return this.happenAnywhere(event)
    }
  }

  #excuse(finding: RegExp, steps: number): void {
    this.#excused.push({ finding, until: this.step + steps })
  }

  protected override async start(server: DrivenServer): Promise<void> {
    // A server that ends deletes the logs of its databases, so there may be space again.
    if (this.#full) this.#full.isNoticed = false
    this.#starts += 1
    this.#accepted = []
    this.#excuse(anything, graceSteps)
    await super.start(server).catch(async (error: unknown) => {
      if (!this.#full || error instanceof HostDied) throw error
      this.#freeDisk()
      await super.start(server)
    })
  }

  protected override async stop(server: DrivenServer): Promise<void> {
    await super.stop(server).catch((error: unknown) => {
      // The last counts of calls cannot be written.
      if (!this.#full) throw error
      this.#lostCalls += this.#uncounted.length
    })
    this.#uncounted = []
  }

  protected override async endFaults(): Promise<void> {
    await super.endFaults()
    if (this.#full && this.#full.until <= this.step) this.#freeDisk()
    if (this.wrongByMs !== 0 && this.#wrongUntil <= this.step) this.wrongByMs = 0
  }

  protected override async endAllFaults(): Promise<void> {
    await super.endAllFaults()
    this.#freeDisk()
    this.wrongByMs = 0
  }

  protected override async repair(source: SourceName): Promise<void> {
    const fault = this.broken.get(source)
    if (!fault) return
    const isLong = this.step - fault.since >= reportedAfterSteps[source]
    const isSeen = this.#server.url && this.wrongByMs === 0 && !this.#wasStartedRecently
    if (isLong && isSeen && fault.mode !== 'slow') await this.#expectReport(source)
    await super.repair(source)
    this.#excuse(findingOf[source][0], graceSteps)
  }

  get #wasStartedRecently(): boolean {
    return this.#excused.some(({ finding, until }) => finding === anything && until >= this.step)
  }

  async #expectReport(source: SourceName): Promise<void> {
    const [ready, doctor] = findingOf[source]
    // The pushed rate is fresh for a month, so the server stays ready without the sources.
    if (source !== 'rates')
      await this.until(`/readyz reports ${source}`, async () =>
        (await this.#failing()).some(({ name }) => ready.test(name)),
      )
    const findings = await this.doctor(this.#server)
    assert.ok(
      findings.some(({ name, level }) => level !== 'ok' && doctor.test(name)),
      `the doctor does not report ${source}: ${JSON.stringify(findings)}`,
    )
  }

  #failing(): ReturnType<typeof failingChecks> {
    return failingChecks(this.#server.url ?? assert.fail('no server'))
  }

  /** Rule 4: only faults that last, or ended a short time ago, are reported. */
  protected override async checkStep(): Promise<void> {
    if (this.#full?.isNoticed)
      await this.until('/readyz reports the full disk', async () =>
        (await this.#failing()).some(({ name }) => stores.test(name)),
      )
    const isExcused = (name: string) =>
      this.#excused.some(({ finding, until }) => until >= this.step && finding.test(name))
    const unexpected = (await this.#failing()).filter(
      ({ name, message }) => !isExcused(name) && !lateFinality.test(message),
    )
    assert.deepEqual(unexpected, [], `/readyz reports a fault that is not there, step ${this.step}`)
    await super.checkStep()
  }

  protected override get mayRefuse(): boolean {
    return this.#full !== undefined || this.wrongByMs !== 0
  }

  /** On a full disk it may fail, and then nothing is written. */
  protected override async writeStores(work: (stores: StateAndIngest) => Promise<void>): Promise<void> {
    await super.writeStores(work).catch((error: unknown) => {
      if (!this.#full) throw error
    })
  }

  /** Rule 3. */
  async #burst(calls: number): Promise<void> {
    const day = Math.floor(this.clock.now() / dayMs)
    const timeMs = () => performance.now() + this.aheadMs
    await Promise.all(
      Array.from({ length: calls }, async () => {
        const sentMs = timeMs()
        const status = await statusWith(this.#server.url ?? '', this.limited)
        if (status === 429) return
        this.#accepted.push({ sentMs, receivedMs: timeMs() })
        this.#uncounted.push(performance.now())
        this.#calls.set(day, (this.#calls.get(day) ?? 0) + 1)
      }),
    )
    const byTime = this.#accepted.toSorted((a, b) => a.receivedMs - b.receivedMs)
    for (let at = perSecond; at < byTime.length; at++) {
      const within = byTime.slice(at - perSecond, at + 1)
      const tookMs = Math.max(...within.map((call) => call.receivedMs)) - Math.min(...within.map((call) => call.sentMs))
      assert.ok(tookMs >= 1000, `${perSecond + 1} calls were accepted within ${tookMs} ms`)
    }
    const accepted = this.#calls.get(day) ?? 0
    assert.ok(accepted <= perDay + this.#lostCalls, `${accepted} calls were accepted in one day`)
  }

  async #fillDisk(steps: number): Promise<void> {
    if (this.#disk === this.dir) return
    this.#full = { until: Math.max(this.step + steps, this.#full?.until ?? 0), isNoticed: false }
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
        !(await this.writes.quote()) && (await this.#failing()).some(({ name }) => stores.test(name))
  }

  #freeDisk(): void {
    if (!this.#full) return
    rmSync(join(this.#disk, 'filler'), { force: true })
    this.#full = undefined
    this.#excuse(anything, graceSteps)
  }

  async #kill(when: KillTime, at: number): Promise<void> {
    const { host } = this.#server
    const passUntilDead = async (before: () => Promise<unknown> = async () => {}) => {
      for (let tries = 0; tries < 3 && host.isAlive; tries++) {
        await before()
        await this.advance()
        await this.settle()
      }
    }
    if (when === 'commit') {
      await host.call('killAtCommit', { point: at }).catch(ignoreDeath)
      await passUntilDead(() => this.writes.quote())
    } else if (when === 'request') {
      await this.killAtRequest(host, at, passUntilDead)
    } else if (when === 'quote') {
      const quote = this.writes.quote()
      for (let tick = 0; tick < at; tick++) await new Promise((resolve) => setImmediate(resolve))
      await host.kill()
      await quote
    }
    await host.kill()
    this.#server.url = undefined
    this.#lostCalls += this.#uncounted.filter((atMs) => performance.now() - atMs < 5000).length
    this.#uncounted = []
  }

  async #makeBackup(): Promise<void> {
    const dir = join(this.dir, `backup-${this.step}-${++this.#backupCount}`)
    const copied = await callControl(this.#server.dataDir, 'copyStores', { dir }).then(
      (reply) => reply !== undefined,
      (error: unknown) => {
        if (!this.#full) throw error
        return false
      },
    )
    if (!copied) return
    await sealBackup(dir, this.clock.now(), 'test')
    this.#backup = { dir, acknowledged: structuredClone(this.writes.acknowledged), calls: structuredClone(this.#calls) }
  }

  async #restore(): Promise<void> {
    if (!this.#backup) return
    this.#freeDisk()
    await this.stop(this.#server)
    rmSync(this.#server.dataDir, { recursive: true, force: true })
    this.#server.dataDir = join(this.#disk, `data-${this.#starts}`)
    await restoreBackup(this.#backup.dir, this.#server.dataDir)
    this.writes.acknowledged = structuredClone(this.#backup.acknowledged)
    this.#calls = structuredClone(this.#backup.calls)
  }
}

/** Returns the message of the failure; undefined: everything was right. */
async function runEvents(seed: number, events: readonly SystemEvent[], disk?: string): Promise<string | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-whole-'))
  await using sources = await openSources(`whole system ${seed}`)
  try {
    return await runToEnd(new Run(sources, dir, disk ?? dir), events)
  } finally {
    await rm(dir, { recursive: true, force: true })
    if (disk !== undefined) rmSync(disk, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const args = process.argv.slice(2)
  const small = args.find((arg) => arg.startsWith('--disk='))?.slice(7)
  const diskOf = (seed: number) => (small === undefined ? undefined : join(small, String(seed)))
  await runSeeds(args, drawEvents, (seed, events) => runEvents(seed, events, diskOf(seed)))
  await killIdleHosts()
}
