// The nodes behind each chain, opened when first needed and kept for as long as the settings are: everything a node
// needs is in the context already.
import { Fault } from '#core/fault.ts'
import type { ChainSettings } from '#runtime/settings/explorer.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import { headerCall, readBlocks, toHeader } from '#sources/evm/blocks.ts'
import type { Capabilities } from '#sources/evm/capabilities.ts'
import { type BlockSource, CapabilityTracker, type NodeCapabilities } from '#sources/evm/capability-tracker.ts'
import { faultOf, openRpc, type Rpc, type RpcCall, type RpcCallOptions, type RpcOptions } from '#sources/evm/rpc.ts'
import type { BlockWithExecution, Header } from '#sources/evm/types.ts'
import type { ExplorerContext } from './context.ts'

export interface ChainNode {
  readonly chain: ChainSettings
  readonly rpc: Rpc
  /** Of all nodes together. Asked once and kept; asked again while no node has answered. */
  capabilities(options?: RpcCallOptions): Promise<Capabilities>
  /** What was answered last, if anything was. */
  known(): Capabilities | undefined
  /** Of each node, after all have been asked. */
  each(): Promise<readonly NodeCapabilities[]>
  /** Whole blocks in the order of the numbers, by the nodes that can, each in its own way. `spend` is told of calls before they are made. */
  read(
    numbers: readonly number[],
    options?: RpcCallOptions,
    spend?: (calls: number) => void,
  ): Promise<BlockWithExecution[]>
  /** Asked of those that list transfers. */
  list(call: RpcCall, options?: RpcCallOptions): Promise<RpcOutcome>
  /** What trace_filter listed was not all: it is not asked again until abilities are. */
  distrustTraceFilter(): void
  tip(options?: RpcCallOptions): Promise<Tip>
}

export interface Tip {
  readonly head: Header
  /** The newest block that no reorg can take back; undefined while the node names none. */
  readonly final: Header | undefined
}

export function openNode(
  chain: ChainSettings,
  context: Pick<ExplorerContext, 'clock'>,
  options: Partial<RpcOptions> = {},
): ChainNode {
  const rpc = openRpc({ chain: chain.id, rpc: chain.rpc, clock: context.clock, ...options })
  const nodeCapabilities = new CapabilityTracker(rpc, chain.firstBlock, context.clock)
  return {
    chain,
    rpc,
    capabilities: (options) => nodeCapabilities.combined(options),
    known: () => nodeCapabilities.known(),
    each: () => nodeCapabilities.perNode(),
    async read(numbers, options, spend) {
      await nodeCapabilities.combined(options)
      return readFromAny(nodeCapabilities.blockSources(), numbers, options, spend)
    },
    async list(call, options) {
      const [outcome] = await nodeCapabilities.traceFilterNodes().call([call], options)
      return outcome as RpcOutcome
    },
    distrustTraceFilter: () => nodeCapabilities.distrustTraceFilter(),
    tip: (options) => readTip(rpc, chain, options),
  }
}

/** The next way is tried where nobody of one can be asked, or knows so old a block; when all have failed, the one that rests the shortest is waited for. */
async function readFromAny(
  sources: readonly BlockSource[],
  numbers: readonly number[],
  options: RpcCallOptions = {},
  spend: (calls: number) => void = () => {},
): Promise<BlockWithExecution[]> {
  const readFrom = ({ rpc, form }: BlockSource, impatient: boolean) => {
    const results: Rpc['results'] = (calls, asking) => {
      spend(calls.length)
      return rpc.results(calls, { ...asking, skipsBackoff: impatient })
    }
    return readBlocks({ results }, form, numbers, options)
  }
  const left: BlockSource[] = []
  let failure: unknown
  for (const source of sources.length > 1 ? sources : []) {
    try {
      return await readFrom(source, true)
    } catch (error) {
      const code = error instanceof Fault && !options.signal?.aborted ? error.code : undefined
      if (code !== 'explorer.node_unavailable' && code !== 'explorer.not_archive') throw error
      if (code === 'explorer.node_unavailable') left.push(source)
      failure = error
    }
  }
  const waiting = sources.length > 1 ? left : sources
  const [first] = waiting.toSorted((a, b) => a.rpc.backoffRemainingMs() - b.rpc.backoffRemainingMs())
  if (first) return readFrom(first, false)
  throw failure ?? new Error('blocks are read before anybody has said how')
}

async function readTip(rpc: Rpc, { finalityBlocks }: ChainSettings, options?: RpcCallOptions): Promise<Tip> {
  // In this order: what is final now cannot be ahead of what is newest after it.
  const named: RpcCall[] = finalityBlocks === 0 ? [{ ...headerCall('finalized'), acceptsError: true }] : []
  const outcomes = await rpc.call([...named, headerCall('latest')], options)
  const latest = outcomes.at(-1) as RpcOutcome
  if (latest.is !== 'result') throw faultOf(latest)
  const head = toHeader(latest.result)
  const [outcome] =
    finalityBlocks === 0 ? outcomes : await rpc.call([headerCall(Math.max(0, head.number - finalityBlocks))], options)
  const final = outcome?.is === 'result' ? toHeader(outcome.result) : undefined
  if (final && final.number > head.number)
    throw new Fault('explorer.node_unavailable', {
      detail: `block ${final.number} is named as final, and block ${head.number} as the newest: a node has gone back, or two nodes are far apart`,
      retryAfterMs: 5000,
    })
  return { head, final }
}

/** The chain's node, or undefined when none is configured. */
export function findNode(context: ExplorerContext, id: string): ChainNode | undefined {
  const chain = context.settings.explorer.chains.find((one) => one.id === id)
  if (!chain || chain.rpc.length === 0) return undefined
  const { nodes } = context.explorer
  const known = nodes.get(id)
  if (known?.chain === chain) return known
  const node = openNode(chain, context)
  nodes.set(id, node)
  return node
}

/** As nodeOf, for those who cannot do without. */
export function requireNode(context: ExplorerContext, id: string): ChainNode {
  const node = findNode(context, id)
  if (node) return node
  const known = context.settings.explorer.chains.some((one) => one.id === id)
  throw new Fault(known ? 'explorer.node_unavailable' : 'explorer.chain_unsupported', {
    detail: known
      ? `chain ${id} has no node; add one under explorer.chains[].rpc`
      : `chain ${id} is not among explorer.chains`,
  })
}
