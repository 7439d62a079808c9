// Detects what a node supports by calling it, and describes the limitations that follow.
import { recordFrom } from '#core/record-from.ts'
import type { Clock } from '#runtime/clock.ts'
import { validateAccessList } from './amsterdam.ts'
import { isNull, type RpcOutcome } from './batch-results.ts'
import { accountCalls, blockCall, filterCall, headerCall, hexOf, receiptCallsOf, toLoggedBlock } from './blocks.ts'
import { toHeader } from './large-results.ts'
import { toLoggedTransfers } from './logged-receipts.ts'
import { kindOf } from './node-errors.ts'
import { isFinalRefusal, isUnknownMethod, type Rpc, type RpcCall, type RpcCallOptions } from './rpc.ts'
import type { Block, ReadForm, ReceiptForm, TraceForm, TraceWithBlock } from './types.ts'
import { lower } from './validate.ts'

export const capabilityNames = [
  'trace_block',
  'debug_traceBlockByNumber',
  'debug_traceTransaction',
  'trace_filter',
  'eth_getBlockReceipts',
  'transfer logs',
  'header hash',
  'eth_getBlockAccessList',
  'historical balance',
  'finalized block',
] as const
export type Capability = (typeof capabilityNames)[number]

export interface Capabilities {
  readonly has: Readonly<Record<Capability, boolean>>
  /** The cheapest supported way to read internal transfers. */
  readonly traces: TraceForm | undefined
  /** How to read the logs of transfers in blocks after the Amsterdam fork; undefined: they cannot be used. */
  readonly logs: ReceiptForm | undefined
  /** The cheapest supported way to read a block: with traces if possible, otherwise with receipts. */
  readonly reads: ReadForm
  /** The newest block at the time of detection. */
  readonly head: number
  /** The longest range of blocks that trace_filter supports; 0 if it cannot be used. */
  readonly filterBlocks: number
  /** Trace methods that the node has, but that return something else. */
  readonly otherForms: readonly TraceForm[]
  /** The node knows what a final block is, but has none yet: the chain is young. */
  readonly awaitsFinality: boolean
  /** False if a test failed with an error that may be temporary. */
  readonly isClear: boolean
}

const noAddress = `0x${'0'.repeat(40)}`
const noHash = `0x${'0'.repeat(64)}`

/** Four epochs of mainnet. A chain that finalizes has a final block after three. */
const youngChainBlocks = 128

/** Attempts for the first call. If it fails, nothing else is tested. */
const firstAttempts = 2

/** Time for each test, so that a slow one does not delay the others. */
const testMaxMs = 20_000

