// Selects the validators of a watch list. Its entries are indices, public keys and withdrawal addresses.
import { pubkeyOf, withdrawalAddressOf } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'

/** Returns 1 for each validator to store; undefined: store all. */
export type SelectWatched = (validators: Validators) => Uint8Array | undefined

export function createWatchList(names: readonly string[]): SelectWatched {
  if (names.length === 0) return () => undefined
  const indices = names.filter((name) => /^\d+$/.test(name)).map(Number)
  const keys = new ByteSet(names.filter((name) => name.length === 98))
  const addresses = new ByteSet(names.filter((name) => name.length === 42))
  return (validators) => {
    const kept = new Uint8Array(validators.count)
    for (const index of indices) if (index < validators.count) kept[index] = 1
    for (let index = 0; index < validators.count; index++) {
      const address = withdrawalAddressOf(validators, index)
      if (keys.has(pubkeyOf(validators, index)) || (address && addresses.has(address))) kept[index] = 1
    }
    return kept
  }
}

/** A set of byte strings, indexed by their first four bytes: a million lookups must not create a million strings. */
class ByteSet {
  readonly #byStart = new Map<number, Set<string>>()

  constructor(names: readonly string[]) {
    for (const name of names) {
      const bytes = Buffer.from(name.slice(2), 'hex')
      const start = bytes.readUInt32LE(0)
      this.#byStart.getOrInsertComputed(start, () => new Set()).add(bytes.toString('hex'))
    }
  }

  has(bytes: Uint8Array): boolean {
    if (this.#byStart.size === 0) return false
    const start =
      ((bytes[0] as number) |
        ((bytes[1] as number) << 8) |
        ((bytes[2] as number) << 16) |
        ((bytes[3] as number) << 24)) >>>
      0
    return this.#byStart.get(start)?.has(Buffer.from(bytes).toString('hex')) === true
  }
}
