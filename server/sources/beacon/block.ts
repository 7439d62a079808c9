// The fields of a beacon block that validator ratings need. Roots are lower-case 0x text.
import type { Fork } from './consensus.ts'

export interface Attestation {
  readonly slot: number
  /** Committee, before Electra. Since Gloas, whether the voter sees the payload of its block: 1, or 0. */
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

/** An execution payload: part of its block, and since Gloas of an envelope (envelope.ts). */
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
  /** Since Gloas: what is paid from the balances of builders. */
  readonly builderWithdrawals?: readonly BuilderWithdrawal[]
}

export interface BuilderWithdrawal {
  /** An index of its own, not that of a validator. */
  readonly builder: number
  /** Gwei. */
  readonly amount: number
}

/** Since Gloas: the commitment of a block to the payload of its slot, which comes separately or not at all. */
export interface Bid {
  /** The last payload of the chain: that of the parent block, or an earlier one (payload-status.ts). */
  readonly parentBlockHash: string
  readonly parentBlockRoot: string
  readonly blockHash: string
  /** The RANDAO mix before this block. The chain verifies it. */
  readonly prevRandao: Uint8Array
  /** The address of the proposer. */
  readonly feeRecipient: string
  readonly gasLimit: number
  /** Undefined: the proposer built the payload itself. */
  readonly builder: number | undefined
  readonly slot: number
  /** Gwei that the builder pays to the proposer from its balance. */
  readonly value: number
  /** Gwei that the builder promises to pay with a transaction. */
  readonly executionPayment: number
  readonly requestsRoot: string
}

/** Votes of the payload committee of the slot before about the payload of that slot. They are not rewarded. */
export interface PayloadAttestation {
  readonly slot: number
  readonly blockRoot: string
  /** Whether the voters had seen the payload in time. */
  readonly isPresent: boolean
  readonly hasBlobs: boolean
  /** One bit per seat. */
  readonly bits: Uint8Array
}

/** Requests of the execution layer, as concatenated SSZ records. */
export type ExecutionRequests = Readonly<Record<'deposits' | 'withdrawals' | 'consolidations', Uint8Array>> &
  /** Since Gloas. */
  Readonly<Partial<Record<'builderDeposits' | 'builderExits', Uint8Array>>>

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
  /** The slots that the proposers were slashed for, in the same order. */
  readonly slashedSlots?: readonly number[]
  /** For each slashing: the validators in both attestations, in ascending order. */
  readonly attesterSlashings: readonly (readonly number[])[]
  /** Deposits in the block, amounts in gwei. Since Electra, deposits are in a queue of the state instead. */
  readonly deposits: readonly { readonly pubkey: string; readonly amount: number }[]
  /** Undefined before the merge and since Gloas. */
  readonly payload?: Payload | undefined
  /** Validators that exit voluntarily. */
  readonly exits: readonly number[]
  /** Validators whose BLS credentials become an address. */
  readonly credentialsChanges: readonly number[]
  /** Since Electra: the requests that this block applies. They are of its own payload; since Gloas, of its parent's. */
  readonly requests?: ExecutionRequests | undefined
  /** Since Gloas. */
  readonly bid?: Bid | undefined
  /**
   * The first block since Gloas, in a slot whose bit of available payloads is that of slot 0. Applying the block sets that
   * bit, as if its parent were in slot 0. So its own payload counts as full for votes (SLOTS_PER_HISTORICAL_ROOT).
   */
  readonly sharesFirstPayloadBit?: boolean
  /** Since Gloas. */
  readonly payloadAttestations?: readonly PayloadAttestation[] | undefined
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
