// Blocks, accounts and traces as the nodes tell them, checked and typed. A block whose transactions and traces do not
// belong together is asked for again, and never handed on.
import { Fault } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import type { AskOptions, Rpc, RpcCall } from './rpc.ts'
import {
  isPlaced,
  lower,
  wrongBody,
  wrongFlat,
  wrongFrame,
  wrongHeader,
  wrongNested,
  wrongQuantity,
  wrongReceipt,
} from './wrong.ts'

/** How internal transfers can be had, best first. */
export type TraceForm = 'trace_block' | 'debug_traceBlockByNumber' | 'debug_traceTransaction'

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
  readonly error?: string
  readonly traceAddress: readonly number[]
  /** How many steps it called directly. */
  readonly subtraces?: number
  readonly transactionHash?: string | null
  readonly blockHash?: string
}

/** One step of a transaction as `callTracer` nests it. */
export interface CallFrame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly value?: string
  readonly error?: string
  readonly calls?: readonly CallFrame[]
}

export interface Receipt {
  readonly transactionHash: string
  /** undefined before the chain recorded it. */
  readonly succeeded: boolean | undefined
  readonly contractAddress: string | null
}

export type Insight =
  | { readonly form: 'flat'; readonly traces: readonly FlatTrace[] }
  | { readonly form: 'nested'; readonly frames: readonly CallFrame[] }
  /** Internal transfers are not seen. */
  | { readonly form: 'receipts'; readonly receipts: readonly Receipt[] }

export interface SeenBlock {
  readonly block: Block
  readonly insight: Insight
}

export interface Account {
  readonly nonce: bigint
  readonly balanceWei: bigint
}

export const hexOf = (value: number): string => `0x${value.toString(16)}`

export function headerCall(at: number | 'latest' | 'finalized'): RpcCall {
  const tag = typeof at === 'number' ? hexOf(at) : at
  return { method: 'eth_getBlockByNumber', params: [tag, false], wrong: (raw) => wrongHeader(raw, at) }
}

export const accountCalls = (address: string, block: number): readonly RpcCall[] => [
  { method: 'eth_getTransactionCount', params: [address, hexOf(block)], wrong: wrongQuantity },
  { method: 'eth_getBalance', params: [address, hexOf(block)], wrong: wrongQuantity },
]

export const codeCall = (address: string, block: number): RpcCall => ({
  method: 'eth_getCode',
  params: [address, hexOf(block)],
  wrong: (raw) => (typeof raw === 'string' && /^0x[0-9a-f]*$/i.test(raw) ? undefined : 'not bytes'),
})

/** Steps of transactions in [from, until) that ended at the address, oldest first, from the n-th on. */
export const filterCall = (address: string, { from, until }: Range, after: number): RpcCall => ({
  method: 'trace_filter',
  params: [{ fromBlock: hexOf(from), toBlock: hexOf(until - 1), toAddress: [address], after, count: filteredMax }],
  wrong: (raw) => (Array.isArray(raw) && raw.every(isPlaced) ? undefined : 'no list of traces'),
})

/** As many are asked for at once; fewer in an answer mean that there are no more. */
export const filteredMax = 200

export type PlacedTrace = FlatTrace & { readonly blockNumber: number }

export function toHeader(raw: unknown): Header {
  const { number, hash, parentHash, timestamp } = raw as Record<string, string>
  return {
    number: Number(number),
    hash: lower(hash),
    parentHash: lower(parentHash),
    timeUnix: Number(timestamp),
  }
}

export const toAccount = (nonce: unknown, balance: unknown): Account => ({
  nonce: BigInt(nonce as string),
  balanceWei: BigInt(balance as string),
})

/** The blocks in the order of the numbers, with what is needed to find their transfers. */
export async function readBlocks(
  rpc: Rpc,
  form: TraceForm | undefined,
  numbers: readonly number[],
  options: AskOptions = {},
): Promise<SeenBlock[]> {
  const raw = await rpc.results(
    numbers.map((number) => ({
      method: 'eth_getBlockByNumber',
      params: [hexOf(number), true],
      wrong: (raw: unknown) => wrongHeader(raw, number) ?? wrongBody(raw),
    })),
    options,
  )
  const blocks = raw.map(toBlock)
  const questions = blocks.map((block) => insightCalls(block, form))
  const answers = await rpc.results(questions.flat(), options)
  const seen: SeenBlock[] = []
  let from = 0
  for (const [at, block] of blocks.entries()) {
    const until = from + (questions[at]?.length ?? 0)
    seen.push({ block, insight: insightOf(block, form, answers.slice(from, until)) })
    from = until
  }
  return seen
}

/** A block without transactions has nothing to trace; some nodes even refuse to try with the first one. */
function insightCalls(block: Block, form: TraceForm | undefined): RpcCall[] {
  if (block.transactions.length === 0) return []
  const tracer = { tracer: 'callTracer' }
  switch (form) {
    case 'trace_block':
      return [{ method: form, params: [hexOf(block.number)], wrong: (raw) => wrongFlat(raw, block) }]
    case 'debug_traceBlockByNumber':
      return [{ method: form, params: [hexOf(block.number), tracer], wrong: (raw) => wrongNested(raw, block) }]
    case 'debug_traceTransaction':
      return block.transactions.map(({ hash }) => ({ method: form, params: [hash, tracer], wrong: wrongFrame }))
    case undefined:
      return block.transactions.map(({ hash }) => ({
        method: 'eth_getTransactionReceipt',
        params: [hash],
        wrong: (raw) => wrongReceipt(raw, block, hash),
      }))
  }
}

function insightOf(block: Block, form: TraceForm | undefined, answers: readonly unknown[]): Insight {
  if (form === undefined) return { form: 'receipts', receipts: answers.map(toReceipt) }
  if (form === 'trace_block') return { form: 'flat', traces: (answers[0] as FlatTrace[] | undefined) ?? [] }
  const results =
    form === 'debug_traceTransaction'
      ? answers
      : ((answers[0] ?? []) as { result: unknown }[]).map(({ result }) => result)
  if (results.length !== block.transactions.length) {
    throw new Fault('explorer.node_unavailable', { detail: `block ${block.number}: not every transaction has a trace` })
  }
  return { form: 'nested', frames: results as CallFrame[] }
}

function toBlock(raw: unknown): Block {
  const { miner, transactions, withdrawals } = raw as {
    miner?: string
    transactions: Record<string, string>[]
    withdrawals?: { address: string; amount: string }[]
  }
  return {
    ...toHeader(raw),
    miner: lower(miner),
    transactions: transactions.map((tx) => ({
      hash: lower(tx.hash),
      index: Number(tx.transactionIndex),
      from: lower(tx.from),
      to: tx.to ? lower(tx.to) : null,
      valueWei: BigInt(tx.value ?? 0),
    })),
    // The consensus layer counts in gwei.
    withdrawals: (withdrawals ?? []).map(({ address, amount }) => ({
      address: lower(address),
      valueWei: BigInt(amount) * 1_000_000_000n,
    })),
  }
}

const toReceipt = (raw: unknown): Receipt => {
  const { transactionHash, status, contractAddress } = raw as Record<string, string | null | undefined>
  return {
    transactionHash: lower(transactionHash),
    succeeded: status === undefined || status === null ? undefined : Number(status) === 1,
    contractAddress: contractAddress ? lower(contractAddress) : null,
  }
}