/** Tests one node. Throws if it is not reachable. trace_filter comes last, because it may read the whole chain. */
export async function detectCapabilities(
  rpc: Rpc,
  firstBlock: number,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<Capabilities> {
  const budget = (): RpcCallOptions => ({ untilMs: clock.monotonicMs() + testMaxMs })
  const [latest] = await rpc.results([headerCall('latest')], { ...budget(), attemptsMax: firstAttempts })
  const head = toHeader(latest).number
  // Test a state from the middle of the chain: nodes that prune may keep the first one.
  const old = Math.max(firstBlock, Math.floor(head / 2))
  const early = Math.min(Math.max(firstBlock, 1), head)
  let isClear = true
  const onceBy = (options: RpcCallOptions) => (calls: readonly RpcCall[]) =>
    rpc.call(
      calls.map((call) => ({ ...call, acceptsError: true as const })),
      options,
    )
  /** A test with its own budget. A temporary error is retried once; a second one makes the result unclear. */
  const test = () => {
    const once = onceBy(budget())
    return async (...calls: RpcCall[]) => {
      const first = await once(calls)
      if (!first.some(mayBeTransient)) return first
      const second = await once(calls)
      // Some nodes return null if they lack the state of a block.
      isClear &&= !second.some((outcome) => mayBeTransient(outcome) && !isNull(outcome))
      return second
    }
  }
  const [state, finalized] = await Promise.all([
    test()(...accountCalls(noAddress, old), ...accountCalls(noAddress, early)),
    test()(headerCall('finalized')),
  ])
  const sample = await findSample(test(), firstBlock, head)
  const tracedAt = hexOf(sample?.block.number ?? Math.max(head, 1))
  const [receipts, single, byBlock, nested, accessList] = await Promise.all([
    test()({ method: 'eth_getBlockReceipts', params: [hexOf(head)] }),
    (sample ? test() : (call: RpcCall) => onceBy(budget())([call]))({
      method: 'debug_traceTransaction',
      params: [sample?.transaction ?? noHash],
      isTraced: true,
    }),
    test()({ method: 'trace_block', params: [tracedAt] }),
    test()({ method: 'debug_traceBlockByNumber', params: [tracedAt], isTraced: true }),
    sample?.block.amsterdam ? test()({ method: 'eth_getBlockAccessList', params: [tracedAt] }) : [],
  ])
  const logs = await testLogs(test, sample?.block, formOfReceipts(allSucceeded(receipts)))
  if (logs === 'no transfer') isClear = false
  // Without a transaction, the form of the traces is not known.
  if (!sample) isClear = false
  const filterOptions = budget()
  const filterBlocks = await findFilterRange(test(), (...calls) => onceBy(filterOptions)(calls), firstBlock, head)
  // A successful call clears the failure that a timeout of trace_filter left.
  if (filterBlocks === 0) await onceBy(budget())([headerCall('latest')])
  const offered: Record<TraceForm, boolean> = {
    trace_block: isOffered(byBlock),
    debug_traceBlockByNumber: isOffered(nested),
    // Without a sample, the transaction does not exist: a node that has the method returns null or its own error.
    debug_traceTransaction: sample
      ? isOffered(single)
      : single.every((outcome) => isNull(outcome) || (outcome.is !== 'unusable' && !isUnknownMethod(outcome))),
  }
  const isCallTrace: Record<TraceForm, boolean> = {
    trace_block: hasForm(byBlock, isFlatList),
    debug_traceBlockByNumber: hasForm(nested, isFrameList),
    debug_traceTransaction: hasForm(single, isFrame),
  }
  const otherForms = sample ? traceForms.filter((form) => offered[form] && !isCallTrace[form]) : []
  const traces = recordFrom(traceForms, (form) => offered[form] && !otherForms.includes(form))
  const has: Record<Capability, boolean> = {
    ...traces,
    trace_filter: filterBlocks > 0,
    eth_getBlockReceipts: allSucceeded(receipts),
    'transfer logs': logs === 'verified',
    'header hash': sample?.block.amsterdam?.headerHash === 'verified',
    eth_getBlockAccessList: hasValidAccessList(accessList, sample?.block),
    'historical balance': allSucceeded(state),
    'finalized block': allSucceeded(finalized),
  }
  // Chains without finality answer the same for ever.
  const awaitsFinality =
    head < youngChainBlocks && finalized.every((outcome) => isNull(outcome) || kindOf(outcome) === 'not found')
  return { ...formsOf(has), head, filterBlocks, otherForms, awaitsFinality, isClear }
}

/**
 * Whether the receipts of the block have the root of its header, and their logs have the value of every transaction. `no
 * transfer`: the block does not show it.
 */
async function testLogs(
  test: () => CallNode,
  block: Block | undefined,
  form: ReceiptForm,
): Promise<'verified' | 'no transfer' | 'unusable'> {
  if (!block?.amsterdam?.hasValidWithdrawals) return 'unusable'
  const outcomes = await test()(...receiptCallsOf(block, form))
  if (!allSucceeded(outcomes)) return 'unusable'
  const results = outcomes.map((outcome) => (outcome.is === 'result' ? outcome.result : undefined))
  const receipts = form === 'eth_getBlockReceipts' ? results[0] : results
  const transfers = toLoggedTransfers(receipts, toLoggedBlock(block))
  if (typeof transfers === 'string') return 'unusable'
  return transfers.flat().length > 0 ? 'verified' : 'no transfer'
}

/** Whether the list has the hash of the header. Some clients began with other names of members. */
function hasValidAccessList([outcome]: readonly RpcOutcome[], block: Block | undefined): boolean {
  if (outcome?.is !== 'result' || !block?.amsterdam) return false
  return validateAccessList(outcome.result, block.amsterdam.accessListHash) === undefined
}

/** A block to try the trace methods with, and one of its transactions. */
interface Sample {
  readonly block: Block
  readonly transaction: string
}

/** Blocks that are read if the newest one has no transaction: the ones before it, and some of the whole chain. */
const recentSamples = 8
const spreadSamples = 8

/** Undefined if none of these blocks has a transaction. */
async function findSample(test: CallNode, firstBlock: number, head: number): Promise<Sample | undefined> {
  const recent = Array.from({ length: recentSamples }, (_, at) => head - 1 - at)
  const spread = Array.from(
    { length: spreadSamples },
    (_, at) => head - Math.floor(((at + 1) * (head - firstBlock)) / 9),
  )
  const others = [...new Set([...recent, ...spread])].filter((number) => number >= Math.max(firstBlock, 1))
  for (const numbers of [[head], others]) {
    for (const outcome of await test(...numbers.map((number) => blockCall(number)))) {
      if (outcome.is !== 'result') continue
      const block = outcome.result as Block
      // A node that ignores the tracer lists every step of the EVM. A transfer probably has few.
      const chosen =
        block.transactions.find(({ to, valueWei }) => to !== null && valueWei > 0n) ?? block.transactions[0]
      if (chosen) return { block, transaction: chosen.hash }
    }
  }
  return undefined
}

const hasForm = (outcomes: readonly RpcOutcome[], isForm: (raw: unknown) => boolean): boolean =>
  outcomes.every((outcome) => outcome.is !== 'result' || isForm(outcome.result))

type Member = Readonly<Record<string, unknown>> | null

const isFrame = (raw: unknown): boolean =>
  typeof (raw as Member)?.type === 'string' && typeof (raw as Member)?.from === 'string'

const isFrameList = (raw: unknown): boolean =>
  Array.isArray(raw) && raw.every((trace: Member) => isFrame(trace?.result) || (trace?.error ?? null) !== null)

const isFlatList = (raw: unknown): boolean =>
  Array.isArray(raw) && raw.some((step: Member) => typeof step?.type === 'string' && typeof step.action === 'object')

function formsOf(has: Readonly<Record<Capability, boolean>>): Pick<Capabilities, 'has' | 'traces' | 'logs' | 'reads'> {
  const traces = traceForms.find((form) => has[form])
  const receiptForm = formOfReceipts(has.eth_getBlockReceipts)
  // One call per transaction is no better than one trace of the block.
  const isCheap = has.eth_getBlockReceipts || traces === undefined || traces === 'debug_traceTransaction'
  const logs = has['transfer logs'] && isCheap ? receiptForm : undefined
  return { has, traces, logs, reads: traces ?? receiptForm }
}

const formOfReceipts = (hasWholeBlocks: boolean): ReceiptForm =>
  hasWholeBlocks ? 'eth_getBlockReceipts' : 'eth_getTransactionReceipt'

/** What the nodes support together: a call that one refuses goes to the next. */
export function combineCapabilities(all: readonly Capabilities[]): Capabilities {
  return {
    ...formsOf(recordFrom(capabilityNames, (name) => all.some(({ has }) => has[name]))),
    head: Math.max(...all.map(({ head }) => head)),
    filterBlocks: Math.max(...all.map(({ filterBlocks }) => filterBlocks)),
    otherForms: traceForms.filter((form) => all.some(({ otherForms }) => otherForms.includes(form))),
    awaitsFinality: all.some(({ awaitsFinality }) => awaitsFinality),
    isClear: all.every(({ isClear }) => isClear),
  }
}

/** Neither a result nor a definite refusal. */
const mayBeTransient = (outcome: RpcOutcome): boolean => outcome.is !== 'result' && !isFinalRefusal(outcome)

/** trace_filter accepts any range, also after the chain has grown. */
const unlimitedRange = Number.MAX_SAFE_INTEGER

type CallNode = (...calls: RpcCall[]) => Promise<RpcOutcome[]>

/** Without transactions: the node must search the whole range, and the response is short. */
const unusedAddress = `0x${'7e'.repeat(20)}`

/** For shorter ranges, reading the blocks is as fast. */
const rangeMin = 100

/**
 * Finds the longest range that trace_filter supports. A node with an incomplete trace index returns an empty list
 * instead of an error, so a transaction of three old blocks must be found
 * (behaviour/explorer.md#contracts-and-delegated-accounts).
 */
async function findFilterRange(test: CallNode, once: CallNode, firstBlock: number, head: number): Promise<number> {
  let supported = 0
  const chainLength = head + 1 - firstBlock
  for (const blocks of [rangeMin, 1000, 10_000, 1_000_000]
    .filter((blocks) => blocks < chainLength)
    .concat(chainLength)) {
    const range = { from: head + 1 - blocks, until: head + 1 }
    // Do not retry longer ranges: a refusal is expected.
    if (!allSucceeded(await (supported === 0 ? test : once)(filterCall(unusedAddress, 'toAddress', range)))) break
    supported = blocks === chainLength ? unlimitedRange : blocks
  }
  if (supported === 0) return 0
  for (const share of [1 / 8, 1 / 2, 7 / 8]) {
    if (!(await isListed(test, firstBlock + Math.floor(chainLength * share)))) return 0
  }
  return supported
}

/** Whether trace_filter finds the first transaction of a block. True for a block without transactions. */
async function isListed(test: CallNode, block: number): Promise<boolean> {
  const number = Math.max(block, 0)
  const [read] = await test(blockCall(number))
  const tx = read?.is === 'result' ? (read.result as Block).transactions.find(({ to }) => to !== null) : undefined
  if (!tx?.to) return true
  const [list] = await test(filterCall(tx.to, 'toAddress', { from: number, until: number + 1 }))
  return (
    list?.is === 'result' &&
    (list.result as TraceWithBlock[]).some(({ transactionHash }) => lower(transactionHash) === tx.hash)
  )
}

export const traceForms: readonly TraceForm[] = ['trace_block', 'debug_traceBlockByNumber', 'debug_traceTransaction']

/** A timeout means that the node has the method. */
const isOffered = (outcomes: readonly RpcOutcome[]): boolean =>
  outcomes.every((outcome) => outcome.is === 'result' || kindOf(outcome) === 'timeout')

const allSucceeded = (outcomes: readonly RpcOutcome[]): boolean => outcomes.every(({ is }) => is === 'result')

/** What helps where a search does not, in lower case. */
export const indexAdvice = ({ mode }: { readonly mode: 'probe' | 'index' | 'both' }): string =>
  mode === 'both'
    ? 'wait until the index has read the chain (tetrad coverage)'
    : 'index the chain (mode: index or both)'

/** Describes what does not work because of missing capabilities, and what to do. */
export function describeLimitations(
  { has, traces, logs, filterBlocks, otherForms, awaitsFinality }: Capabilities,
  chain: { readonly mode: 'probe' | 'index' | 'both'; readonly finalityBlocks: number },
): string[] {
  const limitations: string[] = []
  if (!traces && logs) {
    limitations.push(
      'no traces: blocks from before the Amsterdam fork cannot be indexed, and of a search only plain transfers are found in them; use a node with trace_block or callTracer',
    )
  } else if (!traces) {
    const others = otherForms.length > 0 ? ` (no call traces from ${otherForms.join(' and ')})` : ''
    limitations.push(
      `no traces${others}: only plain transfers are found, and the chain cannot be indexed; use a node with trace_block or callTracer`,
    )
    if (!has.eth_getBlockReceipts) {
      limitations.push('no eth_getBlockReceipts: reading a block takes one call per transaction')
    }
  } else if (traces === 'debug_traceTransaction') {
    limitations.push(
      'one call per transaction: indexing is slow; a node with trace_block or debug_traceBlockByNumber is faster',
    )
  }
  if (!has['historical balance'] && chain.mode !== 'index') {
    limitations.push('no historical state: first fundings cannot be probed; use an archive node, or mode: index')
  }
  if (!has.trace_filter && chain.mode !== 'index') {
    limitations.push(
      `no trace_filter for old blocks: first fundings of contracts and of formerly delegated accounts cannot be found, and a contract that destroyed itself looks unused; use a node with trace_filter, or ${indexAdvice(chain)}`,
    )
  } else if (filterBlocks < unlimitedRange && chain.mode !== 'index') {
    limitations.push(
      `trace_filter is limited to ${filterBlocks} blocks: a contract lookup takes many calls and may reach its limit; if contracts matter, ${indexAdvice(chain)}`,
    )
  }
  if (!has['finalized block'] && !awaitsFinality && chain.finalityBlocks === 0) {
    limitations.push('no finalized block: no block becomes final; set finalityBlocks')
  }
  return limitations
}
