// What the nodes of a chain can do, found out by asking, and what it costs when they cannot. Every node is asked on its
// own: one that can trace is enough, since a call that one refuses goes to the next.
import { accountCalls, filterCall, headerCall, hexOf } from './blocks.ts'
import type { RpcOutcome } from './outcomes.ts'
import { toHeader } from './readings.ts'
import { isUnknownMethod, type Rpc, type RpcCall } from './rpc.ts'
import type { ReadForm, TraceForm } from './shapes.ts'

export const abilityNames = [
  'trace_block',
  'debug_traceBlockByNumber',
  'debug_traceTransaction',
  'trace_filter',
  'eth_getBlockReceipts',
  'historical balance',
  'finalized block',
] as const
export type Ability = (typeof abilityNames)[number]

export interface Capabilities {
  readonly has: Readonly<Record<Ability, boolean>>
  /** The cheapest way to internal transfers, if there is any. */
  readonly traces: TraceForm | undefined
  /** The cheapest way to read a block: with its traces if that can be, with its receipts otherwise. */
  readonly reads: ReadForm
  /** The newest block when they were asked. */
  readonly head: number
}

const noAddress = `0x${'0'.repeat(40)}`
const noHash = `0x${'0'.repeat(64)}`
const tracer = { tracer: 'callTracer' }

/** Throws when no node can be asked at all. */
export async function askCapabilities(rpc: Rpc, firstBlock: number, untilMs?: number): Promise<Capabilities> {
  const options = untilMs === undefined ? {} : { untilMs }
  const [latest] = await rpc.results([headerCall('latest')], options)
  const head = toHeader(latest).number
  // Nodes that prune still keep the first state: one from the middle tells.
  const old = Math.max(firstBlock, Math.floor(head / 2))
  const early = Math.min(Math.max(firstBlock, 1), head)
  const ask = (...calls: RpcCall[]) =>
    rpc.ask(
      calls.map((call) => ({ ...call, errorIsAnswer: true as const })),
      options,
    )
  const [byBlock, nested, single, filter, receipts] = await Promise.all([
    ask({ method: 'trace_block', params: [hexOf(head)] }),
    ask({ method: 'debug_traceBlockByNumber', params: [hexOf(Math.max(head, 1)), tracer] }),
    ask({ method: 'debug_traceTransaction', params: [noHash, tracer] }),
    ask(filterCall(noAddress, { from: head, until: head + 1 }, 0)),
    ask({ method: 'eth_getBlockReceipts', params: [hexOf(head)] }),
  ])
  const state = await ask(...accountCalls(noAddress, old), ...accountCalls(noAddress, early))
  const finalized = await ask(headerCall('finalized'))
  const has: Record<Ability, boolean> = {
    trace_block: answered(byBlock),
    debug_traceBlockByNumber: answered(nested),
    // There is no such transaction; a node that has the method says so, in its own words.
    debug_traceTransaction: single.every((one) => !isUnknownMethod(one)),
    trace_filter: answered(filter),
    eth_getBlockReceipts: answered(receipts),
    'historical balance': answered(state),
    'finalized block': answered(finalized),
  }
  const traces = traceForms.find((form) => has[form])
  const receiptForm = has.eth_getBlockReceipts ? 'eth_getBlockReceipts' : 'eth_getTransactionReceipt'
  return { has, traces, reads: traces ?? receiptForm, head }
}

const traceForms: readonly TraceForm[] = ['trace_block', 'debug_traceBlockByNumber', 'debug_traceTransaction']

const answered = (outcomes: readonly RpcOutcome[]): boolean => outcomes.every(({ is }) => is === 'result')

/** What the missing ones cost, one sentence each; empty when nothing is lost. */
export function costs(
  { has, traces }: Capabilities,
  chain: { readonly mode: 'probe' | 'index' | 'both'; readonly finalityBlocks: number },
): string[] {
  const words: string[] = []
  if (!traces) {
    words.push(
      'internal transfers not seen: only plain transfers can be answered, and the chain cannot be indexed; use a node with trace_block or callTracer',
    )
    if (!has.eth_getBlockReceipts) {
      words.push('no eth_getBlockReceipts: a block without traces takes one call for every transaction')
    }
  } else if (traces === 'debug_traceTransaction') {
    words.push(
      'one call for every transaction: indexing is slow; a node with trace_block or debug_traceBlockByNumber is quicker',
    )
  }
  if (!has['historical balance'] && chain.mode !== 'index') {
    words.push('no old state: first fundings cannot be probed; use an archive node, or mode index')
  }
  if (!has.trace_filter && chain.mode !== 'index') {
    words.push(
      'no trace_filter: accounts whose code can pass value on are read block by block, over several calls if need be',
    )
  }
  if (!has['finalized block'] && chain.finalityBlocks === 0) {
    words.push('no finalized block: nothing becomes final; set finalityBlocks')
  }
  return words
}
