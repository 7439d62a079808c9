// Caches recently requested market responses.
//
// 1. A response is never older than the store: all are dropped when there is a new version of any record. Its number, the revision,
//    is read when the version of their tables has changed. A response is kept only if it was read at that revision:
//    a replica may be behind.
// 2. The cache is limited in bytes. The oldest response is dropped first, unless it was used since it was added or last
//    spared. So a hit changes no order.
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import type { State } from '#storage/state.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'

export class ResponseCache<T extends { readonly byteCount: number }> {
  readonly #revisions = cacheUntilVersionChanges<number>('markets')
  #revision = Number.NaN
  /** Of the newest response that was read. */
  #newest = Number.NEGATIVE_INFINITY
  #byteCount = 0
  readonly #responses = new Map<string, { readonly response: T; isUsed: boolean }>()

  /** Call this before `find`. */
  dropOutdated(state: State): Awaitable<void> {
    const revision = this.#revisions(state, 'markets', async () => {
      const row = await state.get<{ seq: number }>('select seq from market_revision')
      return row?.seq ?? -1
    })
    return whenReady(revision, (present) => this.#dropUnlessAt(present))
  }

  #dropUnlessAt(revision: number): void {
    if (revision === this.#revision) return
    this.#revision = revision
    // After a failover, it may be lower than before.
    this.#newest = revision
    this.#responses.clear()
    this.#byteCount = 0
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

  keep(slug: string, response: T, revision: number, byteCountMax: number): void {
    this.#newest = Math.max(this.#newest, revision)
    if (revision !== this.#revision || this.#responses.has(slug) || response.byteCount > byteCountMax) return
    // An entry that is moved to the end comes again, then as unused.
    for (const [oldest, entry] of this.#responses) {
      if (this.#byteCount + response.byteCount <= byteCountMax) break
      this.#responses.delete(oldest)
      if (entry.isUsed) this.#responses.set(oldest, { response: entry.response, isUsed: false })
      else this.#byteCount -= entry.response.byteCount
    }
    this.#responses.set(slug, { response, isUsed: false })
    this.#byteCount += response.byteCount
  }
}
