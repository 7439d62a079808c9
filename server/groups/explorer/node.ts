// The nodes behind each chain, opened when first needed and kept for as long as the settings are: everything a node
// needs is in the context already.
import { Fault } from '#core/fault.ts'
import type { ChainSettings } from '#core/settings/explorer.ts'
import { Abilities, type NodeAbilities, type Way } from '#io/evm/abilities.ts'
import { headerCall, readBlocks, toHeader } from '#io/evm/blocks.ts'
import type { Capabilities } from '#io/evm/capabilities.ts'
import type { RpcOutcome } from '#io/evm/outcomes.ts'
import { type AskOptions, faultOf, openRpc, type Rpc, type RpcCall, type RpcOptions } from '#io/evm/rpc.ts'
import type { Header, SeenBlock } from '#io/evm/shapes.ts'
import type { ExplorerContext } from './context.ts'

export interface ChainNode {
  readonly chain: ChainSettings
  readonly rpc: Rpc
  /** Of all nodes together. Asked once and kept; asked again while no node has answered. */
  capabilities(options?: AskOptions): Promise<Capabilities>
  /** What was answered last, if anything was. */
  known(): Capabilities | undefined
  /** Of each node, after all have been asked. */
  each(): Promise<readonly NodeAbilities[]>
  /** Whole blocks in the order of the numbers, by the nodes that can, each in its own way. `spend` is told of calls before they are made. */
  read(numbers: readonly number[], options?: AskOptions, spend?: (calls: number) => void): Promise<SeenBlock[]>
  /** Asked of those that list transfers. */
  list(call: RpcCall, options?: AskOptions): Promise<RpcOutcome>
  /** What trace_filter listed was not all: it is not asked again until abilities are. */
  refuteLists(): void
  tip(options?: AskOptions): Promise<Tip>
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
  const abilities = new Abilities(rpc, chain.firstBlock, context.clock)
  return {
    chain,
    rpc,
    capabilities: (asking) => abilities.together(asking),
    known: () => abilities.known(),
    each: () => abilities.each(),
    async read(numbers, asking, spend) {
      await abilities.together(asking)
      return readBy(abilities.ways(), numbers, asking, spend)
    },
    async list(call, asking) {
      const [outcome] = await abilities.listing().ask([call], asking)
      return outcome as RpcOutcome
    },
    refuteLists: () => abilities.refuteLists(),
    tip: (asking) => tipOf(rpc, chain, asking),
  }
}

/** The next way is tried where nobody of one can be asked, or knows so old a block; when all have failed, the one that rests the shortest is waited for. */
async function readBy(
  ways: readonly Way[],
  numbers: readonly number[],
  options: AskOptions = {},
  spend: (calls: number) => void = () => {},
): Promise<SeenBlock[]> {
  const by = ({ rpc, form }: Way, impatient: boolean) => {
    const results: Rpc['results'] = (calls, asking) => {
      spend(calls.length)
      return rpc.results(calls, { ...asking, impatient })
    }
    return readBlocks({ results }, form, numbers, options)
  }
  const left: Way[] = []
  let failure: unknown
  for (const way of ways.length > 1 ? ways : []) {
    try {
      return await by(way, true)
    } catch (error) {
      const code = error instanceof Fault && !options.signal?.aborted ? error.code : undefined
      if (code !== 'explorer.node_unavailable' && code !== 'explorer.not_archive') throw error
      if (code === 'explorer.node_unavailable') left.push(way)
      failure = error
    }
  }
  const waiting = ways.length > 1 ? left : ways
  const [first] = waiting.toSorted((a, b) => a.rpc.restingMs() - b.rpc.restingMs())
  if (first) return by(first, false)
  throw failure ?? new Error('blocks are read before anybody has said how')
}

async function tipOf(rpc: Rpc, { finalityBlocks }: ChainSettings, options?: AskOptions): Promise<Tip> {
  // In this order: what is final now cannot be ahead of what is newest after it.
  const named: RpcCall[] = finalityBlocks === 0 ? [{ ...headerCall('finalized'), errorIsAnswer: true }] : []
  const outcomes = await rpc.ask([...named, headerCall('latest')], options)
  const latest = outcomes.at(-1) as RpcOutcome
  if (latest.is !== 'result') throw faultOf(latest)
  const head = toHeader(latest.result)
  const [outcome] =
    finalityBlocks === 0 ? outcomes : await rpc.ask([headerCall(Math.max(0, head.number - finalityBlocks))], options)
  const final = outcome?.is === 'result' ? toHeader(outcome.result) : undefined
  if (final && final.number > head.number)
    throw new Fault('explorer.node_unavailable', {
      detail: `block ${final.number} is named as final, and block ${head.number} as the newest: a node has gone back, or two nodes are far apart`,
      retryAfterMs: 5000,
    })
  return { head, final }
}

/** The chain's node, or undefined when none is configured. */
export function nodeOf(context: ExplorerContext, id: string): ChainNode | undefined {
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
export function needNode(context: ExplorerContext, id: string): ChainNode {
  const node = nodeOf(context, id)
  if (node) return node
  const known = context.settings.explorer.chains.some((one) => one.id === id)
  throw new Fault(known ? 'explorer.node_unavailable' : 'explorer.chain_unsupported', {
    detail: known
      ? `chain ${id} has no node; add one under explorer.chains[].rpc`
      : `chain ${id} is not among explorer.chains`,
  })
}
