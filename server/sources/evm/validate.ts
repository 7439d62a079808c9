// Validates results of nodes: each function returns a problem, or undefined. A block, its transactions and its traces
// must match and be complete. What a node states consistently is trusted (docs/security.md#trust-in-sources).
import { traceRecipient, traceSender } from './trace-transfers.ts'
import type { FlatTrace, TraceWithBlock, Transaction } from './types.ts'

/** What traces and receipts of a transaction must match. */
export type TracedTransaction = Omit<Transaction, 'nonce'>

/** The block that traces and receipts must match. */
export interface TracedBlock {
  readonly number: number
  readonly hash: string
  readonly transactions: readonly TracedTransaction[]
}

export const lower = (text: unknown): string => (typeof text === 'string' ? text.toLowerCase() : '')

const quantity = /^0x[0-9a-f]{1,64}$/i
const hashPattern = /^0x[0-9a-f]{64}$/i
const address = /^0x[0-9a-f]{40}$/i

const isText = (pattern: RegExp, value: unknown): value is string => typeof value === 'string' && pattern.test(value)
export const isQuantity = (value: unknown): value is string => isText(quantity, value)
const isSafeQuantity = (value: unknown): boolean => isQuantity(value) && Number.isSafeInteger(Number(value))
export const isAddress = (value: unknown): value is string => isText(address, value)
export const isMissing = (value: unknown): value is null | undefined => value === null || value === undefined

export const validateQuantity = (raw: unknown): string | undefined => (isQuantity(raw) ? undefined : 'not a number')

export function validateHeader(raw: unknown, expected: number | string): string | undefined {
  const { number, hash, parentHash, timestamp } = raw as Record<string, unknown>
  if (!isSafeQuantity(number) || !isSafeQuantity(timestamp)) return `block ${expected} is without number or time`
  if (!isText(hashPattern, hash) || !isText(hashPattern, parentHash))
    return `block ${expected} is without hash or parent`
  return typeof expected === 'number' && Number(number) !== expected
    ? `requested block ${expected}, got ${Number(number)}`
    : undefined
}

/** The `transactionsRoot` of a block without transactions. Some chains write zeros instead. */
const emptyRoots: ReadonlySet<string> = new Set([
  '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421',
  `0x${'0'.repeat(64)}`,
])

/** For a block that passed `validateHeader`. */
export function validateTransactions(raw: unknown): string | undefined {
  const { number, transactions, transactionsRoot, withdrawals, hash, miner } = raw as Record<string, unknown>
  if (!Array.isArray(transactions)) return 'a block without transactions'
  // The genesis block of a development chain may have any root.
  const isEmptyRoot = isMissing(transactionsRoot) || emptyRoots.has(lower(transactionsRoot)) || Number(number) === 0
  if (transactions.length === 0 && !isEmptyRoot) return 'the list of transactions is empty, but transactionsRoot is not'
  for (const [at, tx] of transactions.entries()) {
    if (
      !isText(hashPattern, tx?.hash) ||
      Number(tx.transactionIndex) !== at ||
      !isAddress(tx.from) ||
      !(isMissing(tx.to) || isAddress(tx.to)) ||
      !(isMissing(tx.nonce) || isQuantity(tx.nonce)) ||
      !isQuantity(tx.value)
    ) {
      return `transaction ${at} is incomplete`
    }
    if (!isMissing(tx.blockHash) && lower(tx.blockHash) !== lower(hash)) return `transaction ${at} is of another block`
  }
  if (!isMissing(miner) && !isAddress(miner)) return 'the miner is not an address'
  const isWithdrawal = (one: Record<string, unknown> | null) => isAddress(one?.address) && isQuantity(one.amount)
  if (!isMissing(withdrawals) && !(Array.isArray(withdrawals) && withdrawals.every(isWithdrawal)))
    return 'a withdrawal is incomplete'
  return undefined
}

