// Looks a shown key up. A key that has been verified stays in memory for as long as nothing at all was committed to the
// store since, by any process: a revocation holds from the next call on, and the usual call reads nothing.
import { digestOf, type KeyParts, nobodysDigest, sameDigest } from '#core/key.ts'
import { findKey, type KeyRecord } from '#store/keys.ts'
import type { Desk } from './answer.ts'

const keysMax = 10_000

export class Keyring {
  readonly #desk: Desk
  readonly #verified = new Map<string, { readonly version: number; readonly record: KeyRecord }>()

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** The record of a key that is good now. Why one is not good stays in here (decision 0007). */
  async find(shown: KeyParts): Promise<KeyRecord | undefined> {
    const { state, clock } = this.#desk
    // Read before the record: if somebody commits in between, the record is taken for older than it is.
    const version = state.version()
    const kept = this.#verified.get(shown.id)
    const record = kept?.version === version ? kept.record : await findKey(state, shown.id)
    const same = sameDigest(record?.digest ?? nobodysDigest, digestOf(shown))
    if (!record || !same || record.revokedAtMs !== undefined) return undefined
    if (record.expiresAtMs !== undefined && record.expiresAtMs <= clock.now()) return undefined
    if (record !== kept?.record) this.#keep(version, record)
    return record
  }

  #keep(version: number, record: KeyRecord): void {
    this.#verified.delete(record.id)
    this.#verified.set(record.id, { version, record })
    const [oldest] = this.#verified.keys()
    if (this.#verified.size > keysMax && oldest !== undefined) this.#verified.delete(oldest)
  }
}
