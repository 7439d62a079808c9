// Validates and decodes results that can be large: blocks, traces and receipts. A `ResultKind` is plain data, so that
// it can be passed to the decoder thread. Pure.
import {
  type AccountBalances,
  isAmsterdam,
  type LoggedBlock,
  toAccountBalances,
  toAmsterdamHeader,
  validateAccessList,
  verifyHeaderHash,
} from './amsterdam.ts'
import { toLoggedTransfers } from './logged-receipts.ts'
import { flatTransfers, nestedTransfers } from './trace-transfers.ts'
import type { Block, CallFrame, FlatTrace, Header, Receipt, TraceTransfer } from './types.ts'
import {
  lower,
  type TracedBlock,
  type TracedTransaction,
  validateFlatTraces,
  validateHeader,
  validateReceipt,
  validateReceipts,
  validateTransactions,
} from './validate.ts'
import { type NestedTrace, validateFrame, validateNestedTraces } from './validate-frames.ts'

export type ResultKind =
  /** `verifiesHeader`: after the Amsterdam fork, the header must have the hash of the block. */
  | { readonly as: 'block'; readonly number: number; readonly verifiesHeader?: boolean }
  | { readonly as: 'flat' | 'nested' | 'receipts'; readonly block: TracedBlock }
  | { readonly as: 'logs'; readonly block: LoggedBlock }
  | { readonly as: 'accessList'; readonly hash: string }
  | { readonly as: 'frame'; readonly transaction: TracedTransaction }
  | { readonly as: 'receipt'; readonly block: TracedBlock; readonly hash: string }

/** Whether the result covers a whole block, which may be megabytes. */
export const isWholeBlock = ({ as }: ResultKind): boolean => as !== 'frame' && as !== 'receipt'

/** A transaction that the node could not trace, with its error text. */
export interface Untraced {
  readonly error: string
}

/** The decoded result of each kind. */
export interface DecodedResults {
  readonly block: Block
  /** For each transaction of the block. */
  readonly flat: readonly (readonly TraceTransfer[])[]
  readonly nested: readonly (readonly TraceTransfer[] | Untraced)[]
  readonly frame: readonly TraceTransfer[]
  readonly logs: readonly (readonly TraceTransfer[])[]
  readonly accessList: readonly AccountBalances[]
  readonly receipts: readonly Receipt[]
  readonly receipt: Receipt
}

export type ReadResult = { readonly value: DecodedResults[ResultKind['as']] } | { readonly problem: string }

export function readResult(kind: ResultKind, raw: unknown): ReadResult {
  if (kind.as === 'logs') {
    const transfers = toLoggedTransfers(raw, kind.block)
    return typeof transfers === 'string' ? { problem: transfers } : { value: transfers }
  }
  const problem = validateResult(kind, raw)
  if (problem !== undefined) return { problem }
  try {
    return { value: decodeResult(kind, raw) }
  } catch (error) {
    return { problem: `cannot be decoded: ${(error as Error).message}` }
  }
}

type PlainKind = Exclude<ResultKind, { readonly as: 'logs' }>

/** Returns a problem of the result, or undefined. */
function validateResult(kind: PlainKind, raw: unknown): string | undefined {
  switch (kind.as) {
    case 'block':
      return (
        validateHeader(raw, kind.number) ??
        validateTransactions(raw) ??
        (kind.verifiesHeader && isAmsterdam(raw) && verifyHeaderHash(raw) === 'wrong'
          ? 'the header does not have the hash of the block'
          : undefined)
      )
    case 'flat':
      return validateFlatTraces(raw, kind.block)
    case 'nested':
      return validateNestedTraces(raw, kind.block)
    case 'frame':
      return validateFrame(raw, kind.transaction)
    case 'accessList':
      return validateAccessList(raw, kind.hash)
    case 'receipts':
      return validateReceipts(raw, kind.block)
    case 'receipt':
      return validateReceipt(raw, kind.block, kind.hash)
  }
}

export function decodeResult(kind: PlainKind, raw: unknown): DecodedResults[ResultKind['as']] {
  switch (kind.as) {
    case 'block':
      return toBlock(raw)
    case 'flat': {
      const traces = Map.groupBy(raw as FlatTrace[], ({ transactionHash }) => lower(transactionHash))
      return kind.block.transactions.map(({ hash }) => flatTransfers(traces.get(hash) ?? []))
    }
    case 'nested':
      return (raw as NestedTrace[]).map(({ result, error }) =>
        result ? nestedTransfers(result) : { error: errorTextOf(error) },
      )
    case 'frame':
      return nestedTransfers(raw as CallFrame)
    case 'accessList':
      return toAccountBalances(raw)
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

const isObject = (item: unknown): boolean => typeof item === 'object' && item !== null

function toBlock(raw: unknown): Block {
  const { miner, transactions, withdrawals } = raw as {
    miner?: string
    transactions: (Record<string, string> & { authorizationList?: unknown })[]
    withdrawals?: { address: string; amount: string }[]
  }
  const amsterdam = toAmsterdamHeader(raw)
  return {
    ...toHeader(raw),
    ...(amsterdam && { amsterdam }),
    miner: lower(miner),
    transactions: transactions.map((tx) => ({
      hash: lower(tx.hash),
      index: Number(tx.transactionIndex),
      from: lower(tx.from),
      ...(tx.nonce && { nonce: BigInt(tx.nonce) }),
      to: tx.to ? lower(tx.to) : null,
      valueWei: BigInt(tx.value ?? 0),
      ...(Array.isArray(tx.authorizationList) && { authorizations: tx.authorizationList.filter(isObject) }),
    })),
    // Withdrawals are in gwei.
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
