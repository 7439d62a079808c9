// A bounded number of connections for reads, shared by everybody.
//
// 1. A read that finds its connection dead is asked again on another, until the time is up: reads change nothing
//    (the connections refuse it), so asking twice is asking once.
// 2. Whoever finds all connections in use waits in line; when the line is full they are told so.
import { Fault } from '#core/fault.ts'
import { closedFault } from '../turns.ts'
import { renamePostgres } from './postgres-faults.ts'
import { Patience } from './postgres-patience.ts'
import type { Place } from './postgres-place.ts'
import { type Purpose, Session } from './postgres-session.ts'

const waitingMax = 5000

export class Sessions {
  readonly #place: Place
  readonly #purpose: Purpose
  readonly #max: number
  readonly #patience: Patience
  readonly #idle: Session[] = []
  readonly #busy = new Set<Session>()
  readonly #waiting: (() => void)[] = []
  #count = 0
  #closed: PromiseWithResolvers<void> | undefined

  constructor(place: Place, purpose: Purpose, max: number, waitMs: number) {
    this.#patience = new Patience(waitMs)
    this.#place = place
    this.#purpose = purpose
    this.#max = max
  }

  /** Invariant 1. */
  async read<T>(work: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await this.#patience.through(() => this.once(work))
    } catch (error) {
      throw renamePostgres(error, this.#place.name)
    }
  }

  /** Ends every connection: somebody has found out that nobody answers any more. */
  drop(): void {
    for (const session of [...this.#idle.splice(0), ...this.#busy]) void session.close()
  }

  /** Takes no more reads, and resolves when those under way are done. */
  async close(): Promise<void> {
    this.#closed ??= Promise.withResolvers()
    if (this.#count === 0) this.#closed.resolve()
    await this.#closed.promise
    await Promise.all(this.#idle.splice(0).map((session) => session.close()))
  }

  /** Without trying again. */
  async once<T>(work: (session: Session) => Promise<T>): Promise<T> {
    await this.#enter()
    let session: Session | undefined
    try {
      session = this.#usable() ?? (await Session.open(this.#place, this.#purpose))
      this.#busy.add(session)
      return await work(session)
    } finally {
      if (session) this.#giveBack(session)
      this.#leave()
    }
  }

  /** Invariant 2. */
  async #enter(): Promise<void> {
    if (this.#closed) throw closedFault(this.#place.name)
    if (this.#count < this.#max) {
      this.#count += 1
      return
    }
    if (this.#waiting.length >= waitingMax) throw fullFault(this.#place.name)
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** The place goes to whoever has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#count -= 1
    if (this.#count === 0) this.#closed?.resolve()
  }

  #usable(): Session | undefined {
    for (;;) {
      const session = this.#idle.pop()
      if (!session?.lost) return session
    }
  }

  #giveBack(session: Session): void {
    this.#busy.delete(session)
    if (session.lost || session.worn) void session.close()
    else this.#idle.push(session)
  }
}

const fullFault = (of: string): Fault =>
  new Fault('store.unavailable', {
    detail: `${waitingMax} reads wait for ${of}, which is the limit; raise store.stateConnections or look at what takes long`,
    retryAfterMs: 1000,
  })
