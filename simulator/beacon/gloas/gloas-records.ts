// What simulated blocks and states have since Gloas. All of it is plain data.

/** Index of a builder. `self`: the proposer builds the payload, which has the index 2^64 − 1 on the wire. */
export type BuilderIndex = number | 'self'

export interface SimulatedBid {
  readonly slot: number
  readonly parentHash: string
  readonly parentRoot: string
  readonly blockHash: string
  readonly prevRandao: string
  readonly feeRecipient: string
  readonly builder: BuilderIndex
  /** Gwei that the chain takes from the builder. */
  readonly value: bigint
  /** Gwei that the builder promises to pay within the payload. */
  readonly executionPayment: bigint
  readonly requestsRoot: string
}

/** `full`: in time. `late`: too late for the next block. `withheld`: never published. */
export type PayloadDelivery = 'full' | 'late' | 'withheld'

/** The requests of one payload. `sender`: an address. */
export interface SimulatedRequests {
  readonly deposits: readonly {
    readonly pubkey: string
    readonly credentials: string
    readonly gwei: bigint
    /** The sender of the transaction. It is not part of the request. */
    readonly from: string
  }[]
  /** Zero gwei: an exit. */
  readonly withdrawals: readonly { readonly sender: string; readonly pubkey: string; readonly gwei: bigint }[]
  /** The same key twice: a switch to compounding credentials. */
  readonly consolidations: readonly { readonly sender: string; readonly source: string; readonly target: string }[]
  readonly builderDeposits: readonly { readonly pubkey: string; readonly credentials: string; readonly gwei: bigint }[]
  readonly builderExits: readonly { readonly sender: string; readonly pubkey: string }[]
}

export const noRequests: SimulatedRequests = {
  ...{ deposits: [], withdrawals: [], consolidations: [], builderDeposits: [], builderExits: [] },
}

/** The votes of the payload committee with the same content. */
export interface SimulatedPayloadVotes {
  readonly blockRoot: string
  readonly slot: number
  readonly isPresent: boolean
  readonly hasBlobs: boolean
  /** By seat. */
  readonly bits: readonly boolean[]
}

/** A withdrawal that the payload of a block must contain. */
export interface SimulatedWithdrawal {
  /** Zero before Gloas, where ingest does not need it. */
  readonly index: number
  /** Index of a validator, or of a builder. */
  readonly validator: number
  readonly isBuilder?: boolean
  readonly address: string
  readonly amount: bigint
}

/** What a block has since Gloas. Its payload and withdrawals are in the envelope. */
export interface GloasParts {
  readonly bid: SimulatedBid
  readonly delivery: PayloadDelivery
  /** The payload of the parent is part of the chain. */
  readonly isParentFull: boolean
  /** Requests of the parent's payload, which take effect with this block. */
  readonly parentRequests: SimulatedRequests
  /** Requests of its own payload. */
  readonly requests: SimulatedRequests
  readonly payloadVotes: readonly SimulatedPayloadVotes[]
  readonly exits: readonly number[]
  /** Validators whose BLS credentials become an address. */
  readonly credentialsChanges: readonly { readonly validator: number; readonly address: string }[]
}

export interface SimulatedBuilder {
  readonly pubkey: string
  readonly address: string
  balance: bigint
  readonly depositEpoch: number
  /** Infinity: it has not asked to exit. */
  withdrawable: number
}

/** What a builder owes to a proposer. */
export interface BuilderPayment {
  readonly recipient: string
  readonly gwei: bigint
  readonly builder: number
}

/** The payment of a bid until it is settled. */
export interface PendingPayment extends BuilderPayment {
  readonly slot: number
  readonly proposer: number
  /** Gwei of the validators that voted for the block in its slot. */
  weight: bigint
}

export interface PartialWithdrawal {
  readonly validator: number
  readonly gwei: bigint
  readonly withdrawable: number
}
