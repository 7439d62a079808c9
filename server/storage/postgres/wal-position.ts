// Which position in the WAL a replica must have replayed before it is used: the one that has every commit that this process
// knows of (storage/state.ts, rule 8).
//
// Positions can be compared only within one timeline, and two standbys that are promoted may give theirs the same number.
// So each timeline has a random id, which the first process that notices it stores (commit-tables.ts). A replica that has
// the id follows this timeline.
import type { CommitRow } from './commit-tables.ts'

/** What a replica must have: the id of the timeline, and the WAL up to this position. */
export interface RequiredPosition {
  /** Undefined: not known at present. */
  readonly timeline: string | undefined
  readonly lsn: number
}

/** Where the primary is: what `primaryPosition` selects (commit-tables.ts). */
export type PrimaryPosition = Pick<CommitRow, 'lsn' | 'server'>

export class WalPosition {
  #lsn = 0
  /** The primary that replied last. */
  #server = ''
  #timeline: string | undefined
  /** The last commit of this process since the running query began. */
  #ownCommit: PrimaryPosition | undefined

  get required(): RequiredPosition {
    return { timeline: this.#timeline, lsn: this.#lsn }
  }

  /** Whether another primary replies than before, or the same one after a restart. */
  isOtherServer({ server }: PrimaryPosition): boolean {
    return server !== this.#server
  }

  beginQuery(): void {
    this.#ownCommit = undefined
  }

  /** Takes the result of a query. `hasChanges`: it has commits that were not known. */
  endQuery(primary: Pick<CommitRow, 'lsn' | 'server' | 'timeline'>, hasChanges: boolean): void {
    const own = this.#ownCommit
    // Another server may have fewer commits.
    const knownLsn = this.isOtherServer(primary) ? (own?.lsn ?? 0) : this.#lsn
    if (hasChanges) this.#lsn = Math.max(knownLsn, primary.lsn)
    this.#server = primary.server
    const isSameServer = own === undefined || own.server === primary.server
    this.#timeline = isSameServer ? (primary.timeline ?? undefined) : undefined
  }

  noteOwnCommit(commit: PrimaryPosition): void {
    this.#ownCommit = commit
    this.#lsn = Math.max(this.#lsn, commit.lsn)
    // After a failover, a write may reach the new primary first.
    if (this.isOtherServer(commit)) this.#timeline = undefined
  }
}
