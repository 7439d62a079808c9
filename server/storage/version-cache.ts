// Caches results of queries until any process commits to the database.

/** Reads each key once per version of the database. Concurrent callers share one read; failed reads are not cached. */
export type VersionCache<T> = (database: Versioned, key: string, read: () => Promise<T>) => Promise<T>

interface Versioned {
  version(): number
}

export function cacheUntilVersionChanges<T>(): VersionCache<T> {
  let source: Versioned | undefined
  let version = Number.NaN
  let values = new Map<string, Promise<T>>()
  return (database, key, read) => {
    // Get the version before the read, so that a commit during the read invalidates the result.
    const present = database.version()
    if (present !== version || database !== source) {
      ;[source, version] = [database, present]
      values = new Map()
    }
    const known = values.get(key)
    if (known) return known
    const reading = read()
    const own = values.set(key, reading)
    reading.catch(() => own.delete(key))
    return reading
  }
}
