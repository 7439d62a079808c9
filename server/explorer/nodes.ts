// Access to the nodes of a chain: their capabilities, blocks with traces, trace_filter and the newest blocks. Nodes are
// opened when they are first needed.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import type { ChainSettings } from '#runtime/settings/explorer.ts'
import { readBlocks } from '#sources/evm/blocks.ts'
import { type BlockSource, type CapabilityTracker, createCapabilityTracker } from '#sources/evm/capability-tracker.ts'
import { openRpc, type Rpc, type RpcCallOptions, type RpcOptions } from '#sources/evm/rpc.ts'
import type { BlockWithExecution } from '#sources/evm/types.ts'
import type { ExplorerContext } from './context.ts'
import { readTip, type Tip } from './tip.ts'

export type ChainNode = ReturnType<typeof openNode>

export function openNode(
  chain: ChainSettings,
  { clock }: { readonly clock: Clock },
  rpcOptions: Partial<RpcOptions> = {},
) {
  const rpc = openRpc({ chain: chain.id, rpc: chain.rpc, clock, ...rpcOptions })
  const tracker = createCapabilityTracker(rpc, chain.firstBlock, clock)
  let last: { readonly tip: Tip; readonly atMs: number } | undefined
  let refreshing: Promise<void> | undefined
  async function tip(options?: RpcCallOptions): Promise<Tip> {
    const atMs = clock.monotonicMs()
    const read = await readTip(rpc, chain, clock, options)
    last = { tip: read, atMs }
    return read
  }
  return {
    chain,
    rpc,
    /** The first block after the Amsterdam fork, once a search has found it. A reorganisation may move it. */
    amsterdam: { firstBlock: undefined as number | undefined },
    /** Of all nodes together, cached. Tested again until a node has answered. */
    capabilities: tracker.combined,
    /** The cached capabilities; undefined before a node has answered. */
    known: tracker.known,
    /** Of each node, after all have been tested. */
    each: tracker.perNode,
    /** Blocks with their execution, in the order of `numbers`. `spend` gets the number of calls before they are made. */
    async read(numbers: readonly number[], options?: RpcCallOptions, spend?: (calls: number) => void) {
      await tracker.combined(options)
      const blocks = await readFromAny(tracker.blockSources(options?.first), numbers, options, spend)
      if (blocks.some(({ execution }) => execution.form === 'traced' && execution.contradiction !== undefined))
        tracker.distrustLogs()
      return blocks
    },
    /** A block with its execution from each node; a text: why it is not known. Does not wait for nodes that failed. */
    readFromEach: (number: number, options?: RpcCallOptions) => readFromEach(rpc, tracker, number, options),
    /** The nodes for trace_filter, of those that fit. */
    traceFilter: tracker.traceFilter,
    testAgain: tracker.testAgain,
    /** Stops using logs where traces can be used, because logs contradicted a block. */
    distrustLogs: tracker.distrustLogs,
    tip,
    /** What the last comparison found; undefined: the nodes have not been compared. */
    lastTip: () => last?.tip,
    /** Compares the nodes, if that is `maxAgeMs` ago. Never throws: a node that fails is reported by `rpc.health`. */
    async refreshTip(maxAgeMs: number, options: RpcCallOptions): Promise<void> {
      if (last && clock.monotonicMs() - last.atMs < maxAgeMs) return
      refreshing ??= tip(options)
        .then(
          () => {},
          () => {},
        )
        .finally(() => {
          refreshing = undefined
        })
      await refreshing
    },
  }
}

/** The chain is young: its nodes have no final block yet. False before they have been tested. */
export function isAwaitingFinality({ chain, known }: Pick<ChainNode, 'chain' | 'known'>): boolean {
  const capabilities = known()
  return chain.finalityBlocks === 0 && capabilities?.awaitsFinality === true && !capabilities.has['finalized block']
}

/**
 * Tries each source in turn if no node of the previous one responds or has the state of the block. If all fail, waits
 * for the source with the shortest backoff.
 */
