// The withdrawal credentials of validators while a chain is replayed. Snapshots share them until they change.
import { View } from '#sources/beacon/ssz.ts'
import { credentialsSize } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'

export const credentialsType = { address: 1, compounding: 2 } as const

export class ReplayedCredentials {
  readonly #after: Uint8Array
  #credentials: Uint8Array
  /** A snapshot has the same bytes, so they must be copied before they change. */
  #areShared = false

  /** With those of validators that are created later. */
  constructor(before: Validators, after: Validators) {
    this.#after = after.credentials
    this.#credentials = after.credentials.slice()
    this.#credentials.set(before.credentials)
  }

  first(count: number): Uint8Array {
    return this.#credentials.subarray(0, count * credentialsSize)
  }

  of(index: number): Uint8Array {
    return this.#credentials.subarray(index * credentialsSize, (index + 1) * credentialsSize)
  }

  typeOf(index: number): number {
    return this.#credentials[index * credentialsSize] as number
  }

  hasAddress(index: number): boolean {
    return this.typeOf(index) === credentialsType.address || this.typeOf(index) === credentialsType.compounding
  }

  /** `address`: lower-case 0x text. */
  isOwnedBy(index: number, address: string): boolean {
    return this.hasAddress(index) && new View(this.of(index)).hex(12, 20) === address
  }

  share(): void {
    this.#areShared = true
  }

  /** The address comes from the later state. */
  change(index: number, type: number): void {
    if (this.#areShared) this.#credentials = this.#credentials.slice()
    this.#areShared = false
    const at = index * credentialsSize
    this.#credentials.set(this.#after.subarray(at, at + credentialsSize), at)
    this.#credentials[at] = type
  }
}
