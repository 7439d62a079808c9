// Caches what was read from a database until anything is committed to it, by this process or by another.

/** Reads each key once per version of the database. Concurrent callers share one read; a read that failed is not kept. */
export type VersionCache<T> = (database: Versioned, key: string, read: () => Promise<T>) => Promise<T>

interface Versioned {
  version(): number
}

export function cacheUntilVersionChanges<T>(): VersionCache<T> {
  let source: Versioned | undefined
  let version = Number.NaN
  let values = new Map<string, Promise<T>>()
  return (database, key, read) => {
    // Asked before the read: what is committed during the read is read again next time.
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
