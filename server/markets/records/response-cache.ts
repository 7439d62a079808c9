// The responses about markets that were requested last.
//
// 1. A response is never older than the store: all are dropped when a market has changed. The markets' revision tells, and
//    is read whenever the store's version has changed. A commit that touches no market costs one small read, not the cache.
// 2. The cache has a size in bytes. The response that was requested longest ago goes first.
import type { State } from '#storage/state.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'

export class ResponseCache<T extends { readonly byteCount: number }> {
  readonly #revisions = cacheUntilVersionChanges<number>()
  #revision = Number.NaN
  #byteCount = 0
  readonly #kept = new Map<string, T>()

  /** To be called before anything is looked up. */
  async dropOutdated(state: State): Promise<void> {
    const revision = await this.#revisions(state, 'markets', async () => {
      const row = await state.get<{ revision: number }>('select revision from market_revision')
      return row?.revision ?? -1
    })
    if (revision === this.#revision) return
    this.#revision = revision
    this.#kept.clear()
    this.#byteCount = 0
  }

  find(slug: string): T | undefined {
    const found = this.#kept.get(slug)
    if (!found) return undefined
    this.#kept.delete(slug)
    this.#kept.set(slug, found)
    return found
  }

  keep(slug: string, response: T, byteCountMax: number): void {
    if (this.#kept.has(slug)) return
    this.#kept.set(slug, response)
    this.#byteCount += response.byteCount
    for (const [oldest, { byteCount }] of this.#kept) {
      if (this.#byteCount <= byteCountMax) break
      this.#kept.delete(oldest)
      this.#byteCount -= byteCount
    }
  }
}