/** Every transaction must have one top-level step, and every step must belong to this block. */
export function validateFlatTraces(raw: unknown, block: TracedBlock): string | undefined {
  if (!Array.isArray(raw)) return 'not a list of traces'
  const known = new Map(block.transactions.map((tx) => [tx.hash, tx]))
  const top = new Map<string, FlatTrace>()
  for (const trace of raw as FlatTrace[]) {
    const problem = validateFlatTrace(trace)
    if (problem !== undefined) return inTransaction(known.get(lower(trace?.transactionHash)), problem)
    if (!isOfBlock(trace, block)) return 'traces of another block'
    if (trace.type === 'reward') continue
    const hash = lower(trace.transactionHash)
    const tx = known.get(hash)
    if (!tx) return 'traces of a transaction that the block does not have'
    if ((trace.transactionPosition ?? tx.index) !== tx.index) return 'a trace is listed under another transaction'
    if (trace.traceAddress.length > 0) continue
    if (top.has(hash)) return 'a transaction has two traces'
    top.set(hash, trace)
  }
  for (const tx of block.transactions) {
    const trace = top.get(tx.hash)
    if (!trace) return `transaction ${tx.index} has no trace`
    const { from, value } = trace.action
    const problem = trace.error
      ? undefined
      : validateFirstStep(tx, from, trace.type === 'create' ? null : trace.action.to, value)
    if (problem !== undefined) return inTransaction(tx, problem)
  }
  return validateTraceTree(raw as FlatTrace[])
}

export const inTransaction = (tx: TracedTransaction | undefined, problem: string): string =>
  tx ? `transaction ${tx.index} (${tx.hash}): ${problem}` : problem

const isIndexList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((index) => Number.isSafeInteger(index) && index >= 0)

export const isError = (value: unknown): boolean => isMissing(value) || (typeof value === 'string' && value !== '')

const callTypes: readonly unknown[] = ['call', 'callcode', 'delegatecall', 'staticcall']

/** A step whose transfer cannot be read is rejected: skipping it would lose a funding. */
function validateFlatTrace(trace: FlatTrace | null): string | undefined {
  if (typeof trace?.action !== 'object' || trace.action === null || !isIndexList(trace.traceAddress))
    return 'a trace is incomplete'
  const { type, action, result, error } = trace
  if (!isError(error)) return 'the error of a trace is not a text'
  switch (type) {
    case 'reward':
      return undefined
    case 'call':
      if (!isAddress(action.from) || !isAddress(action.to) || !isQuantity(action.value)) return 'a call is incomplete'
      if (!callTypes.includes(action.callType)) return `unknown type of call: ${String(action.callType).slice(0, 40)}`
      return isMissing(result) && isMissing(error) ? 'a call has neither a result nor an error' : undefined
    case 'create':
      if (!isAddress(action.from) || !isQuantity(action.value)) return 'a creation is incomplete'
      return isMissing(error) && !isAddress(result?.address)
        ? 'a creation has neither an address nor an error'
        : undefined
    case 'suicide':
    case 'selfdestruct':
      return isAddress(action.address) && isAddress(action.refundAddress) && isQuantity(action.balance)
        ? undefined
        : 'a self-destruct is incomplete'
    default:
      return `unknown type of trace: ${String(type).slice(0, 40)}`
  }
}

const isOfBlock = ({ blockHash, blockNumber }: FlatTrace, { hash, number }: TracedBlock): boolean =>
  (isMissing(blockHash) || lower(blockHash) === hash) && (isMissing(blockNumber) || blockNumber === number)

const zeroAddress = `0x${'0'.repeat(40)}`

/** The first step of a transaction is the transaction itself. System transactions of some chains have no sender. */
export function validateFirstStep(
  tx: TracedTransaction,
  from: unknown,
  to: unknown,
  value: unknown,
): string | undefined {
  if (tx.from === zeroAddress) return undefined
  const valueWei = isQuantity(value) ? BigInt(value) : 0n
  const isSame = valueWei === tx.valueWei && lower(from) === tx.from && lower(to) === (tx.to ?? '')
  return isSame ? undefined : 'the trace contradicts the transaction'
}

