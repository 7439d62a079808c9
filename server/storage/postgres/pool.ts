// A limited pool of read connections.
//
// 1. A read whose connection is lost is repeated on another one until the time is up. This is safe, because these
//    connections are read-only.
// 2. If all connections are in use, reads wait in a queue. If the queue is full, they fail.
import type { Fault } from '#core/fault.ts'
import { closedFault, unavailable } from '../write-queue.ts'
import type { PostgresAddress } from './address.ts'
import { renamePostgres } from './errors.ts'
import { createOutageRetry } from './outage.ts'
import { PostgresSession, type Purpose } from './session.ts'

const waitingMax = 5000

export function createSessionPool(address: PostgresAddress, purpose: Purpose, max: number, waitMs: number) {
  const outageRetry = createOutageRetry(waitMs)
  const idle: PostgresSession[] = []
  const busy = new Set<PostgresSession>()
  const waiting: (() => void)[] = []
  let count = 0
  let closed: PromiseWithResolvers<void> | undefined

  /** Invariant 2. */
  async function acquireSlot(): Promise<void> {
    if (closed) throw closedFault(address.name)
    if (count < max) {
      count += 1
      return
    }
    if (waiting.length >= waitingMax) throw poolFullFault(address.name)
    await new Promise<void>((resolve) => waiting.push(resolve))
  }

  function releaseSlot(): void {
    const next = waiting.shift()
    if (next) next()
    else count -= 1
    if (count === 0) closed?.resolve()
  }

  function takeIdle(): PostgresSession | undefined {
    for (;;) {
      const session = idle.pop()
      if (!session?.lost) return session
    }
  }

  function giveBack(session: PostgresSession): void {
    busy.delete(session)
    if (session.lost || session.shouldReplace) void session.close()
    else idle.push(session)
  }

  /** Without retries. */
  async function runOnce<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    await acquireSlot()
    let session: PostgresSession | undefined
    try {
      session = takeIdle() ?? (await PostgresSession.open(address, purpose))
      busy.add(session)
      return await work(session)
    } finally {
      if (session) giveBack(session)
      releaseSlot()
    }
  }

  return {
    runOnce,
    /** Invariant 1. */
    async read<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
      try {
        return await outageRetry(() => runOnce(work))
      } catch (error) {
        throw renamePostgres(error, address.name)
      }
    },
    /** Closes all connections, after the server was found dead. */
    drop(): void {
      for (const session of [...idle.splice(0), ...busy]) void session.close()
    },
    /** Accepts no more reads, and resolves when running reads are done. */
    async close(): Promise<void> {
      closed ??= Promise.withResolvers()
      if (count === 0) closed.resolve()
      await closed.promise
      await Promise.all(idle.splice(0).map((session) => session.close()))
    },
  }
}

const poolFullFault = (name: string): Fault =>
  unavailable(
    `${waitingMax} reads are waiting for ${name}, which is the limit; raise store.stateConnections, or find the slow queries`,
  )
