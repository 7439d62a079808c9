// The requests to a node: headers, accounts, code, and blocks with the data that transfers are derived from. A block
// whose transactions and traces do not match is requested again and never returned. If that does not help, the error
// names the block (`UnreadableBlock`).
import { Fault } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import { type LoggedBlock, transferLogFilter, validateTransferLogs } from './amsterdam.ts'
import type { DecodedResults } from './large-results.ts'
import { toLoggedTransfers } from './logged-receipts.ts'
import { CallFault, type Rpc, type RpcCall, type RpcCallOptions } from './rpc.ts'
import {
  completeTraces,
  receiptCall,
  type TraceResult,
  toTracedBlock,
  traceCall,
  UnreadableBlock,
} from './trace-recovery.ts'
import type {
  Account,
  Block,
  BlockWithExecution,
  ExecutionData,
  ReadForm,
  ReceiptForm,
  TraceForm,
  TraceTransfer,
} from './types.ts'
import { validateHeader, validateQuantity, validateReceipt, validateTraceList } from './validate.ts'

export { toHeader } from './large-results.ts'

export const hexOf = (value: number): string => `0x${value.toString(16)}`

export function headerCall(at: number | 'latest' | 'finalized'): RpcCall {
  const tag = typeof at === 'number' ? hexOf(at) : at
  return { method: 'eth_getBlockByNumber', params: [tag, false], validate: (raw) => validateHeader(raw, at) }
}

export const accountCalls = (address: string, block: number): readonly RpcCall[] => [
  { method: 'eth_getTransactionCount', params: [address, hexOf(block)], validate: validateQuantity },
  balanceCall(address, block),
]

export const balanceCall = (address: string, block: number): RpcCall => ({
  method: 'eth_getBalance',
  params: [address, hexOf(block)],
  validate: validateQuantity,
})

export const codeCall = (address: string, block: number): RpcCall => ({
  method: 'eth_getCode',
  params: [address, hexOf(block)],
  validate: (raw) => (typeof raw === 'string' && /^0x[0-9a-f]*$/i.test(raw) ? undefined : 'not bytes'),
})

/** Whether trace_filter matches the recipient or the sender of a step. */
export type FilterSide = 'toAddress' | 'fromAddress'

/** Steps of transactions in [from, until) to or from the address, oldest first. */
export const filterCall = (address: string, side: FilterSide, { from, until }: Range): RpcCall => ({
  method: 'trace_filter',
  params: [{ fromBlock: hexOf(from), toBlock: hexOf(until - 1), [side]: [address], after: 0, count: filteredMax }],
  validate: (raw) => validateTraceList(raw, side, address, from, until),
})

/** Logs of transfers to or from the address in [from, until), oldest first. */
export function transferLogsCall(address: string, side: FilterSide, range: Range): RpcCall {
  const filter = transferLogFilter(address, side, range)
  return {
    method: 'eth_getLogs',
    params: [filter],
    acceptsError: true,
    validate: (raw) => validateTransferLogs(raw, filter, range),
  }
}

/** Steps per request. A shorter response is the last one. */
export const filteredMax = 1000

export const toAccount = (nonce: unknown, balance: unknown): Account => ({
  nonce: BigInt(nonce as string),
  balanceWei: BigInt(balance as string),
})

export interface ReadOptions extends RpcCallOptions {
  /** Read blocks after the Amsterdam fork from their logs, with this method. */
  readonly logs?: ReceiptForm | undefined
  /** Headers after the Amsterdam fork must have the hash of their block. */
  readonly verifiesHeaders?: boolean
}

