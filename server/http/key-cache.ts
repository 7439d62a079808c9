// Finds and verifies keys. Verified keys are cached until this process notices that any process has changed a key. A
// revocation therefore takes effect with the next call on this server and, on SQLite, in every process; on other servers
// of a PostgreSQL database within a second (storage/state.ts, rules 3 and 15).
import { type Awaitable, whenReady } from '#core/awaitable.ts'
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

/** The function returns undefined for malformed, unknown, wrong, revoked and expired keys (behaviour/http.md#invalid-keys). */
export function createKeyFinder({ state, provenTime }: Pick<Context, 'state' | 'provenTime'>) {
  const revisions = cacheUntilVersionChanges<number>('keys')
  const readRevision = () => keyRevision(state)
  let knownRevision = Number.NaN
  /** By the text of the key (decisions/hash-keys-with-one-sha-256.md). */
  let verified = new Map<string, VerifiedKey>()

  function findAt(revision: number, text: string): Awaitable<KeyRecord | undefined> {
    if (revision !== knownRevision) [knownRevision, verified] = [revision, new Map()]
    const known = verified.get(text)
    if (known && provenTime.forKeys() < known.validUntilMs) return known.record
    const parts = splitKey(text)
    return parts && verify(parts, text, verified)
  }

  /** `keys` is the map at the start of the lookup. If it was replaced meanwhile, the key is not cached. */
  async function verify(parts: KeyParts, text: string, keys: Map<string, VerifiedKey>): Promise<KeyRecord | undefined> {
    const record = await findKey(state, parts.id)
    const validUntilMs = findSecretEndMs(record, digestOf(parts))
    if (!record || record.revokedAtMs !== undefined || provenTime.forKeys() >= validUntilMs) return undefined
    keys.set(text, { record, validUntilMs })
    const [oldest] = keys.keys()
    if (keys.size > keysMax && oldest !== undefined) keys.delete(oldest)
    return record
  }

  // The revision is read before the record, so that the next call notices a change in between.
  return (text: string): Awaitable<KeyRecord | undefined> =>
    whenReady(revisions(state, 'keys', readRevision), (revision) => findAt(revision, text))
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
