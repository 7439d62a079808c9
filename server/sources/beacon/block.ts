// The fields of a beacon block that validator ratings need. Roots are lower-case 0x text.
import type { Fork } from './consensus.ts'

export interface Attestation {
  readonly slot: number
  /** Committee, before Electra. */
  readonly index: number
  readonly blockRoot: string
  readonly targetEpoch: number
  readonly targetRoot: string
  /** One bit per committee member; the highest set bit marks the length. */
  readonly bits: Uint8Array
  /** Since Electra: the committees whose members are concatenated in `bits`. */
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
  readonly baseFeeWei: bigint
  readonly transactions: number
  /** The last three, encoded. One of them may be the payment of a builder. */
  readonly lastTransactions: readonly Uint8Array[]
  /** The RANDAO mix before this block. The chain verifies it. */
  readonly prevRandao: Uint8Array
  readonly withdrawals: readonly Withdrawal[]
}

export interface Block {
  readonly fork: Fork
  readonly slot: number
  readonly proposer: number
  /** Computed from all bytes of the block, never copied from a response. */
  readonly root: string
  readonly parentRoot: string
  readonly attestations: readonly Attestation[]
  /** One bit per seat of the sync committee. */
  readonly syncBits: Uint8Array
  readonly proposerSlashings: readonly number[]
  /** For each slashing: the validators in both attestations, in ascending order. */
  readonly attesterSlashings: readonly (readonly number[])[]
  /** Deposits in the block, amounts in gwei. Since Electra, deposits are in a queue of the state instead. */
  readonly deposits: readonly { readonly pubkey: string; readonly amount: number }[]
  /** Undefined before the merge. */
  readonly payload?: Payload | undefined
  /** Validators that exit voluntarily. */
  readonly exits: readonly number[]
  /** Validators whose BLS credentials become an address. */
  readonly credentialsChanges: readonly number[]
  /** Since Electra: requests of the execution layer, as concatenated SSZ records. */
  readonly requests?: Readonly<Record<'deposits' | 'withdrawals' | 'consolidations', Uint8Array>> | undefined
}

const zeroHash = `0x${'0'.repeat(64)}`

/** Before the merge, blocks have an empty payload with a zero hash. */
export const payloadOf = (payload: Payload): Payload | undefined => (payload.hash === zeroHash ? undefined : payload)

/** The validators in both lists. A slashing only affects validators in both attestations. */
export function inBoth(first: readonly number[], second: readonly number[]): number[] {
  const others = new Set(second)
  return first.filter((index) => others.has(index)).sort((a, b) => a - b)
}

/** The number of committee members in a bit list, without the end marker. */
export function bitLength(bits: Uint8Array): number {
  const last = bits.length - 1
  const byte = bits[last] ?? 0
  return byte === 0 ? -1 : last * 8 + 31 - Math.clz32(byte)
}

export const hasBit = (bits: Uint8Array, at: number): boolean => (((bits[at >> 3] ?? 0) >> (at & 7)) & 1) === 1

/** All validators in the slashings of the block, including those that were already slashed. */
export const slashedIn = (block: Block): number[] => [...block.proposerSlashings, ...block.attesterSlashings.flat()]
