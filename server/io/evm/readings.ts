// The answers that can be large, blocks and traces: checked, and cut down to what is needed of them. A reading says in plain data how an
// answer is to be read, so that it can be sent to another thread with the answer (decoder.ts). Pure.
import { flatMoves, nestedMoves } from './moves.ts'
import type { Block, CallFrame, FlatTrace, Header, Move, Receipt } from './shapes.ts'
import {
  lower,
  type NestedTrace,
  type TracedBlock,
  wrongBody,
  wrongFlat,
  wrongFrame,
  wrongHeader,
  wrongNested,
  wrongReceipt,
  wrongReceipts,
} from './wrong.ts'

export type Reading =
  | { readonly as: 'block'; readonly number: number }
  | { readonly as: 'flat' | 'nested' | 'receipts'; readonly block: TracedBlock }
  | { readonly as: 'frame' }
  | { readonly as: 'receipt'; readonly block: TracedBlock; readonly hash: string }

/** Whether the answer is a whole block's, which may be megabytes. */
export const isWhole = ({ as }: Reading): boolean => as !== 'frame' && as !== 'receipt'

/** A transaction that the node could not trace, with its error text. */
export interface Untraced {
  readonly error: string
}

/** What each reading makes of an answer. */
export interface Read {
  readonly block: Block
  /** For each transaction of the block. */
  readonly flat: readonly (readonly Move[])[]
  readonly nested: readonly (readonly Move[] | Untraced)[]
  readonly frame: readonly Move[]
  readonly receipts: readonly Receipt[]
  readonly receipt: Receipt
}

/** What is wrong with the answer, in words; undefined when it can be read. */
export function wrongWith(reading: Reading, raw: unknown): string | undefined {
  switch (reading.as) {
    case 'block':
      return wrongHeader(raw, reading.number) ?? wrongBody(raw)
    case 'flat':
      return wrongFlat(raw, reading.block)
    case 'nested':
      return wrongNested(raw, reading.block)
    case 'frame':
      return wrongFrame(raw)
    case 'receipts':
      return wrongReceipts(raw, reading.block)
    case 'receipt':
      return wrongReceipt(raw, reading.block, reading.hash)
  }
}

export function readAs(reading: Reading, raw: unknown): Read[Reading['as']] {
  switch (reading.as) {
    case 'block':
      return toBlock(raw)
    case 'flat': {
      const traces = Map.groupBy(raw as FlatTrace[], (one) => lower(one.transactionHash))
      return reading.block.transactions.map(({ hash }) => flatMoves(traces.get(hash) ?? []))
    }
    case 'nested':
      return (raw as NestedTrace[]).map(({ result, error }) =>
        result ? nestedMoves(result) : { error: errorTextOf(error) },
      )
    case 'frame':
      return nestedMoves(raw as CallFrame)
    case 'receipts':
      return (raw as unknown[]).map(toReceipt)
    case 'receipt':
      return toReceipt(raw)
  }
}

const errorTextMax = 300

const errorTextOf = (error: unknown): string => {
  const { message } = (typeof error === 'object' && error !== null ? error : { message: error }) as { message: unknown }
  return String(message).slice(0, errorTextMax)
}

export function toHeader(raw: unknown): Header {
  const { number, hash, parentHash, timestamp } = raw as Record<string, string>
  return {
    number: Number(number),
    hash: lower(hash),
    parentHash: lower(parentHash),
    timeUnix: Number(timestamp),
  }
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
      ...(tx.nonce && { nonce: BigInt(tx.nonce) }),
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