/** Reads blocks with logs, traces or receipts, in the order of the numbers. */
export async function readBlocks(
  rpc: Pick<Rpc, 'results'>,
  form: ReadForm,
  numbers: readonly number[],
  { logs, verifiesHeaders = false, ...options }: ReadOptions = {},
): Promise<BlockWithExecution[]> {
  const keepsFailures = { ...options, keepsFailures: true } as const
  const calls = numbers.map((number) => blockCall(number, verifiesHeaders))
  const read = await rpc.results(calls, keepsFailures)
  const blocks = read.map((block, at) => requireRead(numbers[at] as number, block as DecodedResults['block'] | Fault))
  const executionCallsOf = blocks.map((block) =>
    logs && block.amsterdam ? logCalls(block, logs) : executionCalls(block, form),
  )
  const results = await rpc.results(executionCallsOf.flat(), keepsFailures)
  const blocksWithExecution: BlockWithExecution[] = []
  for (const [at, block] of blocks.entries()) {
    const ownResults = results.splice(0, executionCallsOf[at]?.length)
    const execution =
      logs && block.amsterdam
        ? await readLogs(rpc, form, logs, block, ownResults, options)
        : await readExecution(rpc, form, block, ownResults, options)
    blocksWithExecution.push({ block, execution })
  }
  return blocksWithExecution
}

/** Throws a failure. If all nodes answered with something invalid, the failure is that of this block. */
function requireRead<T>(block: number, result: T | Fault): T {
  if (!(result instanceof Fault)) return result
  throw result instanceof CallFault && result.kind === 'invalid' ? new UnreadableBlock(block, result.reason) : result
}

/** A block with its transactions. */
export const blockCall = (number: number, verifiesHeader = false): RpcCall => ({
  method: 'eth_getBlockByNumber',
  params: [hexOf(number), true],
  resultKind: { as: 'block', number, verifiesHeader },
})

/** None if the withdrawals of the block are wrong: then the block is not read from its logs. */
function logCalls(block: Block, form: ReceiptForm): RpcCall[] {
  return block.amsterdam?.hasValidWithdrawals ? receiptCallsOf(block, form, { isVerified: true }) : []
}

/**
 * The receipts of a block after the Amsterdam fork, as the node returns them. `isVerified`: those of the whole block are
 * verified and decoded to transfers.
 */
export function receiptCallsOf(block: Block, form: ReceiptForm, { isVerified = false } = {}): RpcCall[] {
  const { number, transactions } = block
  const logged = toLoggedBlock(block)
  if (transactions.length === 0) return []
  if (form === 'eth_getTransactionReceipt')
    return transactions.map(({ hash }) => ({
      method: form,
      params: [hash],
      validate: (raw) => validateReceipt(raw, logged, hash),
    }))
  const call = { method: form, params: [hexOf(number)] }
  return [isVerified ? { ...call, resultKind: { as: 'logs', block: logged } } : call]
}

export const toLoggedBlock = (block: Block): LoggedBlock => ({
  ...toTracedBlock(block, block.transactions),
  receiptsRoot: block.amsterdam?.receiptsRoot ?? '',
})

/** The transfers of a block from its logs. If they contradict the block, from traces, if the node has them. */
async function readLogs(
  rpc: Pick<Rpc, 'results'>,
  form: ReadForm,
  logs: ReceiptForm,
  block: Block,
  results: readonly unknown[],
  options: RpcCallOptions,
): Promise<ExecutionData> {
  const read = toLogResult(block, logs, results)
  if ('transfers' in read) return { form: 'logs', transfers: read.transfers }
  const { contradiction, failure } = read
  if (isTraceForm(form)) {
    const traces = await rpc.results(executionCalls(block, form), { ...options, keepsFailures: true })
    const execution = await readExecution(rpc, form, block, traces, options)
    return execution.form === 'traced' && contradiction !== undefined ? { ...execution, contradiction } : execution
  }
  throw failure ?? new UnreadableBlock(block.number, contradiction ?? 'no logs')
}

const isTraceForm = (form: ReadForm): form is TraceForm => /trace/.test(form)

type LogResult =
  | { readonly transfers: readonly (readonly TraceTransfer[])[] }
  | { readonly contradiction?: string; readonly failure?: Fault }

