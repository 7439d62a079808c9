// Whether anything was committed, by whom ever: the version of a state on PostgreSQL (state 3).
//
// 1. Each commit writes the next number into `state_commits` and notifies everybody of it. A connection of its own listens;
//    once a second it also asks for the number, in case a notice was lost or the connection is dead without knowing.
// 2. When nobody has answered for `deafTicks` seconds nothing is claimed any more: the version is a fault, and so is
//    whatever would be answered from a cache that rests on it (behaviour/operations.md#cache-invalidation). A server that answers "not now", because it
//    restarts, is waited for longer: nobody else can be writing to it meanwhile.
// 3. Seconds are counted in ticks that really came: a process that was busy with itself has not lost the server.
import { Fault } from '#core/fault.ts'
import { systemClock } from '#runtime/clock.ts'
import type { PostgresAddress } from './address.ts'
import { ConnectionLost } from './errors.ts'
import { PostgresSession } from './session.ts'

const tickMs = 1000
const silentTicksMax = 3
const refusedTicks = 15
/** From here on every connection is given up: the network may be swallowing what is sent. */
const deadTicksMax = 6

export class CommitWatch {
  readonly #address: PostgresAddress
  readonly #channel: string
  readonly #onDead: () => void
  readonly #stop: () => void
  #session: PostgresSession | undefined
  #pendingQuery: Promise<void> | undefined
  /** The newest number that was heard of. */
  #newestCommit = -1
  #version = 0
  #silentTicks = 0
  #refusedTicks = 0
  /** Why the last question failed; undefined when it was answered. */
  #failure: unknown
  #closed = false

  /** `onDead` is told when nobody has answered for long. */
  static async open(address: PostgresAddress, channel: string, onDead: () => void): Promise<CommitWatch> {
    const watch = new CommitWatch(address, channel, onDead)
    await watch.#poll()
    return watch
  }

  private constructor(address: PostgresAddress, channel: string, onDead: () => void) {
    this.#address = address
    this.#channel = channel
    this.#onDead = onDead
    this.#stop = systemClock.every(tickMs, () => this.#tick())
  }

  get version(): number {
    this.#throwIfSilent()
    return this.#version
  }

  /** The number of the newest commit that this process knows of. */
  get newestCommit(): number {
    this.#throwIfSilent()
    return this.#newestCommit
  }

  /** A commit of our own is known at once. */
  noteOwnCommit(number: number): void {
    if (number > this.#newestCommit) this.#advance(number)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stop()
    await this.#session?.close()
    await this.#pendingQuery
    await this.#session?.close()
  }

  #tick(): void {
    if (this.#failure instanceof ConnectionLost && this.#failure.refused) this.#refusedTicks += 1
    else this.#silentTicks += 1
    if (this.#silentTicks >= deadTicksMax && this.#silentTicks % deadTicksMax === 0) {
      this.#onDead()
      void this.#session?.close()
    }
    void this.#poll()
  }

  #poll(): Promise<void> {
    this.#pendingQuery ??= this.#query().finally(() => {
      this.#pendingQuery = undefined
    })
    return this.#pendingQuery
  }

  async #query(): Promise<void> {
    try {
      if (!this.#session || this.#session.lost) this.#session = await this.#listen()
      const before = this.#newestCommit
      const row = await this.#session.script<{ number: number }>(newestCommit)
      const number = row?.number ?? 0
      // Ours or somebody's notice may have come in between; then only a higher number is news. Otherwise any other number
      // is: after a handover to a server that had not received everything it is a lower one.
      if (this.#newestCommit === before ? number !== before : number > this.#newestCommit) this.#advance(number)
      this.#silentTicks = 0
      this.#refusedTicks = 0
      this.#failure = undefined
    } catch (error) {
      this.#failure = error
    }
  }

  async #listen(): Promise<PostgresSession> {
    const session = await PostgresSession.open(this.#address, 'read')
    // The next tick may be a second away; a server that restarts is back sooner.
    session.onLost = () => {
      if (!this.#closed) void this.#poll()
    }
    await session.listen(this.#channel, (payload) => {
      const number = Number(payload)
      if (number > this.#newestCommit) this.#advance(number)
    })
    return session
  }

  #advance(number: number): void {
    this.#newestCommit = number
    this.#version += 1
  }

  #throwIfSilent(): void {
    if (this.#silentTicks < silentTicksMax && this.#refusedTicks < refusedTicks) return
    const reason = this.#failure instanceof Error ? this.#failure.message : 'no answer'
    const detail = `${this.#address.name} has been away for ${this.#silentTicks + this.#refusedTicks} s, so nobody knows what has changed (${reason})`
    throw new Fault('store.unavailable', { detail, retryAfterMs: 1000 })
  }
}

export const commitsTable =
  'create table if not exists state_commits (writer text primary key, number bigint not null) with (fillfactor = 50)'
export const newestCommit = 'select max(number) as number from state_commits'
