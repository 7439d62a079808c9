// The results of a simulation: one record per epoch with everything that a node can return about it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Block } from '#sources/beacon/block.ts'
import { headerRoot } from '#sources/beacon/block-type.ts'
import type { GloasParts, SimulatedWithdrawal } from './gloas/gloas-records.ts'
import type { GloasState } from './gloas/gloas-state.ts'
import type { NetworkPlan } from './plan.ts'

export interface SimulatedValidator {
  readonly pubkey: string
  /** Sender of its first deposit. */
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
  /** Timely flags of the previous and the current epoch. Bits: source, target, head. */
  previous: number
  current: number
}

export interface SimulatedAttestation {
  readonly slot: number
  readonly committees: readonly number[]
  /** Since Gloas: 1 if the voter has seen the payload of an earlier block. */
  readonly index: number
  readonly bits: readonly boolean[]
  readonly head: string
  readonly targetEpoch: number
  readonly target: string
}

export interface SimulatedTransaction {
  readonly hash: string
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
  readonly gasUsed: bigint
  /** Priority fee per gas. */
  readonly tipWei: bigint
  readonly input: string
  /** A payment from a builder to the proposer. */
  readonly isPayment: boolean
}

export interface SimulatedPayload {
  readonly hash: string
  readonly number: number
  readonly feeRecipient: string
  readonly baseFeeWei: bigint
  /** The RANDAO mix before the block; zero if duties are not derived. */
  readonly prevRandao: string
  readonly transactions: readonly SimulatedTransaction[]
}

/** One payment into the deposit contract. */
export interface SimulatedDeposit {
  readonly pubkey: string
  readonly credentials: string
  readonly gwei: bigint
  readonly from: string
  /** Number of the execution block. */
  readonly block: number
}

export interface SimulatedBlock
  extends Pick<Block, 'fork' | 'slot' | 'proposer' | 'root' | 'parentRoot' | 'proposerSlashings'> {
  readonly attestations: readonly SimulatedAttestation[]
  readonly syncBits: readonly boolean[]
  /** Since Gloas, for each proposer slashing: the slot of its two blocks. */
  readonly slashedSlots?: readonly number[]
  readonly attesterSlashings: readonly { readonly first: readonly number[]; readonly second: readonly number[] }[]
  readonly deposits: readonly SimulatedDeposit[]
  /** Since Gloas, what the chain expects in the payload. */
  readonly withdrawals: readonly SimulatedWithdrawal[]
  /** Since Gloas, it is not part of the block. */
  readonly payload: SimulatedPayload
  /** Undefined before Gloas. */
  readonly gloas?: GloasParts | undefined
  /** Gwei: the parts of the proposer reward, and the reward or penalty per sync committee seat. */
  readonly rewards: { readonly votes: bigint; readonly sync: bigint; readonly slashings: bigint; readonly seat: bigint }
}

export type Identity = Readonly<Pick<SimulatedValidator, 'pubkey' | 'credentials' | 'depositor'>>

/** A queued deposit, since Electra. */
export interface SimulatedPendingDeposit extends Identity {
  readonly gwei: bigint
  readonly slot: number
  /** The balance above 32 ETH of a validator that becomes compounding. */
  readonly isExcess?: boolean
}

export interface Snapshot {
  readonly finalized: number
  readonly justified: number
  readonly previousJustified: number
  /** Whether the last four epochs are justified, the latest first. */
  readonly justificationBits: readonly boolean[]
  /** Gwei of validators slashed in each epoch; index: epoch modulo the length. */
  readonly slashings: readonly bigint[]
  /** By seat. The next committee is known if duties are derived; otherwise it is the current one. */
  readonly syncCommittees: { readonly now: readonly number[]; readonly next: readonly number[] }
  /** By slot: the proposers of this epoch and, if duties are derived, of the next. */
  readonly lookahead: readonly number[]
  readonly validators: readonly Readonly<SimulatedValidator>[]
  readonly queue: readonly SimulatedPendingDeposit[]
  readonly consolidations: readonly { readonly from: number; readonly to: number }[]
  /** Since Gloas. */
  readonly gloas?: GloasSnapshot | undefined
}

export interface GloasSnapshot extends Readonly<GloasState> {
  /** Payload committees by slot: of the previous, the current and the next epoch. */
  readonly payloadCommittees: readonly (readonly number[])[]
  /** RANDAO mixes by epoch, if duties are derived. */
  readonly mixes: ReadonlyMap<number, string>
}

/** Rewards for the votes of an epoch, in gwei. */
export type VotePay = Readonly<Record<'source' | 'target' | 'head' | 'inactivity', bigint>>

export interface EpochRecord {
  readonly epoch: number
  /** Index: (slot within the epoch) · committeesPerSlot + committee. */
  readonly committees: readonly (readonly number[])[]
  readonly proposers: readonly number[]
  /** By seat. */
  readonly sync: readonly number[]
  /** Validators by slot and seat, since Gloas. */
  readonly payloadCommittees: readonly (readonly number[])[]
  /** By slot. */
  readonly blocks: ReadonlyMap<number, SimulatedBlock>
  /** By slot of the epoch, after its block. */
  readonly states: readonly Snapshot[]
  /** By validator: rewards for the votes of two epochs ago, which the chain pays at the start of this one. */
  readonly paid: ReadonlyMap<number, VotePay>
  /** All deposits up to the end of this epoch, in order. */
  readonly deposits: readonly SimulatedDeposit[]
}

/** A simulated network that a node can serve. */
export interface SimulatedNetwork {
  readonly plan: NetworkPlan
  readonly genesisUnix: number
  readonly headSlot: number
  /** Undefined: not simulated (yet). */
  epoch(epoch: number): EpochRecord | undefined | Promise<EpochRecord | undefined>
  /** Finds blocks that are or were canonical. A node of a network without this method does not accept block roots. */
  blockByRoot?(root: string): SimulatedBlock | undefined
  /** Responds to a request instead of the node, and returns true. Tests use it for event streams and failures. */
  intercept?(request: IncomingMessage, response: ServerResponse): boolean
}

export const zeroRoot = `0x${'00'.repeat(32)}`
export const genesisHeader = {
  slot: '0',
  proposer_index: '0',
  parent_root: zeroRoot,
  state_root: zeroRoot,
  body_root: zeroRoot,
}
export const genesisRoot = headerRoot(genesisHeader)
