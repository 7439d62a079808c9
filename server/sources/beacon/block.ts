// What a block says that validator ratings need, whichever way it was sent. Roots are lower-case 0x text.
import type { Fork } from './consensus.ts'

export interface Attestation {
  readonly slot: number
  /** Committee, before Electra. */
  readonly index: number
  readonly blockRoot: string
  readonly targetEpoch: number
  readonly targetRoot: string
  /** One bit per member; the highest bit set marks the end. */
  readonly bits: Uint8Array
  /** Since Electra: the committees whose members follow each other in `bits`. */
  readonly committeeBits?: Uint8Array | undefined
}

export interface Withdrawal {
  readonly validator: number
  /** Gwei. */
  readonly amount: number
}

export interface Payload {
  readonly number: number
  readonly hash: string
  readonly feeRecipient: string
  readonly transactions: number
  readonly withdrawals: readonly Withdrawal[]
}

export interface Block {
  readonly fork: Fork
  readonly slot: number
  readonly proposer: number
  /** Computed from all of the block's bytes, never taken from an answer. */
  readonly root: string
  readonly parentRoot: string
  readonly attestations: readonly Attestation[]
  /** One bit per seat of the sync committee. */
  readonly syncBits: Uint8Array
  readonly proposerSlashings: readonly number[]
  /** Of each: the validators that both votes name, in rising order. */
  readonly attesterSlashings: readonly (readonly number[])[]
  /** Deposits that the block carries itself: key and gwei. Since Electra they wait in a queue of the state. */
  readonly deposits: readonly { readonly pubkey: string; readonly amount: number }[]
  /** None before the merge. */
  readonly payload?: Payload | undefined
}

const zeroHash = `0x${'0'.repeat(64)}`

/** Before the merge, payloads are there and say nothing. */
export const payloadOf = (payload: Payload): Payload | undefined => (payload.hash === zeroHash ? undefined : payload)

/** The validators in both lists; a slashing proves only those guilty. */
export function inBoth(first: readonly number[], second: readonly number[]): number[] {
  const others = new Set(second)
  return first.filter((index) => others.has(index)).sort((a, b) => a - b)
}

/** Members that the bits have room for. */
export function bitLength(bits: Uint8Array): number {
  const last = bits.length - 1
  const byte = bits[last] ?? 0
  return byte === 0 ? -1 : last * 8 + 31 - Math.clz32(byte)
}

export const hasBit = (bits: Uint8Array, at: number): boolean => (((bits[at >> 3] ?? 0) >> (at & 7)) & 1) === 1

/** Everyone that the block's slashings name. Whoever had been slashed before is not slashed again. */
export const slashedIn = (block: Block): number[] => [...block.proposerSlashings, ...block.attesterSlashings.flat()]