/** Throws a failure that does not concern the receipts of this block. */
function toLogResult(block: Block, form: ReceiptForm, results: readonly unknown[]): LogResult {
  if (!block.amsterdam?.hasValidWithdrawals)
    return { contradiction: 'the withdrawals do not have the withdrawalsRoot of the block' }
  if (block.transactions.length === 0) return { transfers: [] }
  const failure = results.find((result) => result instanceof Fault)
  if (failure instanceof CallFault && failure.kind === 'invalid') return { contradiction: failure.reason }
  if (failure instanceof CallFault && (failure.isOfCall || failure.isFinal)) return { failure }
  if (failure) throw failure
  if (form === 'eth_getBlockReceipts') return { transfers: results[0] as DecodedResults['logs'] }
  const transfers = toLoggedTransfers(results, toLoggedBlock(block))
  return typeof transfers === 'string' ? { contradiction: transfers } : { transfers }
}

/** The balances that each account had after the transactions of the block, verified. */
export const accessListCall = ({ number, amsterdam }: Block): RpcCall => ({
  method: 'eth_getBlockAccessList',
  params: [hexOf(number)],
  acceptsError: true,
  resultKind: { as: 'accessList', hash: amsterdam?.accessListHash ?? '' },
})

/** None for a block without transactions: some nodes refuse to trace the genesis block. */
function executionCalls(block: Block, form: ReadForm): RpcCall[] {
  const { number, transactions } = block
  if (transactions.length === 0) return []
  const tracedBlock = toTracedBlock(block, transactions)
  switch (form) {
    case 'trace_block':
      return [{ method: form, params: [hexOf(number)], resultKind: { as: 'flat', block: tracedBlock } }]
    case 'debug_traceBlockByNumber':
      return [
        { method: form, params: [hexOf(number)], isTraced: true, resultKind: { as: 'nested', block: tracedBlock } },
      ]
    case 'debug_traceTransaction':
      return [...transactions.map((tx) => traceCall(tx)), countCall(block)]
    case 'eth_getBlockReceipts':
      return [{ method: form, params: [hexOf(number)], resultKind: { as: 'receipts', block: tracedBlock } }]
    case 'eth_getTransactionReceipt':
      return transactions.map((tx) => receiptCall(tracedBlock, tx))
  }
}

/** The other methods list all transactions of the block. If they are requested one by one, none may be missing. */
const countCall = ({ number, transactions: { length } }: Block): RpcCall => ({
  method: 'eth_getBlockTransactionCountByNumber',
  params: [hexOf(number)],
  acceptsError: true,
  validate: (raw) =>
    validateQuantity(raw) ??
    (Number(raw) === length ? undefined : `block ${number} has ${Number(raw)} transactions, ${length} are listed`),
})

async function readExecution(
  rpc: Pick<Rpc, 'results'>,
  form: ReadForm,
  block: Block,
  results: readonly unknown[],
  options: RpcCallOptions,
): Promise<ExecutionData> {
  const failed = results.find((result) => result instanceof Fault)
  switch (form) {
    case 'trace_block':
    case 'debug_traceBlockByNumber': {
      const [ofBlock = []] = results
      const traces = (failed ? block.transactions.map(() => failed) : ofBlock) as readonly TraceResult[]
      return { form: 'traced', transfers: await completeTraces(rpc, form, block, traces, options) }
    }
    case 'debug_traceTransaction': {
      const traces = results.slice(0, block.transactions.length) as readonly TraceResult[]
      const count = results[block.transactions.length]
      if (!(count instanceof CallFault && count.kind === 'unknown method')) requireRead(block.number, count)
      return { form: 'traced', transfers: await completeTraces(rpc, form, block, traces, options) }
    }
    case 'eth_getBlockReceipts':
      requireRead(block.number, failed)
      return { form: 'receipts', receipts: (results[0] ?? []) as DecodedResults['receipts'] }
    case 'eth_getTransactionReceipt':
      requireRead(block.number, failed)
      return { form: 'receipts', receipts: results as DecodedResults['receipt'][] }
  }
}
