// Caches recently requested market responses.
//
// 1. A response is never older than the store: all are dropped when the revision of the markets has changed. The revision
//    is read when the store's version has changed, so a commit that changes no market costs one small read.
// 2. The cache is limited in bytes. The least recently used response is dropped first.
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import type { State } from '#storage/state.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'

export class ResponseCache<T extends { readonly byteCount: number }> {
  readonly #revisions = cacheUntilVersionChanges<number>()
  #revision = Number.NaN
  #byteCount = 0
  readonly #responses = new Map<string, T>()

  /** Call this before `find`. */
  dropOutdated(state: State): Awaitable<void> {
    const revision = this.#revisions(state, 'markets', async () => {
      const row = await state.get<{ revision: number }>('select revision from market_revision')
      return row?.revision ?? -1
    })
    return whenReady(revision, (present) => this.#dropUnlessAt(present))
  }

  #dropUnlessAt(revision: number): void {
    if (revision === this.#revision) return
    this.#revision = revision
    this.#responses.clear()
    this.#byteCount = 0
  }

  find(slug: string): T | undefined {
    const response = this.#responses.get(slug)
    if (!response) return undefined
    this.#responses.delete(slug)
    this.#responses.set(slug, response)
    return response
  }

  keep(slug: string, response: T, byteCountMax: number): void {
    if (this.#responses.has(slug)) return
    this.#responses.set(slug, response)
    this.#byteCount += response.byteCount
    for (const [oldest, { byteCount }] of this.#responses) {
      if (this.#byteCount <= byteCountMax) break
      this.#responses.delete(oldest)
      this.#byteCount -= byteCount
    }
  }
}
