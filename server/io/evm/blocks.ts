// What is asked of a node: headers, accounts, code, and whole blocks with what is needed to find their transfers. A block
// whose transactions and traces do not belong together is asked for again, and never handed on.
import { Fault } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import type { Read } from './readings.ts'
import type { AskOptions, Rpc, RpcCall } from './rpc.ts'
import type { Account, Block, Insight, ReadForm, SeenBlock } from './shapes.ts'
import { checkedBy, completeTraces, receiptCall, type TraceAnswer, traceCall } from './trace-recovery.ts'
import { wrongHeader, wrongList, wrongQuantity } from './wrong.ts'

export { toHeader } from './readings.ts'

export const hexOf = (value: number): string => `0x${value.toString(16)}`

export function headerCall(at: number | 'latest' | 'finalized'): RpcCall {
  const tag = typeof at === 'number' ? hexOf(at) : at
  return { method: 'eth_getBlockByNumber', params: [tag, false], wrong: (raw) => wrongHeader(raw, at) }
}

export const accountCalls = (address: string, block: number): readonly RpcCall[] => [
  { method: 'eth_getTransactionCount', params: [address, hexOf(block)], wrong: wrongQuantity },
  balanceCall(address, block),
]

export const balanceCall = (address: string, block: number): RpcCall => ({
  method: 'eth_getBalance',
  params: [address, hexOf(block)],
  wrong: wrongQuantity,
})

export const codeCall = (address: string, block: number): RpcCall => ({
  method: 'eth_getCode',
  params: [address, hexOf(block)],
  wrong: (raw) => (typeof raw === 'string' && /^0x[0-9a-f]*$/i.test(raw) ? undefined : 'not bytes'),
})

/** Whether steps that end at an address are listed, or those that begin there. */
export type ListSide = 'toAddress' | 'fromAddress'

/** Steps of transactions in [from, until) on that side of the address, oldest first. */
export const filterCall = (address: string, side: ListSide, { from, until }: Range): RpcCall => ({
  method: 'trace_filter',
  params: [{ fromBlock: hexOf(from), toBlock: hexOf(until - 1), [side]: [address], after: 0, count: filteredMax }],
  wrong: (raw) => wrongList(raw, from, until),
})

/** As many are asked for at once; fewer in an answer mean that there are no more. */
export const filteredMax = 1000

export const toAccount = (nonce: unknown, balance: unknown): Account => ({
  nonce: BigInt(nonce as string),
  balanceWei: BigInt(balance as string),
})

/** The blocks in the order of the numbers, with what is needed to find their transfers. */
export async function readBlocks(
  rpc: Pick<Rpc, 'results'>,
  form: ReadForm,
  numbers: readonly number[],
  options: AskOptions = {},
): Promise<SeenBlock[]> {
  const blocks = (await rpc.results(
    numbers.map((number) => ({
      method: 'eth_getBlockByNumber',
      params: [hexOf(number), true],
      reading: { as: 'block', number },
    })),
    options,
  )) as Read['block'][]
  const questions = blocks.map((block) => insightCalls(block, form))
  const answers = await rpc.results(questions.flat(), { ...options, keepsFailures: true })
  const seen: SeenBlock[] = []
  let from = 0
  for (const [at, block] of blocks.entries()) {
    const until = from + (questions[at]?.length ?? 0)
    seen.push({ block, insight: await insightOf(rpc, form, block, answers.slice(from, until), options) })
    from = until
  }
  return seen
}

/** A block without transactions has nothing to trace; some nodes even refuse to try with the first one. */
function insightCalls(whole: Block, form: ReadForm): RpcCall[] {
  const { number, transactions } = whole
  if (transactions.length === 0) return []
  const block = checkedBy(whole, transactions)
  switch (form) {
    case 'trace_block':
      return [{ method: form, params: [hexOf(number)], reading: { as: 'flat', block } }]
    case 'debug_traceBlockByNumber':
      return [{ method: form, params: [hexOf(number)], isTraced: true, reading: { as: 'nested', block } }]
    case 'debug_traceTransaction':
      return transactions.map((tx) => traceCall(tx))
    case 'eth_getBlockReceipts':
      return [{ method: form, params: [hexOf(number)], reading: { as: 'receipts', block } }]
    case 'eth_getTransactionReceipt':
      return transactions.map((tx) => receiptCall(block, tx))
  }
}

async function insightOf(
  rpc: Pick<Rpc, 'results'>,
  form: ReadForm,
  block: Block,
  answers: readonly unknown[],
  options: AskOptions,
): Promise<Insight> {
  const failed = answers.find((one) => one instanceof Fault)
  switch (form) {
    case 'trace_block':
    case 'debug_traceBlockByNumber': {
      const [whole = []] = answers
      const traces = (failed ? block.transactions.map(() => failed) : whole) as readonly TraceAnswer[]
      return { form: 'traced', moves: await completeTraces(rpc, form, block, traces, options) }
    }
    case 'debug_traceTransaction':
      return {
        form: 'traced',
        moves: await completeTraces(rpc, form, block, answers as readonly TraceAnswer[], options),
      }
    case 'eth_getBlockReceipts':
      if (failed) throw failed
      return { form: 'receipts', receipts: (answers[0] ?? []) as Read['receipts'] }
    case 'eth_getTransactionReceipt':
      if (failed) throw failed
      return { form: 'receipts', receipts: answers as Read['receipt'][] }
  }
}
