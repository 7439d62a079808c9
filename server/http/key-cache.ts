// Finds and verifies keys. Verified keys are cached until any process changes a key, so that a revocation takes effect
// with the next call.
import type { Awaitable } from '#core/awaitable.ts'
import { digestOf, type KeyParts, sameDigest, splitKey, unknownKeyDigest } from '#core/key.ts'
import { findKey, type KeyRecord, keyRevision } from '#storage/keys.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { Context } from './context.ts'

const keysMax = 50_000

interface VerifiedKey {
  readonly record: KeyRecord
  /** When the key or this secret expires. */
  readonly validUntilMs: number
}

export class KeyCache {
  readonly #context: Context
  readonly #revisions = cacheUntilVersionChanges<number>()
  readonly #readRevision: () => Promise<number>
  #revision = Number.NaN
  /** By the text of the key (decisions/hash-keys-with-one-sha-256.md). */
  #verified = new Map<string, VerifiedKey>()

  constructor(context: Context) {
    this.#context = context
    this.#readRevision = () => keyRevision(context.state)
  }

  /** Undefined for malformed, unknown, wrong, revoked and expired keys alike (behaviour/http.md#invalid-keys). */
  find(text: string): Awaitable<KeyRecord | undefined> {
    // Read before the record, so that the next call notices a change in between.
    const revision = this.#revisions(this.#context.state, 'keys', this.#readRevision)
    return typeof revision === 'number'
      ? this.#findAt(revision, text)
      : revision.then((present) => this.#findAt(present, text))
  }

  #findAt(revision: number, text: string): Awaitable<KeyRecord | undefined> {
    if (revision !== this.#revision) [this.#revision, this.#verified] = [revision, new Map()]
    const known = this.#verified.get(text)
    if (known && this.#context.clock.now() < known.validUntilMs) return known.record
    const parts = splitKey(text)
    return parts && this.#verify(parts, text, this.#verified)
  }

  /** `verified` is the map at the start of the lookup. If it was replaced meanwhile, the key is not cached. */
  async #verify(parts: KeyParts, text: string, verified: Map<string, VerifiedKey>): Promise<KeyRecord | undefined> {
    const { state, clock } = this.#context
    const record = await findKey(state, parts.id)
    const validUntilMs = findSecretEndMs(record, digestOf(parts))
    if (!record || record.revokedAtMs !== undefined || clock.now() >= validUntilMs) return undefined
    verified.set(text, { record, validUntilMs })
    const [oldest] = verified.keys()
    if (verified.size > keysMax && oldest !== undefined) verified.delete(oldest)
    return record
  }
}

/**
 * Until when the secret is valid; 0 for a wrong one. Compares both secrets in any case, so that the time does not depend on
 * which keys have an old one.
 */
function findSecretEndMs(record: KeyRecord | undefined, digest: Uint8Array): number {
  const isNew = sameDigest(record?.digest ?? unknownKeyDigest, digest)
  const isOld = sameDigest(record?.oldDigest ?? unknownKeyDigest, digest)
  const expiresAtMs = record?.expiresAtMs ?? Number.POSITIVE_INFINITY
  return isNew ? expiresAtMs : isOld ? Math.min(expiresAtMs, record?.oldSecretUntilMs ?? 0) : 0
}
