// A limited pool of read connections.
//
// 1. A read whose connection is lost is repeated on another one until the time is up. This is safe, because these
//    connections are read-only.
// 2. If all connections are in use, reads wait in a queue. If the queue is full, they fail.
import { Fault } from '#core/fault.ts'
import { closedFault } from '../write-queue.ts'
import type { PostgresAddress } from './address.ts'
import { renamePostgres } from './errors.ts'
import { OutageRetry } from './outage.ts'
import { PostgresSession, type Purpose } from './session.ts'

const waitingMax = 5000

export class SessionPool {
  readonly #address: PostgresAddress
  readonly #purpose: Purpose
  readonly #max: number
  readonly #outageRetry: OutageRetry
  readonly #idle: PostgresSession[] = []
  readonly #busy = new Set<PostgresSession>()
  readonly #waiting: (() => void)[] = []
  #count = 0
  #closed: PromiseWithResolvers<void> | undefined

  constructor(address: PostgresAddress, purpose: Purpose, max: number, waitMs: number) {
    this.#outageRetry = new OutageRetry(waitMs)
    this.#address = address
    this.#purpose = purpose
    this.#max = max
  }

  /** Invariant 1. */
  async read<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    try {
      return await this.#outageRetry.run(() => this.runOnce(work))
    } catch (error) {
      throw renamePostgres(error, this.#address.name)
    }
  }

  /** Closes all connections, after the server was found dead. */
  drop(): void {
    for (const session of [...this.#idle.splice(0), ...this.#busy]) void session.close()
  }

  /** Accepts no more reads, and resolves when running reads are done. */
  async close(): Promise<void> {
    this.#closed ??= Promise.withResolvers()
    if (this.#count === 0) this.#closed.resolve()
    await this.#closed.promise
    await Promise.all(this.#idle.splice(0).map((session) => session.close()))
  }

  /** Without retries. */
  async runOnce<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    await this.#acquireSlot()
    let session: PostgresSession | undefined
    try {
      session = this.#takeIdle() ?? (await PostgresSession.open(this.#address, this.#purpose))
      this.#busy.add(session)
      return await work(session)
    } finally {
      if (session) this.#giveBack(session)
      this.#releaseSlot()
    }
  }

  /** Invariant 2. */
  async #acquireSlot(): Promise<void> {
    if (this.#closed) throw closedFault(this.#address.name)
    if (this.#count < this.#max) {
      this.#count += 1
      return
    }
    if (this.#waiting.length >= waitingMax) throw poolFullFault(this.#address.name)
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #releaseSlot(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#count -= 1
    if (this.#count === 0) this.#closed?.resolve()
  }

  #takeIdle(): PostgresSession | undefined {
    for (;;) {
      const session = this.#idle.pop()
      if (!session?.lost) return session
    }
  }

  #giveBack(session: PostgresSession): void {
    this.#busy.delete(session)
    if (session.lost || session.shouldReplace) void session.close()
    else this.#idle.push(session)
  }
}

const poolFullFault = (name: string): Fault =>
  new Fault('store.unavailable', {
    detail: `${waitingMax} reads are waiting for ${name}, which is the limit; raise store.stateConnections, or find the slow queries`,
    retryAfterMs: 1000,
  })
