// Detects commits of all processes on PostgreSQL, for `version` (storage/state.ts, rule 3).
//
// 1. Each commit writes the next number to `state_commits` and sends a notification. A separate connection listens. It
//    also reads the number once a second, in case a notification was lost or the connection is dead.
// 2. After `silentTicksMax` seconds without a reply, `version` throws, so that no stale cache is used
//    (behaviour/operations.md#cache-invalidation). If the server refuses connections because it restarts, the limit is
//    `refusedTicksMax`, because no process can write meanwhile.
// 3. Seconds are counted by timer ticks, so that a busy process does not count as an outage.
import { Fault } from '#core/fault.ts'
import { systemClock } from '#runtime/clock.ts'
import type { PostgresAddress } from './address.ts'
import { ConnectionLost } from './errors.ts'
import { PostgresSession } from './session.ts'

const tickMs = 1000
const silentTicksMax = 3
const refusedTicksMax = 15
/** Then all connections are closed, because the network may drop packets. */
const deadTicksMax = 6

export class CommitWatch {
  readonly #address: PostgresAddress
  readonly #channel: string
  readonly #onDead: () => void
  readonly #stop: () => void
  #session: PostgresSession | undefined
  #pendingQuery: Promise<void> | undefined
  /** The newest known number. */
  #newestCommit = -1
  #version = 0
  #silentTicks = 0
  #refusedTicks = 0
  /** Why the last query failed; undefined after a success. */
  #failure: unknown
  #closed = false

  /** `onDead` is called after a long time without a reply. */
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

  /** The number of the newest commit that is known. */
  get newestCommit(): number {
    this.#throwIfSilent()
    return this.#newestCommit
  }

  /** Commits of this process are known at once. */
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
      // If a newer number became known during the query, only a higher one is a change. Otherwise any other number is:
      // after a failover to a server that lacks commits, it is lower.
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
    // Do not wait for the next tick: a restarting server may be back sooner.
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
    if (this.#silentTicks < silentTicksMax && this.#refusedTicks < refusedTicksMax) return
    const reason = this.#failure instanceof Error ? this.#failure.message : 'no reply'
    const detail = `${this.#address.name} has not responded for ${this.#silentTicks + this.#refusedTicks} s, so cached data may be stale (${reason})`
    throw new Fault('store.unavailable', { detail, retryAfterMs: 1000 })
  }
}

export const commitsTable =
  'create table if not exists state_commits (writer text primary key, number bigint not null) with (fillfactor = 50)'
export const newestCommit = 'select max(number) as number from state_commits'
