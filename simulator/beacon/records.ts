// What acting leaves behind: one record for each epoch, of everything that can be asked of a node about it.

import { headerRoot } from '#sources/beacon/block-type.ts'
import type { Fork } from '#sources/beacon/consensus.ts'
import type { NetworkPlan } from './plan.ts'

export interface SimValidator {
  readonly pubkey: string
  /** Who paid for its first deposit. */
  readonly depositor: string
  credentials: string
  balance: bigint
  effective: bigint
  slashed: boolean
  eligible: number
  activation: number
  exit: number
  withdrawable: number
  score: bigint
  /** Bits: source, target, head. */
  previous: number
  current: number
}

export interface SimAttestation {
  readonly slot: number
  readonly committees: readonly number[]
  readonly bits: readonly boolean[]
  readonly head: string
  readonly targetEpoch: number
  readonly target: string
}

export interface SimTransaction {
  readonly hash: string
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
  readonly gasUsed: bigint
  /** What is paid beyond the base fee, by gas. */
  readonly tipWei: bigint
  readonly input: string
  /** A builder's to the proposer. */
  readonly isPayment: boolean
}

export interface SimPayload {
  readonly hash: string
  readonly number: number
  readonly feeRecipient: string
  readonly baseFeeWei: bigint
  readonly transactions: readonly SimTransaction[]
}

/** One payment into the deposit contract. */
export interface SimDeposit {
  readonly pubkey: string
  readonly credentials: string
  readonly gwei: bigint
  readonly from: string
  /** Of the execution side. */
  readonly block: number
}

export interface SimBlock {
  readonly fork: Fork
  readonly slot: number
  readonly proposer: number
  readonly root: string
  readonly parentRoot: string
  readonly attestations: readonly SimAttestation[]
  readonly syncBits: readonly boolean[]
  readonly proposerSlashings: readonly number[]
  readonly attesterSlashings: readonly { readonly first: readonly number[]; readonly second: readonly number[] }[]
  readonly deposits: readonly SimDeposit[]
  readonly withdrawals: readonly { readonly validator: number; readonly amount: bigint }[]
  readonly payload: SimPayload
  /** Gwei that its proposer got, by what for, and what each seat of the sync committee gained or lost. */
  readonly rewards: { readonly votes: bigint; readonly sync: bigint; readonly slashings: bigint; readonly seat: bigint }
}

export type Identity = Readonly<Pick<SimValidator, 'pubkey' | 'credentials' | 'depositor'>>

/** A deposit that waits for an epoch's end, since Electra. */
export interface SimPendingDeposit extends Identity {
  readonly gwei: bigint
  readonly slot: number
}

export interface Snapshot {
  readonly finalized: number
  readonly justified: number
  readonly validators: readonly Readonly<SimValidator>[]
  readonly queue: readonly SimPendingDeposit[]
  readonly consolidations: readonly { readonly from: number; readonly to: number }[]
}

/** What was paid for the votes of an epoch, in gwei. */
export type VotePay = Readonly<Record<'source' | 'target' | 'head' | 'inactivity', bigint>>

export interface EpochRecord {
  readonly epoch: number
  /** Members by (slot of the epoch) · committees + committee. */
  readonly committees: readonly (readonly number[])[]
  readonly proposers: readonly number[]
  /** By seat. */
  readonly sync: readonly number[]
  /** By slot. */
  readonly blocks: ReadonlyMap<number, SimBlock>
  /** By slot of the epoch, behind its block. */
  readonly states: readonly Snapshot[]
  /** For the votes of the epoch two before this one, which are paid when this one begins; by validator. */
  readonly paid: ReadonlyMap<number, VotePay>
  /** All up to the end of this epoch, in the order in which they were made. */
  readonly deposits: readonly SimDeposit[]
}

/** Something that a node can be about. */
export interface SimNetwork {
  readonly seed: string
  readonly plan: NetworkPlan
  readonly genesisUnix: number
  /** The newest slot that anything is known of. */
  readonly headSlot: number
  /** Undefined: not acted out (yet). */
  epoch(epoch: number): EpochRecord | undefined | Promise<EpochRecord | undefined>
}

const zeroRoot = `0x${'00'.repeat(32)}`
/** Nobody proposed it. */
export const genesisHeader = {
  slot: '0',
  proposer_index: '0',
  parent_root: zeroRoot,
  state_root: zeroRoot,
  body_root: zeroRoot,
}
export const genesisRoot = headerRoot(genesisHeader)
