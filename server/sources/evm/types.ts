// What is read of a chain, checked and typed: the words that asking (blocks.ts) and checking (wrong.ts) share.

/** How internal transfers can be had, best first. */
export type TraceForm = 'trace_block' | 'debug_traceBlockByNumber' | 'debug_traceTransaction'

/** How the outcomes of a block's transactions can be had where nothing can be traced, best first. */
export type ReceiptForm = 'eth_getBlockReceipts' | 'eth_getTransactionReceipt'

/** How a block is read, beside its transactions. */
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
  /** Of the sender; undefined where the node leaves it out. */
  readonly nonce?: bigint
  /** null: it creates a contract. */
  readonly to: string | null
  readonly valueWei: bigint
}

export interface Block extends Header {
  /** Who was paid for the block. */
  readonly miner: string
  readonly transactions: readonly Transaction[]
  readonly withdrawals: readonly { readonly address: string; readonly valueWei: bigint }[]
}

/** One step of a transaction as `trace_block` lists it: all steps of all transactions in one list, parents first. */
export interface FlatTrace {
  readonly type: string
  readonly action: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>> | null
  readonly error?: string | null
  readonly traceAddress: readonly number[]
  /** How many steps it called directly. */
  readonly subtraces?: number | null
  readonly transactionHash?: string | null
  readonly blockHash?: string | null
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
  /** undefined before the chain recorded it. */
  readonly succeeded: boolean | undefined
  readonly contractAddress: string | null
}

/** What one step moved, which is never nothing; `top` for the transaction's own. */
export interface TraceTransfer {
  readonly top: boolean
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
}

export type ExecutionData =
  /** For each transaction what its steps moved. */
  | { readonly form: 'traced'; readonly transfers: readonly (readonly TraceTransfer[])[] }
  /** Internal transfers are not seen. */
  | { readonly form: 'receipts'; readonly receipts: readonly Receipt[] }

export interface BlockWithExecution {
  readonly block: Block
  readonly execution: ExecutionData
}

export interface Account {
  readonly nonce: bigint
  readonly balanceWei: bigint
}

/** A step that the node's own index of traces found, with its block. */
export type TraceWithBlock = FlatTrace & { readonly blockNumber: number }
