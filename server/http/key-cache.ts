// Finds and verifies keys. Verified keys are cached until any process changes a key, so that a revocation takes effect
// with the next call.
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

  /** Undefined for unknown, wrong, revoked and expired keys alike (behaviour/http.md#invalid-keys). */
  async find(key: KeyParts): Promise<KeyRecord | undefined> {
    const { state, clock } = this.#context
    // Read before the record, so that the next call notices a change in between.
    const revision = await this.#revisions(state, 'keys', () => keyRevision(state))
    if (revision !== this.#revision) [this.#revision, this.#verified] = [revision, new Map()]
    const verified = this.#verified
    const record = verified.get(key.id) ?? (await findKey(state, key.id))
    const nowMs = clock.now()
    if (!hasValidSecret(record, digestOf(key), nowMs) || !record || record.revokedAtMs !== undefined) return undefined
    if (record.expiresAtMs !== undefined && record.expiresAtMs <= nowMs) return undefined
    addToCache(verified, record)
    return record
  }
}

/** Compares both secrets in any case, so that the time does not depend on which keys have an old one. */
function hasValidSecret(record: KeyRecord | undefined, digest: Uint8Array, nowMs: number): boolean {
  const isNew = sameDigest(record?.digest ?? unknownKeyDigest, digest)
  const isOld = sameDigest(record?.oldDigest ?? unknownKeyDigest, digest)
  return isNew || (isOld && nowMs < (record?.oldSecretUntilMs ?? 0))
}

/** `verified` is the map at the start of the lookup. If it was replaced meanwhile, the record is not cached. */
function addToCache(verified: Map<string, KeyRecord>, record: KeyRecord): void {
  if (verified.has(record.id)) return
  verified.set(record.id, record)
  const [oldest] = verified.keys()
  if (verified.size > keysMax && oldest !== undefined) verified.delete(oldest)
}
