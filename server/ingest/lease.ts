// Runs each ingester in exactly one of the processes that share a database (behaviour/operations.md#leases).
//
// 1. A lease is a row with its holder, a token that grows when the holder changes, and a heartbeat that grows while the
//    holder is alive.
// 2. A process that has seen the same heartbeat for `expiryMs` takes over the lease. Each process uses only its own
//    monotonic clock, so clock differences between machines do not matter.
// 3. Every write of an ingester first checks its token and locks the row until its commit (leased-stores.ts; for duties,
//    server/validators/duties/operations.ts). Taking over the lease replaces the row, which is not done while that lock is
//    held. So a former holder cannot write after its successor, even if it was suspended. PostgreSQL ends a transaction that
//    is idle for `expiryMs`, so a holder that is suspended in one does not delay its successor. Heartbeats do not wait for
//    the lock, because they do not change the key of the row.
// 4. Two processes that take over a lease at the same time delete the same row. Only one of them does.
import type { Clock } from '#runtime/clock.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import type { Log } from '#runtime/log.ts'
import type { Random } from '#runtime/random.ts'
import type { State, StateWriter } from '#storage/state.ts'
import { currentLease, type HeldLease, type LeaseRow, rowOf } from './leased-stores.ts'

interface Pace {
  readonly heartbeatMs: number
  readonly expiryMs: number
  readonly checkMs: number
}

/** A dead or suspended holder is replaced within 2 · checkMs + expiryMs, which is `takeoverMs`. */
export const paceOf = (takeoverMs: number): Pace => ({
  heartbeatMs: takeoverMs / 5,
  expiryMs: (takeoverMs / 5) * 3,
  checkMs: takeoverMs / 5,
})
const defaultPace = paceOf(25_000)
/** Commands check more often, because a person is waiting. */
const commandCheckMs = 500

