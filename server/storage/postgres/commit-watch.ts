// Notices the commits of all processes on PostgreSQL, for caches (`version` in storage/state.ts, rule 3) and for replicas.
// It reads a table to which every transaction writes (commit-tables.ts), every `tickMs` and when its connection is lost.
//
// 1. No two writers change the same row of the table, so none of them waits for another.
// 2. Commits of this process are known at once. If the table could not be read, or another server replies, everything may
//    have changed.
// 3. If the database does not reply for some seconds, `version` throws, so that no stale cache is used (silence.ts).
import { systemClock } from '#runtime/clock.ts'
import type { TableGroup } from '../table-groups.ts'
import type { PostgresAddress } from './address.ts'
import { type CommitRow, readCommits } from './commit-tables.ts'
import { PostgresSession } from './session.ts'
import { Silence, tickMs } from './silence.ts'
import { TableVersions } from './table-versions.ts'
import { type PrimaryPosition, type RequiredPosition, WalPosition } from './wal-position.ts'

export interface OwnCommit extends PrimaryPosition {
  readonly writer: string
  readonly groups: Iterable<TableGroup>
  readonly number: number
}

interface WatchEvents {
  /** Called after a long time without a reply. */
  readonly onDead: () => void
  /** Called until the timeline has an id. */
  readonly onTimelineWithoutId: () => void
}

export class CommitWatch {
  readonly #address: PostgresAddress
  readonly #events: WatchEvents
  readonly #versions = new TableVersions()
  readonly #position = new WalPosition()
  readonly #silence = new Silence()
  readonly #stopTicks: () => void
  #session: PostgresSession | undefined
  #pendingQuery: Promise<void> | undefined
  #isClosed = false

  /** Resolves after the first query, even if it failed. */
  static async open(address: PostgresAddress, events: WatchEvents): Promise<CommitWatch> {
    const watch = new CommitWatch(address, events)
    await watch.#poll()
    return watch
  }

  private constructor(address: PostgresAddress, events: WatchEvents) {
    this.#address = address
    this.#events = events
    this.#stopTicks = systemClock.every(tickMs, () => {
      if (this.#silence.tick()) {
        this.#events.onDead()
        void this.#session?.close()
      }
      void this.#poll()
    })
  }

  version(group?: TableGroup): number {
    this.#silence.throwIfTooLong(this.#address.name)
    return this.#versions.version(group)
  }

  /** A replica that has reached it has every commit that is known. */
  requiredPosition(): RequiredPosition {
    this.#silence.throwIfTooLong(this.#address.name)
    return this.#position.required
  }

  noteOwnCommit(commit: OwnCommit): void {
    this.#position.noteOwnCommit(commit)
    this.#versions.noteOwnCommit(commit.writer, commit.groups, commit.number)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopTicks()
    await this.#session?.close()
    await this.#pendingQuery
    // The query may have opened another one.
    await this.#session?.close()
  }

  #poll(): Promise<void> {
    this.#pendingQuery ??= this.#query().finally(() => {
      this.#pendingQuery = undefined
    })
    return this.#pendingQuery
  }

  async #query(): Promise<void> {
    try {
      if (!this.#session || this.#session.lost) this.#session = await this.#openSession()
      this.#position.beginQuery()
      this.#compare(await this.#session.readScript<CommitRow>(readCommits))
      this.#silence.end()
    } catch (error) {
      this.#silence.fail(error)
    }
  }

  async #openSession(): Promise<PostgresSession> {
    const session = await PostgresSession.open(this.#address, 'read')
    // Do not wait for the next tick: a restarting server may be back sooner.
    session.onLost = () => {
      if (!this.#isClosed) void this.#poll()
    }
    return session
  }

  #compare(rows: readonly CommitRow[]): void {
    // All rows have the same position.
    const [primary] = rows
    if (!primary) return
    const mayHaveMissed = this.#silence.hasFailed || this.#position.isOtherServer(primary)
    this.#position.endQuery(primary, this.#versions.compare(rows, mayHaveMissed))
    if (primary.timeline === null) this.#events.onTimelineWithoutId()
  }
}
