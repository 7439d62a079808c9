// The nodes behind each chain, opened when first needed and kept for as long as the settings are: everything a node
// needs is on the desk already, so nothing has to be handed through the house.
import { Fault } from '#core/fault.ts'
import type { ChainSettings } from '#core/settings/explorer.ts'
import { headerCall, toHeader } from '#io/evm/blocks.ts'
import { askCapabilities, type Capabilities } from '#io/evm/capabilities.ts'
import { type AskOptions, openRpc, type Rpc, type RpcOptions } from '#io/evm/rpc.ts'
import type { Header } from '#io/evm/shapes.ts'
import type { Desk } from '#serve/answer.ts'

export interface ChainNode {
  readonly chain: ChainSettings
  readonly rpc: Rpc
  /** Asked once and kept; asked again while no node has answered. */
  capabilities(options?: AskOptions): Promise<Capabilities>
  /** What was answered last, if anything was. */
  known(): Capabilities | undefined
  /** What trace_filter listed was not all: it is not asked again until abilities are. */
  refuteLists(): void
  tip(options?: AskOptions): Promise<Tip>
}

export interface Tip {
  readonly head: Header
  /** The newest block that no reorg can take back; undefined while the node names none. */
  readonly final: Header | undefined
}

/** Abilities change when an operator changes the node; an hour is soon enough to notice. */
const capabilitiesKeptMs = 3_600_000

export function openNode(
  chain: ChainSettings,
  desk: Pick<Desk, 'clock'>,
  options: Partial<RpcOptions> = {},
): ChainNode {
  const rpc = openRpc({ chain: chain.id, rpc: chain.rpc, clock: desk.clock, ...options })
  let asked: { readonly atMs: number; readonly answer: Promise<Capabilities> } | undefined
  let known: Capabilities | undefined
  return {
    chain,
    rpc,
    capabilities({ untilMs } = {}) {
      const nowMs = desk.clock.monotonicMs()
      if (asked && nowMs - asked.atMs < capabilitiesKeptMs) return asked.answer
      const asking = { atMs: nowMs, answer: askCapabilities(rpc, chain.firstBlock, untilMs) }
      asked = asking
      asking.answer.then(
        (can) => {
          known = can
        },
        () => {
          if (asked === asking) asked = undefined
        },
      )
      return asking.answer
    },
    known: () => known,
    refuteLists() {
      const before = asked
      if (!before) return
      const without = before.answer.then((can) => ({
        ...can,
        has: { ...can.has, trace_filter: false },
        filterBlocks: 0,
      }))
      asked = { ...before, answer: without }
    },
    async tip(options) {
      const [latest] = await rpc.results([headerCall('latest')], options)
      const head = toHeader(latest)
      const [outcome] = await rpc.ask([{ ...headerCall(finalTag(chain, head.number)), errorIsAnswer: true }], options)
      const final = outcome?.is === 'result' ? toHeader(outcome.result) : undefined
      // Two nodes may have answered: what is final for one may lie ahead of the other.
      return { head, final: final && final.number <= head.number ? final : undefined }
    },
  }
}

const finalTag = ({ finalityBlocks }: ChainSettings, head: number): number | 'finalized' =>
  finalityBlocks === 0 ? 'finalized' : Math.max(0, head - finalityBlocks)

/** All that a node needs. */
export type NodeDesk = Pick<Desk, 'settings' | 'clock'>

const opened = new WeakMap<Desk['settings'], Map<string, ChainNode>>()

/** The chain's node, or undefined when none is configured. */
export function nodeOf(desk: NodeDesk, id: string): ChainNode | undefined {
  const chain = desk.settings.explorer.chains.find((one) => one.id === id)
  if (!chain || chain.rpc.length === 0) return undefined
  const nodes = opened.get(desk.settings) ?? new Map<string, ChainNode>()
  opened.set(desk.settings, nodes)
  const known = nodes.get(id)
  if (known) return known
  const node = openNode(chain, desk)
  nodes.set(id, node)
  return node
}

/** As nodeOf, for those who cannot do without. */
export function needNode(desk: NodeDesk, id: string): ChainNode {
  const node = nodeOf(desk, id)
  if (node) return node
  const known = desk.settings.explorer.chains.some((one) => one.id === id)
  throw new Fault(known ? 'explorer.node_unavailable' : 'explorer.chain_unsupported', {
    detail: known
      ? `chain ${id} has no node; add one under explorer.chains[].rpc`
      : `chain ${id} is not among explorer.chains`,
  })
}