async function readFromAny(
  sources: readonly BlockSource[],
  numbers: readonly number[],
  options: RpcCallOptions = {},
  spend: (calls: number) => void = () => {},
): Promise<BlockWithExecution[]> {
  const readFrom = ({ rpc, form, logs, verifiesHeaders }: BlockSource, skipsBackoff: boolean) => {
    const results: Rpc['results'] = (calls, callOptions) => {
      spend(calls.length)
      return rpc.results(calls, callOptions)
    }
    return readBlocks({ results }, form, numbers, { ...options, logs, verifiesHeaders, skipsBackoff })
  }
  const unavailable: BlockSource[] = []
  let failure: unknown
  for (const source of sources.length > 1 ? sources : []) {
    try {
      return await readFrom(source, true)
    } catch (error) {
      const code = error instanceof Fault && !options.signal?.aborted ? error.code : undefined
      if (code !== 'explorer.node_unavailable' && code !== 'explorer.not_archive') throw error
      if (code === 'explorer.node_unavailable') unavailable.push(source)
      failure = error
    }
  }
  const retryable = sources.length > 1 ? unavailable : sources
  const [first] = retryable.toSorted((a, b) => a.rpc.backoffRemainingMs() - b.rpc.backoffRemainingMs())
  if (first) return readFrom(first, false)
  throw failure ?? new Error('no source of blocks: the capabilities of the nodes have not been tested')
}

async function readFromEach(rpc: Rpc, capabilities: CapabilityTracker, number: number, options: RpcCallOptions = {}) {
  const sources = capabilities.transferSources()
  return Promise.all(
    rpc.health().map(async ({ name, trouble }, index) => {
      const source = sources[index]
      if (!source) return { name, answer: trouble ?? 'it has no traces' }
      try {
        const { form, logs, verifiesHeaders } = source
        const [block] = await readBlocks(source.rpc, form, [number], {
          ...options,
          logs,
          verifiesHeaders,
          skipsBackoff: true,
        })
        const answer = block?.execution.form === 'receipts' ? 'it has no traces' : block
        return { name, answer: answer ?? 'it returned no block' }
      } catch (error) {
        options.signal?.throwIfAborted()
        if (!(error instanceof Fault)) throw error
        return { name, answer: error.message }
      }
    }),
  )
}

/** The chain's node, or undefined when none is configured. */
export function findNode(context: ExplorerContext, id: string): ChainNode | undefined {
  const chain = context.settings.explorer.chains.find((candidate) => candidate.id === id)
  if (!chain || chain.rpc.length === 0) return undefined
  const { nodes } = context.explorer
  const known = nodes.get(id)
  if (known?.chain === chain) return known
  const node = openNode(chain, context)
  nodes.set(id, node)
  return node
}

export interface NodeHealth {
  readonly name: string
  /** Why it cannot be used; undefined: it responds. */
  readonly trouble: string | undefined
  /** How far it is behind another node. */
  readonly behind: string | undefined
}

/** As far as this thread and the thread of the index know. */
export const nodeHealth = (
  { explorer }: Pick<ExplorerContext, 'explorer'>,
  { chain, rpc, lastTip }: Pick<ChainNode, 'chain' | 'rpc' | 'lastTip'>,
): readonly NodeHealth[] => {
  const reported = explorer.reportedTroubles.get(chain.id)
  const behind = lastTip()?.behind
  return rpc
    .health()
    .map(({ name, trouble }, at) => ({ name, trouble: trouble ?? reported?.[at], behind: behind?.get(at) }))
}

/** One problem of each node that has one, with its name. */
export const describeNodes = (nodes: readonly NodeHealth[]): string[] =>
  nodes.flatMap(({ name, trouble, behind }) => {
    const problem = trouble ?? behind
    return problem === undefined ? [] : [problem.includes(name) ? problem : `${name}: ${problem}`]
  })

/** Like findNode, but throws if the chain has no node. */
export function requireNode(context: ExplorerContext, id: string): ChainNode {
  const node = findNode(context, id)
  if (node) return node
  const known = context.settings.explorer.chains.some((chain) => chain.id === id)
  if (!known) throw new Fault('explorer.chain_unsupported', { detail: `chain ${id} is not in explorer.chains` })
  throw new Fault('explorer.node_unavailable', {
    message: `Chain ${id} has no node. Add one under explorer.chains[].rpc.`,
  })
}
