// Caches results of queries until any process changes the tables that they read.
import type { Awaitable } from '#core/awaitable.ts'
import { joinWork } from '#core/shared-work.ts'
import type { TableGroup } from './table-groups.ts'

/**
 * Reads each key once per version of the database. Concurrent callers share one read; failed reads are not cached. A
 * cached value is returned without a promise.
 */
export type VersionCache<T> = (database: Versioned, key: string, read: () => Promise<T>) => Awaitable<T>

interface Versioned {
  version(group?: TableGroup): number
}

/** `groups`: all tables that the reads use are in these groups. Default: any. */
export function cacheUntilVersionChanges<T>(...groups: readonly TableGroup[]): VersionCache<T> {
  let source: Versioned['version'] | undefined
  let version = ''
  const versionOf = (database: Versioned): string =>
    groups.length === 0 ? `${database.version()}` : groups.map((group) => database.version(group)).join()
  let values = new Map<string, Awaitable<T>>()
  const cached: VersionCache<T> = (database, key, read) => {
    // Get the version before the read, so that a commit during the read invalidates the result.
    const present = versionOf(database)
    if (present !== version || database.version !== source) {
      ;[source, version] = [database.version, present]
      values = new Map()
    }
    const known = values.get(key)
    if (known instanceof Promise) return joinWork<T>(known, () => cached(database, key, read))
    if (known !== undefined || values.has(key)) return known as Awaitable<T>
    const reading = read()
    const entries = values.set(key, reading)
    reading.then(
      (value) => entries.set(key, value),
      () => entries.delete(key),
    )
    return reading
  }
  return cached
}
