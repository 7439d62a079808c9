// What a node can do, found out by asking it, and what it costs when it cannot.
import type { Clock } from '#runtime/clock.ts'
import { isNull, type RpcOutcome } from './batch-results.ts'
import { accountCalls, filterCall, headerCall, hexOf } from './blocks.ts'
import { toHeader } from './large-results.ts'
import { kindOf } from './node-errors.ts'
import { isFinalRefusal, isUnknownMethod, type Rpc, type RpcCall, type RpcCallOptions } from './rpc.ts'
import type { Block, ReadForm, TraceForm, TraceWithBlock } from './types.ts'
import { lower } from './validate.ts'

export const capabilityNames = [
  'trace_block',
  'debug_traceBlockByNumber',
  'debug_traceTransaction',
  'trace_filter',
  'eth_getBlockReceipts',
  'historical balance',
  'finalized block',
] as const
export type Capability = (typeof capabilityNames)[number]

export interface Capabilities {
  readonly has: Readonly<Record<Capability, boolean>>
  /** The cheapest way to internal transfers, if there is any. */
  readonly traces: TraceForm | undefined
  /** The cheapest way to read a block: with its traces if that can be, with its receipts otherwise. */
  readonly reads: ReadForm
  /** The newest block when they were asked. */
  readonly head: number
  /** Over how many blocks trace_filter answers at a time; 0 when it is of no use. */
  readonly filterBlocks: number
  /** No answer was of a kind that may be another one next time. */
  readonly isClear: boolean
}

const noAddress = `0x${'0'.repeat(40)}`
const noHash = `0x${'0'.repeat(64)}`
const tracer = { tracer: 'callTracer' }

/** Whoever cannot be asked for a block is not asked for anything else. */
const firstAttempts = 2

/** Time for each test on its own, so that a slow one takes nothing from the others. */
const testMaxMs = 20_000

