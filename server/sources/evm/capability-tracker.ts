// Tracks the capabilities of each node of a chain and selects nodes by them. Nodes are tested separately: two nodes may
// trace by different methods, or only one may have historical state (behaviour/explorer.md#node-capabilities).
//
// 1. One tested node is enough to start. The others get a moment longer and are tested in the background.
// 2. A clear result is tested again after an hour, because operators change nodes. An unclear one is tested again soon.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import { type Capabilities, combineCapabilities, detectCapabilities, traceForms } from './capabilities.ts'
import type { Rpc, RpcCallOptions } from './rpc.ts'
import type { ReadForm, ReceiptForm } from './types.ts'
import { waitForFirst } from './wait-for-first.ts'

export interface NodeCapabilities {
  readonly name: string
  /** Undefined until the node has been tested. */
  readonly can: Capabilities | undefined
  readonly trouble: string | undefined
}

/** Nodes that read blocks by the same methods. */
export interface BlockSource {
  readonly form: ReadForm
  /** For blocks after the Amsterdam fork; undefined: `form` for all blocks. */
  readonly logs: ReceiptForm | undefined
  /** The header of a block of this chain after the Amsterdam fork had the hash of the block. */
  readonly verifiesHeaders: boolean
  readonly rpc: Rpc
}

/** Nodes that list traces with trace_filter. */
export interface TraceFilter {
  /** By index. */
  readonly nodes: readonly number[]
  /** The longest range of blocks that they support. */
  readonly blocks: number
}

const clearMs = 3_600_000
const unclearMs = 5000
const unclearMaxMs = 60_000
/** Time for the other nodes after the first has been tested. */
const graceMs = 2000

const createEntry = (rpc: Rpc, index: number) => ({
  index,
  rpc: rpc.of([index]),
  can: undefined as Capabilities | undefined,
  /** Why the last test failed. */
  failure: undefined as unknown,
  retryAtMs: Number.NEGATIVE_INFINITY,
  validMs: unclearMs,
  pending: undefined as Promise<boolean> | undefined,
})

type Entry = ReturnType<typeof createEntry>

export type CapabilityTracker = ReturnType<typeof createCapabilityTracker>

export function createCapabilityTracker(rpc: Rpc, firstBlock: number, clock: Clock) {
  const entries = rpc.health().map((_, index) => createEntry(rpc, index))

  function known(): Capabilities | undefined {
    const tested = entries.flatMap(({ can }) => (can ? [can] : []))
    return tested.length > 0 ? combineCapabilities(tested) : undefined
  }

  function isDue({ retryAtMs, pending }: Entry): boolean {
    return pending !== undefined || clock.monotonicMs() >= retryAtMs || known() === undefined
  }

  /** Whether the test succeeded; never throws. */
  function query(entry: Entry): Promise<boolean> {
    entry.pending ??= detect(entry).finally(() => {
      entry.pending = undefined
    })
    return entry.pending
  }

  async function detect(entry: Entry): Promise<boolean> {
    try {
      entry.can = await detectCapabilities(entry.rpc, firstBlock, clock)
      entry.failure = undefined
    } catch (error) {
      entry.failure = error
    }
    const isClear = entry.failure === undefined && entry.can?.isClear === true
    if (isClear) entry.validMs = clearMs
    else entry.validMs = entry.validMs === clearMs ? unclearMs : Math.min(2 * entry.validMs, unclearMaxMs)
    entry.retryAtMs = clock.monotonicMs() + entry.validMs
    return entry.failure === undefined
  }

  return {
    known,
    /** The capabilities of all tested nodes together. Throws if there are none. */
    async combined(options: RpcCallOptions = {}): Promise<Capabilities> {
      const pending = entries.filter(isDue).map(query)
      if (!known()) await waitForFirst(clock, pending, graceMs, options)
      const capabilities = known()
      if (capabilities) return capabilities
      throw entries.find(({ failure }) => failure !== undefined)?.failure ?? noNodeFault()
    },

    /** Waits until every node has been tested. */
    async perNode(): Promise<readonly NodeCapabilities[]> {
      await Promise.all(entries.filter(isDue).map(query))
      return rpc.health().map((health, index) => ({ ...health, can: entries[index]?.can }))
    },

    /**
     * Cheapest method first, but before all of them that of the node `first`. Nodes without traces are left out if others
     * have traces.
     */
    blockSources(first?: number): BlockSource[] {
      const forms: readonly ReadForm[] = known()?.traces
        ? traceForms
        : ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
      const verifiesHeaders = known()?.has['header hash'] === true
      const sources = forms.flatMap((form) => {
        const reading = entries.filter(({ can }) => can?.reads === form)
        return logForms.flatMap((logs) => {
          const indices = reading.filter(({ can }) => can?.logs === logs).map(({ index }) => index)
          return indices.length > 0 ? [{ indices, source: { form, logs, verifiesHeaders, rpc: rpc.of(indices) } }] : []
        })
      })
      const isFirst = ({ indices }: { readonly indices: readonly number[] }) =>
        Number(indices.some((at) => at === first))
      return sources.toSorted((a, b) => isFirst(b) - isFirst(a)).map(({ source }) => source)
    },

    /** How each node reads internal transfers; undefined: it cannot, or has not been tested. */
    transferSources(): (BlockSource | undefined)[] {
      const verifiesHeaders = known()?.has['header hash'] === true
      return entries.map(({ can, rpc }) =>
        can?.traces || can?.logs ? { form: can.reads, logs: can.logs, verifiesHeaders, rpc } : undefined,
      )
    },

    /** Of the nodes that fit, those whose trace_filter supports the longest ranges; undefined: there are none. */
    traceFilter(fits: (index: number) => boolean): TraceFilter | undefined {
      const fitting = entries.filter(({ can, index }) => can?.has.trace_filter && fits(index))
      const blocks = Math.max(0, ...fitting.map(({ can }) => can?.filterBlocks ?? 0))
      const indices = fitting.filter(({ can }) => can?.filterBlocks === blocks).map(({ index }) => index)
      return indices.length > 0 ? { nodes: indices, blocks } : undefined
    },

    /** Tests these nodes again within a minute, because they refuse a method that they supported. */
    testAgain(indices: readonly number[]): void {
      for (const entry of entries)
        if (indices.includes(entry.index))
          entry.retryAtMs = Math.min(entry.retryAtMs, clock.monotonicMs() + unclearMaxMs)
    },

    /** Nodes with traces do not use logs until the next test, because logs contradicted a block. */
    distrustLogs(): void {
      for (const entry of entries) {
        if (!entry.can?.traces || !entry.can.logs) continue
        entry.can = { ...entry.can, has: { ...entry.can.has, 'transfer logs': false }, logs: undefined }
        entry.retryAtMs = clock.monotonicMs() + unclearMaxMs
      }
    },
  }
}

const logForms: readonly (ReceiptForm | undefined)[] = ['eth_getBlockReceipts', 'eth_getTransactionReceipt', undefined]

const noNodeFault = (): Fault =>
  new Fault('explorer.node_unavailable', { detail: 'no node could be tested in time', retryAfterMs: 5000 })
