// Watch-list mode: which validators are kept. Names are indices, public keys and withdrawal addresses.
import { credentialsSize, pubkeySize, type Validators } from '#io/beacon/validators.ts'

export interface WatchList {
  /** By validator; undefined: everyone. */
  kept(validators: Validators): Uint8Array | undefined
}

/** Credentials that name an address: its last twenty bytes. */
const addressKinds = new Set([1, 2])

export function watchListOf(names: readonly string[]): WatchList {
  if (names.length === 0) return { kept: () => undefined }
  const indices = names.filter((name) => /^\d+$/.test(name)).map(Number)
  const keys = new ByteSet(names.filter((name) => name.length === 98))
  const addresses = new ByteSet(names.filter((name) => name.length === 42))
  return {
    kept({ count, pubkeys, credentials }) {
      const kept = new Uint8Array(count)
      for (const index of indices) if (index < count) kept[index] = 1
      for (let index = 0; index < count; index++) {
        const at = index * credentialsSize
        const isAddress = addressKinds.has(credentials[at] as number) && addresses.has(credentials, at + 12, 20)
        if (isAddress || keys.has(pubkeys, index * pubkeySize, pubkeySize)) kept[index] = 1
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

  has(bytes: Uint8Array, at: number, size: number): boolean {
    if (this.#byStart.size === 0) return false
    const start =
      ((bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24)) >>>
      0
    return this.#byStart.get(start)?.has(Buffer.from(bytes.subarray(at, at + size)).toString('hex')) === true
  }
}