/** Each step contains the number of its calls, so a truncated list is detected. */
function validateTraceTree(traces: readonly FlatTrace[]): string | undefined {
  // Almost every list is in order. Building the name of every step would take as long as parsing the response.
  if (isOrderedTree(traces)) return undefined
  const called = new Map<string, number>()
  const nameOf = ({ transactionHash }: FlatTrace, path: readonly number[]) => `${transactionHash}/${path.join('.')}`
  const names = new Set<string>()
  for (const trace of traces) {
    if (trace.traceAddress.length === 0) continue
    const name = nameOf(trace, trace.traceAddress)
    if (names.has(name)) return 'a step is listed twice'
    names.add(name)
    const parent = nameOf(trace, trace.traceAddress.slice(0, -1))
    called.set(parent, (called.get(parent) ?? 0) + 1)
  }
  const incomplete = traces.find(
    (trace) => trace.subtraces != null && trace.subtraces !== (called.get(nameOf(trace, trace.traceAddress)) ?? 0),
  )
  return incomplete && 'steps are missing from the traces'
}

/**
 * Whether the list is depth-first, the calls of every step are numbered from 0, and their number is that of the step. Such
 * a list neither lacks a step nor repeats one.
 */
function isOrderedTree(traces: readonly FlatTrace[]): boolean {
  /** The last step and those it was called by, the transaction's own first. */
  const open: { readonly trace: FlatTrace; calls: number }[] = []
  const closeTo = (depth: number): boolean => {
    while (open.length > depth) {
      const { trace, calls } = open.pop() as (typeof open)[number]
      if (trace.subtraces != null && trace.subtraces !== calls) return false
    }
    return true
  }
  for (const trace of traces) {
    const { traceAddress, transactionHash } = trace
    const depth = traceAddress.length
    if (!closeTo(depth) || open.length !== depth) return false
    const parent = open.at(-1)
    if (parent) {
      const path = parent.trace.traceAddress
      if (transactionHash !== parent.trace.transactionHash || traceAddress[depth - 1] !== parent.calls) return false
      for (let at = 0; at < path.length; at++) if (path[at] !== traceAddress[at]) return false
      parent.calls += 1
    }
    open.push({ trace, calls: 0 })
  }
  return closeTo(0)
}

export function validateReceipt(raw: unknown, block: TracedBlock, hash: string): string | undefined {
  const { transactionHash, blockHash, status, contractAddress } = (raw ?? {}) as Record<string, unknown>
  if (lower(transactionHash) !== hash || lower(blockHash) !== block.hash) return 'receipt of another block'
  if (!isMissing(status) && !(isQuantity(status) && Number(status) <= 1)) return 'the status of a receipt is unknown'
  return isMissing(contractAddress) || isAddress(contractAddress)
    ? undefined
    : 'the contract of a receipt is no address'
}

export function validateReceipts(raw: unknown, block: TracedBlock): string | undefined {
  if (!Array.isArray(raw) || raw.length !== block.transactions.length) return 'not one receipt for every transaction'
  for (const [at, { hash, index }] of block.transactions.entries()) {
    const problem = validateReceipt(raw[at], block, hash)
    if (problem !== undefined) return `transaction ${index} (${hash}): ${problem}`
  }
  return undefined
}

/** Steps in [from, until) to or from the address, oldest first. */
export function validateTraceList(
  raw: unknown,
  side: 'toAddress' | 'fromAddress',
  about: string,
  from: number,
  until: number,
): string | undefined {
  if (!Array.isArray(raw) || !raw.every(hasBlockNumber)) return 'not a list of traces'
  const traces = raw as TraceWithBlock[]
  const blocks = traces.map(({ blockNumber }) => blockNumber)
  if (blocks.some((block) => block < from || block >= until)) return 'traces outside the requested range'
  if (blocks.some((block, at) => block < (blocks[at - 1] ?? 0))) return 'the traces are out of order'
  const endOf = side === 'toAddress' ? traceRecipient : traceSender
  return traces.every((trace) => trace.type === 'reward' || lower(endOf(trace)) === about)
    ? undefined
    : 'traces of another address'
}

const hasBlockNumber = (raw: Partial<TraceWithBlock> | null): boolean =>
  Number.isSafeInteger(raw?.blockNumber) && typeof raw?.action === 'object' && raw.action !== null
