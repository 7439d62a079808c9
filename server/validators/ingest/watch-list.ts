// Watch-list mode: which validators are kept. Names are indices, public keys and withdrawal addresses.
import { pubkeyOf, withdrawalAddressOf } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'

export interface WatchList {
  /** By validator; undefined: everyone. */
  kept(validators: Validators): Uint8Array | undefined
}

export function createWatchList(names: readonly string[]): WatchList {
  if (names.length === 0) return { kept: () => undefined }
  const indices = names.filter((name) => /^\d+$/.test(name)).map(Number)
  const keys = new ByteSet(names.filter((name) => name.length === 98))
  const addresses = new ByteSet(names.filter((name) => name.length === 42))
  return {
    kept(validators) {
      const kept = new Uint8Array(validators.count)
      for (const index of indices) if (index < validators.count) kept[index] = 1
      for (let index = 0; index < validators.count; index++) {
        const address = withdrawalAddressOf(validators, index)
        if (keys.has(pubkeyOf(validators, index)) || (address && addresses.has(address))) kept[index] = 1
      }
      return kept
    },
  }
}

/** Texts of bytes, looked up by their first four: a million look-ups must not make a million texts. */
class ByteSet {
  readonly #byStart = new Map<number, Set<string>>()

  constructor(names: readonly string[]) {
    for (const name of names) {
      const bytes = Buffer.from(name.slice(2), 'hex')
      const start = bytes.readUInt32LE(0)
      const same = this.#byStart.get(start) ?? new Set()
      this.#byStart.set(start, same.add(bytes.toString('hex')))
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
