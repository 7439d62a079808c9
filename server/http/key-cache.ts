// Looks a shown key up. Verified keys stay in memory until any key is changed, by any process: a revocation holds from the
// next call on, and the usual call reads nothing.
import { digestOf, type KeyParts, sameDigest, unknownKeyDigest } from '#core/key.ts'
import { findKey, type KeyRecord, keyRevision } from '#storage/keys.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { Context } from './context.ts'

const keysMax = 50_000

export class KeyCache {
  readonly #context: Context
  readonly #revisions = cacheUntilVersionChanges<number>()
  #revision = Number.NaN
  #verified = new Map<string, KeyRecord>()

  constructor(context: Context) {
    this.#context = context
  }

  /** The record of a key that is good now. Why one is not good stays in here (behaviour/http.md#invalid-keys). */
  async find(shown: KeyParts): Promise<KeyRecord | undefined> {
    const { state, clock } = this.#context
    // Before any record: what is changed in between is noticed by the next call.
    const revision = await this.#revisions(state, 'keys', () => keyRevision(state))
    if (revision !== this.#revision) [this.#revision, this.#verified] = [revision, new Map()]
    const verified = this.#verified
    const record = verified.get(shown.id) ?? (await findKey(state, shown.id))
    const same = sameDigest(record?.digest ?? unknownKeyDigest, digestOf(shown))
    if (!record || !same || record.revokedAtMs !== undefined) return undefined
    if (record.expiresAtMs !== undefined && record.expiresAtMs <= clock.now()) return undefined
    addToCache(verified, record)
    return record
  }
}

/** Into the map it was looked up for: if that has been replaced meanwhile, the record is forgotten with it. */
function addToCache(verified: Map<string, KeyRecord>, record: KeyRecord): void {
  if (verified.has(record.id)) return
  verified.set(record.id, record)
  const [oldest] = verified.keys()
  if (verified.size > keysMax && oldest !== undefined) verified.delete(oldest)
}
