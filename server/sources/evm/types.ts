// Types for chain data as read from nodes, after validation.
import type { AmsterdamHeader } from './amsterdam.ts'

/** Methods that return internal transfers, best first. */
export type TraceForm = 'trace_block' | 'debug_traceBlockByNumber' | 'debug_traceTransaction'

/** Methods that return receipts, for nodes without traces, best first. */
export type ReceiptForm = 'eth_getBlockReceipts' | 'eth_getTransactionReceipt'

export type ReadForm = TraceForm | ReceiptForm

export interface Header {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  readonly timeUnix: number
}

export interface Transaction {
  readonly hash: string
  readonly index: number
  readonly from: string
  /** Nonce of the sender; undefined if the node omits it. */
  readonly nonce?: bigint
  /** Null for a contract creation. */
  readonly to: string | null
  readonly valueWei: bigint
  /** As the node returns them, which may be malformed. */
  readonly authorizations?: readonly Authorization[]
}

/** One of EIP-7702, in quantities (authorizations.ts). */
export type Authorization = Readonly<Record<'chainId' | 'address' | 'nonce' | 'yParity' | 'r' | 's', string>>

export interface Block extends Header {
  /** Receives the block reward. */
  readonly miner: string
  readonly transactions: readonly Transaction[]
  readonly withdrawals: readonly { readonly address: string; readonly valueWei: bigint }[]
  /** Of a block after the Amsterdam fork. */
  readonly amsterdam?: AmsterdamHeader
}

/** One step of a transaction as `trace_block` lists it: all steps of all transactions in one list, parents first. */
export interface FlatTrace {
  readonly type: string
  readonly action: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>> | null
  readonly error?: string | null
  readonly traceAddress: readonly number[]
  /** The number of direct calls. */
  readonly subtraces?: number | null
  readonly transactionHash?: string | null
  /** The index of the transaction. */
  readonly transactionPosition?: number | null
  readonly blockHash?: string | null
  readonly blockNumber?: number | null
}

/** One step of a transaction as `callTracer` nests it. */
export interface CallFrame {
  readonly type: string
  readonly from: string
  readonly to?: string | null
  readonly value?: string | null
  readonly error?: string | null
  readonly calls?: readonly CallFrame[] | null
}

export interface Receipt {
  readonly transactionHash: string
  /** Undefined for old blocks, whose receipts have no status. */
  readonly succeeded: boolean | undefined
  readonly contractAddress: string | null
}

/** A transfer above zero by one step, to another account; `top` for the transaction itself. */
export interface TraceTransfer {
  readonly top: boolean
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
}

export type ExecutionData =
  /** The transfers of each transaction. `contradiction`: why its logs, which were read first, are not used. */
  | {
      readonly form: 'traced'
      readonly transfers: readonly (readonly TraceTransfer[])[]
      readonly contradiction?: string
    }
  /** The transfers of each transaction, from verified logs (amsterdam.ts). */
  | { readonly form: 'logs'; readonly transfers: readonly (readonly TraceTransfer[])[] }
  /** Without internal transfers. */
  | { readonly form: 'receipts'; readonly receipts: readonly Receipt[] }

export interface BlockWithExecution {
  readonly block: Block
  readonly execution: ExecutionData
}

export interface Account {
  readonly nonce: bigint
  readonly balanceWei: bigint
}

/** A step that trace_filter returned, with its block. */
export type TraceWithBlock = FlatTrace & { readonly blockNumber: number }
