// Caches results of queries until any process commits to the database.
import type { Awaitable } from '#core/awaitable.ts'

/**
 * Reads each key once per version of the database. Concurrent callers share one read; failed reads are not cached. A
 * cached value is returned without a promise.
 */
export type VersionCache<T> = (database: Versioned, key: string, read: () => Promise<T>) => Awaitable<T>

interface Versioned {
  version(): number
}

export function cacheUntilVersionChanges<T>(): VersionCache<T> {
  let source: Versioned | undefined
  let version = Number.NaN
  let values = new Map<string, Awaitable<T>>()
  return (database, key, read) => {
    // Get the version before the read, so that a commit during the read invalidates the result.
    const present = database.version()
    if (present !== version || database !== source) {
      ;[source, version] = [database, present]
      values = new Map()
    }
    const known = values.get(key)
    if (known !== undefined || values.has(key)) return known as Awaitable<T>
    const reading = read()
    const entries = values.set(key, reading)
    reading.then(
      (value) => entries.set(key, value),
      () => entries.delete(key),
    )
    return reading
  }
}
