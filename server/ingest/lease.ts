// Each ingester runs in one of the processes that share a state (behaviour/operations.md#leases).
//
// 1. A lease is a row: who holds it, a token that grows whenever it changes hands, a beat that grows while the holder lives.
// 2. Who has watched the same beat for `deadMs` takes the lease over. Only one's own monotonic clock is asked, so it does not
//    matter how far the clocks of the machines are apart.
// 3. Every write of an ingester begins by reading that the row still holds its token. Writes run one after another (state 2),
//    so nothing of a former holder can follow the first write of its successor, however long it was asleep.
// 4. Duties are written in transactions of their own, which lock the row until their commit (server/validators/duties/operations.ts).
//    Taking the lease over waits for that lock; the beat does not, because it leaves the key of the row alone.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '#runtime/clock.ts'
import { failureFields, type Log } from '#runtime/log.ts'
import type { Random } from '#runtime/random.ts'
import type { Duties } from '#storage/duties.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'

/** A dead holder is replaced within lookMs + deadMs + lookMs. */
const defaultPace = { beatMs: 5000, deadMs: 15_000, lookMs: 5000 }
/** Somebody sits in front of a command that waits for its turn. */
const commandCheckMs = 500

export interface LeaseContext {
  readonly state: State
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

export interface Ingester {
  readonly name: string
  /** Runs until the signal aborts, or resolves at once when there is nothing for it to do. */
  readonly work: (signal: AbortSignal) => Promise<void>
  /** Whether this process runs it. */
  readonly reportHolding?: (is: boolean) => void
  readonly pace?: typeof defaultPace
}

interface HeldLease {
  readonly name: string
  readonly holder: string
  readonly token: number
  readonly lost: AbortController
}

interface LeaseRow {
  readonly holder: string
  readonly token: number
  readonly beat: number
}

/** What the code that is running now writes under. */
const currentLease = new AsyncLocalStorage<HeldLease>()

export class LeaseLost extends Error {
  constructor(name: string) {
    super(`another process runs ${name} now; nothing was written`)
    this.name = 'LeaseLost'
  }
}

/** The same state; what an ingester writes to it is written under its lease (3). */
export const leasedState = (state: State): State => ({
  engine: state.engine,
  recent: state.recent,
  get: (sql, ...values) => state.get(sql, ...values),
  all: (sql, ...values) => state.all(sql, ...values),
  snapshot: (work, signal) => state.snapshot(work, signal),
  each: (sql, ...values) => state.each(sql, ...values),
  version: () => state.version(),
  close: () => state.close(),
  write: (work, options) => {
    const held = currentLease.getStore()
    return state.write(held ? (tx) => confirm(tx, held).then(() => work(tx)) : work, options)
  },
})

/** The same duties; what an ingester writes to them is written under its lease (4). */
export const leasedDuties = (duties: Duties): Duties => ({
  engine: duties.engine,
  get: (sql, ...values) => duties.get(sql, ...values),
  all: (sql, ...values) => duties.all(sql, ...values),
  query: (name, input, signal) => duties.query(name, input, signal),
  update: (name, input, options) => {
    const held = currentLease.getStore()
    if (!held) return duties.update(name, input, options)
    const lease = { name: held.name, holder: held.holder, token: held.token }
    return duties.update<never>(name, input, { ...options, lease }).catch((error: unknown) => {
      // It may come from a thread, where it has lost its class.
      if (!(error instanceof Error && error.name === LeaseLost.name)) throw error
      held.lost.abort()
      throw new LeaseLost(held.name)
    })
  },
  version: () => duties.version(),
  close: () => duties.close(),
})

async function confirm(reader: StateReader, held: HeldLease): Promise<void> {
  const row = await rowOf(reader, held.name)
  if (row?.holder === held.holder && row.token === held.token) return
  held.lost.abort()
  throw new LeaseLost(held.name)
}

const rowOf = (reader: StateReader, name: string): Promise<LeaseRow | undefined> =>
  reader.get<LeaseRow>('select holder, token, beat from leases where name = ?', name)

/** Where the state is a file its only server is the holder of everything. Resolves when the signal has ended the work. */
export async function runOnce(context: LeaseContext, ingester: Ingester, signal: AbortSignal): Promise<void> {
  if (context.state.engine !== 'sqlite') return runWhileLeased(context, ingester, signal)
  ingester.reportHolding?.(true)
  while (!signal.aborted) {
    if (await runUntilStopped(context, ingester.name, ingester.work, signal)) return
    await context.clock.sleep((ingester.pace ?? defaultPace).lookMs, signal)
  }
}

/** When one of its loops fails the others are ended too, so that none runs twice once it is begun again (behaviour/operations.md#ingester-failures). */
async function runUntilStopped({ log }: LeaseContext, ingester: string, work: Ingester['work'], signal: AbortSignal) {
  const ended = new AbortController()
  try {
    await work(AbortSignal.any([signal, ended.signal]))
    return true
  } catch (error) {
    // What breaks off because of the stop is no failure.
    if (!signal.aborted) log.error({ ingester, ...failureFields(error) }, 'an ingester ended; it is begun again')
    return false
  } finally {
    ended.abort()
  }
}

/** Runs the ingester whenever this process holds its lease. */
export async function runWhileLeased(context: LeaseContext, ingester: Ingester, signal: AbortSignal): Promise<void> {
  const { name, reportHolding, pace = defaultPace } = ingester
  const waiter = new LeaseWaiter(context, name, pace.deadMs)
  reportHolding?.(false)
  while (!signal.aborted) {
    const held = await waiter.acquire()
    if (held) {
      reportHolding?.(true)
      const idle = await runHolding(context, held, ingester, signal)
      reportHolding?.(false)
      if (idle) return
    }
    await context.clock.sleep(pace.lookMs, signal)
  }
}

export interface LeaseRequest {
  readonly name: string
  /** Waits for as long as another process ingests. */
  readonly wait: boolean
  readonly pace?: typeof defaultPace
}

/**
 * For work that ends by itself (behaviour/operations.md#ingest-commands): done under the lease, and `done` only then. Undefined: a living process holds
 * it, or the signal came first. A dead one is told from a living one by its beat, which takes a few seconds.
 */
export async function runUnderLease<T>(
  context: LeaseContext,
  { name, wait, pace = defaultPace }: LeaseRequest,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<{ readonly done: T } | undefined> {
  const waiter = new LeaseWaiter(context, name, pace.deadMs)
  while (!signal.aborted && (wait || !waiter.isHolderAlive)) {
    const held = await waiter.tryAcquire()
    if (held) return { done: await under(context, held, pace.beatMs, work, signal) }
    await context.clock.sleep(Math.min(pace.lookMs, commandCheckMs), signal)
  }
  return undefined
}

/** One who waits for a lease. */
class LeaseWaiter {
  readonly #context: LeaseContext
  readonly #name: string
  readonly #expiryMs: number
  readonly #holder: string
  #seen: (LeaseRow & { readonly atMs: number }) | undefined
  #failing = false
  #isHolderAlive = false

  constructor(context: LeaseContext, name: string, expiryMs: number) {
    this.#context = context
    this.#name = name
    this.#expiryMs = expiryMs
    this.#holder = context.random.uuid()
  }

  /** The beat has moved before our eyes. */
  get isHolderAlive(): boolean {
    return this.#isHolderAlive
  }

  async tryAcquire(): Promise<HeldLease | undefined> {
    const row = await rowOf(this.#context.state, this.#name)
    const token = this.#isFree(row) ? await this.#context.state.write((tx) => this.#writeRow(tx, row)) : undefined
    if (token === undefined) return undefined
    return { name: this.#name, holder: this.#holder, token, lost: new AbortController() }
  }

  /** The same for one who asks again in any case. */
  async acquire(): Promise<HeldLease | undefined> {
    try {
      const held = await this.tryAcquire()
      this.#failing = false
      return held
    } catch (error) {
      if (!this.#failing) {
        this.#context.log.warn({ ingester: this.#name, ...failureFields(error) }, 'nobody can tell who ingests')
      }
      this.#failing = true
      return undefined
    }
  }

  #isFree(row: LeaseRow | undefined): boolean {
    // Ours: a commit of which we did not hear.
    if (!row || row.holder === '' || row.holder === this.#holder) return true
    const atMs = this.#context.clock.monotonicMs()
    if (this.#seen && !isSame(row, this.#seen)) this.#isHolderAlive = true
    if (!this.#seen || !isSame(row, this.#seen)) this.#seen = { ...row, atMs }
    return atMs - this.#seen.atMs >= this.#expiryMs
  }

  /** The new token, or undefined when somebody was quicker or the holder has moved after all. */
  async #writeRow(tx: StateWriter, before: LeaseRow | undefined): Promise<number | undefined> {
    const row = await rowOf(tx, this.#name)
    if (!isSame(row, before)) return undefined
    const token = (row?.token ?? 0) + 1
    // Invariant 4: an update would not wait.
    await tx.run('delete from leases where name = ?', this.#name)
    await tx.run(
      'insert into leases (name, holder, token, beat) values (?, ?, ?, 0)',
      ...[this.#name, this.#holder, token],
    )
    return token
  }
}

const isSame = (one: LeaseRow | undefined, other: LeaseRow | undefined): boolean =>
  one?.holder === other?.holder && one?.token === other?.token && one?.beat === other?.beat

/** Whether the work is over because there was nothing to do. */
async function runHolding(
  context: LeaseContext,
  held: HeldLease,
  { work, pace = defaultPace }: Ingester,
  signal: AbortSignal,
) {
  context.log.info({ ingester: held.name, token: held.token }, 'this process ingests')
  const ends = AbortSignal.any([signal, held.lost.signal])
  const well = await runUntilStopped(
    context,
    held.name,
    (until) => under(context, held, pace.beatMs, work, until),
    ends,
  )
  return well && !ends.aborted
}

/** The work with its lease: the beat goes on meanwhile, and the lease is given back however it ends. */
async function under<T>(
  context: LeaseContext,
  held: HeldLease,
  heartbeatMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { name, token, lost } = held
  const over = new AbortController()
  const heartbeats = sendHeartbeats(context, held, heartbeatMs, over.signal)
  try {
    return await currentLease.run(held, () => work(AbortSignal.any([signal, lost.signal])))
  } finally {
    over.abort()
    await heartbeats
    if (lost.signal.aborted) context.log.warn({ ingester: name, token }, 'another process ingests now')
    else await release(context, held)
  }
}

async function sendHeartbeats(
  { state, clock }: LeaseContext,
  held: HeldLease,
  heartbeatMs: number,
  over: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(heartbeatMs, over)
    if (over.aborted) return
    try {
      if (await updateLease(state, held, 'beat = beat + 1')) continue
      held.lost.abort()
      return
    } catch {
      // While the state cannot be written, the ingester cannot write either; who is right will be seen afterwards.
    }
  }
}

/** So that nobody has to wait for our death. */
async function release({ state, log }: LeaseContext, held: HeldLease): Promise<void> {
  try {
    await updateLease(state, held, `holder = ''`)
  } catch (error) {
    log.warn({ ingester: held.name, ...failureFields(error) }, 'the lease could not be given back; it runs out')
  }
}

const updateLease = async (state: State, { name, holder, token }: HeldLease, what: string): Promise<boolean> =>
  (await state.write((tx) =>
    tx.run(`update leases set ${what} where name = ? and holder = ? and token = ?`, name, holder, token),
  )) > 0
