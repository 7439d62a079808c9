// Caches recently requested market responses.
//
// 1. A response is never older than the store: when there is a new version of a record, the responses that show it are
//    dropped (changed-records.ts). The number of the newest version, the revision, is read when the version of their
//    tables has changed. A response is kept only if it was read at that revision: a replica may be behind.
// 2. The cache is limited in bytes. The oldest response is dropped first, unless it was used since it was added or last
//    spared. So a hit changes no order.
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import type { State } from '#storage/state.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import { type Changes, type Revision, readChanges, type ShownRecords } from './changed-records.ts'

interface Entry<T> {
  readonly response: T
  readonly shown: ShownRecords
  isUsed: boolean
}

export class ResponseCache<T extends { readonly byteCount: number }> {
  readonly #changes = cacheUntilVersionChanges<Changes>('markets')
  #revision: Revision | undefined
  /** Of the newest response that was read. */
  #newest = Number.NEGATIVE_INFINITY
  #byteCount = 0
  readonly #responses = new Map<string, Entry<T>>()

  /** Call this before `find`. */
  dropOutdated(state: State): Awaitable<void> {
    const changes = this.#changes(state, 'markets', () => {
      const from = this.#revision
      return state.snapshot((reader) => readChanges(reader, from))
    })
    return whenReady(changes, (present) => this.#drop(present))
  }

  #drop({ from, head, mayChange }: Changes): void {
    const revision = this.#revision
    if (head.seq === revision?.seq && head.atMs === revision.atMs) return
    // Another call may have found later changes meanwhile.
    const isAll = !from || !revision || from.seq > revision.seq || head.seq < revision.seq
    this.#revision = head
    // After a failover, it may be lower than before.
    this.#newest = head.seq
    for (const [slug, { response, shown }] of this.#responses)
      if (isAll || mayChange(shown)) {
        this.#responses.delete(slug)
        this.#byteCount -= response.byteCount
      }
  }

  find(slug: string): T | undefined {
    const entry = this.#responses.get(slug)
    if (entry) entry.isUsed = true
    return entry?.response
  }

  /** Whether a response of this revision is as new as all that callers may have seen. */
  isRecent(revision: number): boolean {
    return revision >= this.#newest
  }

  keep(slug: string, response: T, shown: ShownRecords, revision: number, byteCountMax: number): void {
    this.#newest = Math.max(this.#newest, revision)
    if (revision !== this.#revision?.seq || this.#responses.has(slug) || response.byteCount > byteCountMax) return
    // An entry that is moved to the end comes again, then as unused.
    for (const [oldest, entry] of this.#responses) {
      if (this.#byteCount + response.byteCount <= byteCountMax) break
      this.#responses.delete(oldest)
      if (entry.isUsed) this.#responses.set(oldest, { ...entry, isUsed: false })
      else this.#byteCount -= entry.response.byteCount
    }
    this.#responses.set(slug, { response, shown, isUsed: false })
    this.#byteCount += response.byteCount
  }
}