/** Of one node. Throws when it cannot be asked at all. Cheap tests come first, trace_filter last: it may read the whole chain. */
export async function detectCapabilities(
  rpc: Rpc,
  firstBlock: number,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<Capabilities> {
  const budget = (): RpcCallOptions => ({ untilMs: clock.monotonicMs() + testMaxMs })
  const [latest] = await rpc.results([headerCall('latest')], { ...budget(), attemptsMax: firstAttempts })
  const head = toHeader(latest).number
  // Nodes that prune still keep the first state: one from the middle tells.
  const old = Math.max(firstBlock, Math.floor(head / 2))
  const early = Math.min(Math.max(firstBlock, 1), head)
  let isClear = true
  const onceBy = (options: RpcCallOptions) => (calls: readonly RpcCall[]) =>
    rpc.call(
      calls.map((call) => ({ ...call, acceptsError: true as const })),
      options,
    )
  /** One test with its own budget. An error may be a passing one: a second is taken for an answer, but not for long. */
  const test = () => {
    const once = onceBy(budget())
    return async (...calls: RpcCall[]) => {
      const first = await once(calls)
      if (!first.some(mayBeTransient)) return first
      const second = await once(calls)
      // Without the state of a block some nodes answer null.
      isClear &&= !second.some((one) => mayBeTransient(one) && !isNull(one))
      return second
    }
  }
  const [state, finalized] = await Promise.all([
    test()(...accountCalls(noAddress, old), ...accountCalls(noAddress, early)),
    test()(headerCall('finalized')),
  ])
  const [receipts, single, byBlock, nested] = await Promise.all([
    test()({ method: 'eth_getBlockReceipts', params: [hexOf(head)] }),
    onceBy(budget())([{ method: 'debug_traceTransaction', params: [noHash, tracer] }]),
    test()({ method: 'trace_block', params: [hexOf(head)] }),
    test()({ method: 'debug_traceBlockByNumber', params: [hexOf(Math.max(head, 1)), tracer] }),
  ])
  const filterOptions = budget()
  const filterBlocks = await findFilterSpan(test(), (...calls) => onceBy(filterOptions)(calls), firstBlock, head)
  // A time-out of trace_filter counts against the node until it answers something else.
  if (filterBlocks === 0) await onceBy(budget())([headerCall('latest')])
  const has: Record<Capability, boolean> = {
    trace_block: isOffered(byBlock),
    debug_traceBlockByNumber: isOffered(nested),
    // There is no such transaction; a node that has the method says so, in its own words.
    debug_traceTransaction: single.every((one) => isNull(one) || (one.is !== 'unusable' && !isUnknownMethod(one))),
    trace_filter: filterBlocks > 0,
    eth_getBlockReceipts: allSucceeded(receipts),
    'historical balance': allSucceeded(state),
    'finalized block': allSucceeded(finalized),
  }
  return { ...formsOf(has), head, filterBlocks, isClear }
}

function formsOf(has: Readonly<Record<Capability, boolean>>): Pick<Capabilities, 'has' | 'traces' | 'reads'> {
  const traces = traceForms.find((form) => has[form])
  const receiptForm = has.eth_getBlockReceipts ? 'eth_getBlockReceipts' : 'eth_getTransactionReceipt'
  return { has, traces, reads: traces ?? receiptForm }
}

/** What some nodes can do together: a call that one refuses goes to the next. */
export function together(all: readonly Capabilities[]): Capabilities {
  const has = Object.fromEntries(capabilityNames.map((name) => [name, all.some((one) => one.has[name])]))
  return {
    ...formsOf(has as Record<Capability, boolean>),
    head: Math.max(...all.map(({ head }) => head)),
    filterBlocks: Math.max(...all.map(({ filterBlocks }) => filterBlocks)),
    isClear: all.every(({ isClear }) => isClear),
  }
}

/** It was neither done nor is it plain that it cannot be. */
const mayBeTransient = (outcome: RpcOutcome): boolean => outcome.is !== 'result' && !isFinalRefusal(outcome)

/** trace_filter takes the whole chain at once, also when it has grown. */
const anySpan = Number.MAX_SAFE_INTEGER

type CallNode = (...calls: RpcCall[]) => Promise<RpcOutcome[]>

/** Nobody has ever used it, so that the answer is short and all of the span has to be looked at. */
const unusedAddress = `0x${'7e'.repeat(20)}`

/** Over fewer blocks, reading them is as quick. */
const spanMin = 100

/**
 * The longest span that is answered. An index of traces may have been begun late or thinned out, and then answers as if nothing had
 * happened: so a transaction of three old blocks must be in it (behaviour/explorer.md#contracts-and-delegated-accounts).
 */
async function findFilterSpan(ask: CallNode, once: CallNode, firstBlock: number, head: number): Promise<number> {
  let found = 0
  const whole = head + 1 - firstBlock
  for (const blocks of [spanMin, 1000, 10_000, 1_000_000].filter((one) => one < whole).concat(whole)) {
    const span = { from: head + 1 - blocks, until: head + 1 }
    // That a longer span is refused is an answer.
    if (!allSucceeded(await (found === 0 ? ask : once)(filterCall(unusedAddress, 'toAddress', span)))) break
    found = blocks === whole ? anySpan : blocks
  }
  if (found === 0) return 0
  for (const share of [1 / 8, 1 / 2, 7 / 8]) {
    if (!(await isListed(ask, firstBlock + Math.floor(whole * share)))) return 0
  }
  return found
}

/** Whether the first transaction of a block is listed; also true of a block without any. */
async function isListed(ask: CallNode, block: number): Promise<boolean> {
  const number = Math.max(block, 0)
  const [read] = await ask({
    method: 'eth_getBlockByNumber',
    params: [hexOf(number), true],
    resultKind: { as: 'block', number },
  })
  const tx = read?.is === 'result' ? (read.result as Block).transactions.find(({ to }) => to !== null) : undefined
  if (!tx?.to) return true
  const [list] = await ask(filterCall(tx.to, 'toAddress', { from: number, until: number + 1 }))
  return (
    list?.is === 'result' && (list.result as TraceWithBlock[]).some((one) => lower(one.transactionHash) === tx.hash)
  )
}

export const traceForms: readonly TraceForm[] = ['trace_block', 'debug_traceBlockByNumber', 'debug_traceTransaction']

/** A node that takes too long for this block has the method. */
const isOffered = (outcomes: readonly RpcOutcome[]): boolean =>
  outcomes.every((one) => one.is === 'result' || kindOf(one) === 'timeout')

const allSucceeded = (outcomes: readonly RpcOutcome[]): boolean => outcomes.every(({ is }) => is === 'result')

/** What the missing ones cost, one sentence each; empty when nothing is lost. */
export function costs(
  { has, traces, filterBlocks }: Capabilities,
  chain: { readonly mode: 'probe' | 'index' | 'both'; readonly finalityBlocks: number },
): string[] {
  const sentences: string[] = []
  if (!traces) {
    sentences.push(
      'internal transfers not seen: only plain transfers can be answered, and the chain cannot be indexed; use a node with trace_block or callTracer',
    )
    if (!has.eth_getBlockReceipts) {
      sentences.push('no eth_getBlockReceipts: a block without traces takes one call for every transaction')
    }
  } else if (traces === 'debug_traceTransaction') {
    sentences.push(
      'one call for every transaction: indexing is slow; a node with trace_block or debug_traceBlockByNumber is quicker',
    )
  }
  if (!has['historical balance'] && chain.mode !== 'index') {
    sentences.push('no old state: first fundings cannot be probed; use an archive node, or mode index')
  }
  if (!has.trace_filter && chain.mode !== 'index') {
    sentences.push(
      'no trace_filter that knows old blocks: first fundings of contracts and of accounts that were delegated before cannot be looked up; use a node with trace_filter, or index the chain (mode: index or both)',
    )
  } else if (filterBlocks < anySpan && chain.mode !== 'index') {
    sentences.push(
      `trace_filter takes ${filterBlocks} blocks at a time: the lookup of a contract takes many calls and may reach its limits; index the chain (mode: index or both) if contracts matter`,
    )
  }
  if (!has['finalized block'] && chain.finalityBlocks === 0) {
    sentences.push('no finalized block: nothing becomes final; set finalityBlocks')
  }
  return sentences
}