export interface LeaseContext {
  readonly ingest: State
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

export interface Ingester {
  readonly name: string
  /** Runs until the signal aborts, or resolves at once if there is nothing to do. */
  readonly work: (signal: AbortSignal) => Promise<void>
  /** Whether this process runs it. Undefined: it has nothing to do, so that no process runs it. */
  readonly reportHolding?: (is: boolean | undefined) => void
  /** Names the process. If it holds the lease already, as after the death of a thread, it continues at once. */
  readonly holder?: string
  readonly pace?: Pace
}

/** On SQLite there is only one server, so no lease is needed. Resolves when the signal has ended the work. */
export async function runInOneProcess(context: LeaseContext, ingester: Ingester, signal: AbortSignal): Promise<void> {
  if (context.ingest.engine !== 'sqlite') return runWhileLeased(context, ingester, signal)
  ingester.reportHolding?.(true)
  while (!signal.aborted) {
    if (await runUntilStopped(context, ingester.name, ingester.work, signal)) {
      ingester.reportHolding?.(undefined)
      return
    }
    await context.clock.sleep((ingester.pace ?? defaultPace).checkMs, signal)
  }
}

/** If one loop of an ingester fails, all are stopped before the restart (behaviour/operations.md#ingester-failures). */
async function runUntilStopped({ log }: LeaseContext, ingester: string, work: Ingester['work'], signal: AbortSignal) {
  const ended = new AbortController()
  try {
    await work(AbortSignal.any([signal, ended.signal]))
    return true
  } catch (error) {
    // Errors caused by stopping are not failures.
    if (!signal.aborted) log.error({ ingester, ...failureFields(error) }, 'ingester failed; restarting it')
    return false
  } finally {
    ended.abort()
  }
}

/** Runs the ingester whenever this process holds its lease. */
export async function runWhileLeased(context: LeaseContext, ingester: Ingester, signal: AbortSignal): Promise<void> {
  const { name, reportHolding, pace = defaultPace } = ingester
  const waiter = createLeaseWaiter(context, name, pace.expiryMs, ingester.holder)
  reportHolding?.(false)
  while (!signal.aborted) {
    const held = await waiter.acquire()
    if (held) {
      reportHolding?.(true)
      const idle = await runHolding(context, held, ingester, signal)
      reportHolding?.(idle ? undefined : false)
      if (idle) return
    }
    await context.clock.sleep(pace.checkMs, signal)
  }
}

export interface LeaseRequest {
  readonly name: string
  /** Wait while another process holds the lease. */
  readonly wait: boolean
  readonly pace?: Pace
}

/**
 * Runs work that ends by itself under the lease (behaviour/operations.md#ingest-commands). Undefined if a live process
 * holds the lease, or the signal aborted first. It takes a few seconds to see from the heartbeat whether the holder lives.
 */
export async function runUnderLease<T>(
  context: LeaseContext,
  { name, wait, pace = defaultPace }: LeaseRequest,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<{ readonly done: T } | undefined> {
  const waiter = createLeaseWaiter(context, name, pace.expiryMs)
  while (!signal.aborted && (wait || !waiter.isHolderAlive())) {
    const held = await waiter.tryAcquire()
    if (held) return { done: await runWithHeartbeats(context, held, pace.heartbeatMs, work, signal) }
    await context.clock.sleep(Math.min(pace.checkMs, commandCheckMs), signal)
  }
  return undefined
}

function createLeaseWaiter(
  { ingest, clock, random, log }: LeaseContext,
  name: string,
  expiryMs: number,
  holder = random.uuid(),
) {
  let seen: (LeaseRow & { readonly atMs: number }) | undefined
  let isFailing = false
  let isHolderAlive = false

  async function tryAcquire(): Promise<HeldLease | undefined> {
    const row = await rowOf(ingest, name)
    const token = isFree(row) ? await ingest.write((tx) => writeRow(tx, row)) : undefined
    return token === undefined ? undefined : { name, holder, token, expiryMs, lost: new AbortController() }
  }

  function isFree(row: LeaseRow | undefined): boolean {
    // The row is ours if the result of our commit was lost.
    if (!row || row.holder === '' || row.holder === holder) return true
    const atMs = clock.monotonicMs()
    if (seen && !isSame(row, seen)) isHolderAlive = true
    if (!seen || !isSame(row, seen)) seen = { ...row, atMs }
    return atMs - seen.atMs >= expiryMs
  }

  /** The new token, or undefined if the row has changed meanwhile. */
  async function writeRow(tx: StateWriter, before: LeaseRow | undefined): Promise<number | undefined> {
    // Rule 3: an update would ignore the lock.
    const same = 'name = ? and holder = ? and token = ? and heartbeat = ?'
    if (before) {
      const values = [name, before.holder, before.token, before.heartbeat]
      // A frozen holder keeps its lock until PostgreSQL ends its connection. Do not wait: other writes of this process,
      // such as heartbeats, would wait too.
      const lockRow = `select token from leases where ${same} for update skip locked`
      if (ingest.engine === 'postgres' && !(await tx.get(lockRow, ...values))) return undefined
      if ((await tx.run(`delete from leases where ${same}`, ...values)) === 0) return undefined
    }
    const token = (before?.token ?? 0) + 1
    const sql = 'insert into leases (name, holder, token, heartbeat) values (?, ?, ?, 0) on conflict (name) do nothing'
    return (await tx.run(sql, name, holder, token)) === 1 ? token : undefined
  }

  return {
    tryAcquire,
    /** Like `tryAcquire`, but logs errors instead of throwing them. */
    async acquire(): Promise<HeldLease | undefined> {
      try {
        const held = await tryAcquire()
        isFailing = false
        return held
      } catch (error) {
        if (!isFailing) log.warn({ ingester: name, ...failureFields(error) }, 'cannot read the lease; will retry')
        isFailing = true
        return undefined
      }
    },
    /** The heartbeat has changed since the first check. */
    isHolderAlive: () => isHolderAlive,
  }
}

const isSame = (a: LeaseRow | undefined, b: LeaseRow | undefined): boolean =>
  a?.holder === b?.holder && a?.token === b?.token && a?.heartbeat === b?.heartbeat

/** True if the work ended because there was nothing to do. */
async function runHolding(
  context: LeaseContext,
  held: HeldLease,
  { work, pace = defaultPace }: Ingester,
  signal: AbortSignal,
) {
  context.log.info({ ingester: held.name, token: held.token }, 'lease acquired')
  const ends = AbortSignal.any([signal, held.lost.signal])
  const succeeded = await runUntilStopped(
    context,
    held.name,
    (until) => runWithHeartbeats(context, held, pace.heartbeatMs, work, until),
    ends,
  )
  return succeeded && !ends.aborted
}

/** Runs work under a lease: sends heartbeats meanwhile and releases the lease at the end. */
async function runWithHeartbeats<T>(
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
    if (lost.signal.aborted) context.log.warn({ ingester: name, token }, 'lease lost to another process')
    else await release(context, held)
  }
}

async function sendHeartbeats(
  { ingest, clock }: LeaseContext,
  held: HeldLease,
  heartbeatMs: number,
  over: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(heartbeatMs, over)
    if (over.aborted) return
    try {
      if (await updateLease(ingest, held, 'heartbeat = heartbeat + 1')) continue
      held.lost.abort()
      return
    } catch {
      // While the database cannot be written, the ingester cannot write either. The next heartbeat checks the lease.
    }
  }
}

/** Other processes can take over at once. */
async function release({ ingest, log }: LeaseContext, held: HeldLease): Promise<void> {
  try {
    await updateLease(ingest, held, `holder = ''`)
  } catch (error) {
    log.warn({ ingester: held.name, ...failureFields(error) }, 'cannot release the lease; it will expire')
  }
}

const updateLease = async (state: State, { name, holder, token }: HeldLease, change: string): Promise<boolean> =>
  (await state.write((tx) =>
    tx.run(`update leases set ${change} where name = ? and holder = ? and token = ?`, name, holder, token),
  )) > 0
