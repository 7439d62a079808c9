// What each node of a chain can do, and which of them to ask for what. Each is asked on its own: two nodes that trace may do so by
// different methods, and only one of them may know old state (behaviour/explorer.md#node-capabilities).
//
// 1. One that answers is enough to begin with. The others are waited for a moment longer, and found out about meanwhile.
// 2. What was clear is asked again after an hour, since operators change their nodes; what was not, soon.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import { type Capabilities, detectCapabilities, together, traceForms } from './capabilities.ts'
import type { Rpc, RpcCallOptions } from './rpc.ts'
import type { ReadForm } from './types.ts'

export interface NodeCapabilities {
  readonly name: string
  /** undefined: it has not told yet. */
  readonly can: Capabilities | undefined
  readonly trouble: string | undefined
}

/** Nodes that read a block in the same way. */
export interface BlockSource {
  readonly form: ReadForm
  readonly rpc: Rpc
}

interface Entry {
  readonly index: number
  readonly rpc: Rpc
  can: Capabilities | undefined
  /** Why it could not be asked. */
  failure: unknown
  retryAtMs: number
  keptMs: number
  pending: Promise<boolean> | undefined
}

const keptMs = 3_600_000
const unclearKeptMs = 5000
const unclearKeptMaxMs = 60_000
/** How much longer than the first the others are waited for. */
const graceMs = 2000

export class CapabilityTracker {
  readonly #rpc: Rpc
  readonly #firstBlock: number
  readonly #clock: Clock
  readonly #entries: readonly Entry[]

  constructor(rpc: Rpc, firstBlock: number, clock: Clock) {
    this.#rpc = rpc
    this.#firstBlock = firstBlock
    this.#clock = clock
    this.#entries = rpc.health().map((_, index) => ({
      ...{ index, rpc: rpc.of([index]), can: undefined, failure: undefined, pending: undefined },
      ...{ retryAtMs: Number.NEGATIVE_INFINITY, keptMs: unclearKeptMs },
    }))
  }

  /** Of all nodes together; of those that have told so far. Throws when none has. */
  async combined(options: RpcCallOptions = {}): Promise<Capabilities> {
    const pending = this.#entries.filter((one) => this.#isDue(one)).map((one) => this.#query(one))
    if (!this.known()) await this.#waitForFirst(pending, options)
    const known = this.known()
    if (known) return known
    throw this.#entries.find(({ failure }) => failure !== undefined)?.failure ?? noNodeFault()
  }

  known(): Capabilities | undefined {
    const known = this.#entries.flatMap(({ can }) => (can ? [can] : []))
    return known.length > 0 ? together(known) : undefined
  }

  /** Each, after all have told or failed to. */
  async perNode(): Promise<readonly NodeCapabilities[]> {
    await Promise.all(this.#entries.filter((one) => this.#isDue(one)).map((one) => this.#query(one)))
    return this.#rpc.health().map((one, index) => ({ ...one, can: this.#entries[index]?.can }))
  }

  /** By the cheapest way first. Nodes that cannot trace are no way where others can. */
  blockSources(): BlockSource[] {
    const forms: readonly ReadForm[] = this.known()?.traces
      ? traceForms
      : ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
    return forms.flatMap((form) => {
      const indices = this.#entries.filter(({ can }) => can?.reads === form).map(({ index }) => index)
      return indices.length > 0 ? [{ form, rpc: this.#rpc.of(indices) }] : []
    })
  }

  /** The nodes that list transfers over the longest spans. */
  traceFilterNodes(): Rpc {
    const blocks = this.known()?.filterBlocks
    const indices = this.#entries.filter(({ can }) => can && can.filterBlocks === blocks).map(({ index }) => index)
    return this.#rpc.of(indices)
  }

  /** Nobody's lists are believed until abilities are asked for again. */
  distrustTraceFilter(): void {
    for (const one of this.#entries)
      if (one.can) one.can = { ...one.can, has: { ...one.can.has, trace_filter: false }, filterBlocks: 0 }
  }

  #isDue({ retryAtMs: againMs, pending: asking }: Entry): boolean {
    return asking !== undefined || this.#clock.monotonicMs() >= againMs || this.known() === undefined
  }

  /** Whether it told; never throws. */
  #query(one: Entry): Promise<boolean> {
    one.pending ??= this.#detect(one).finally(() => {
      one.pending = undefined
    })
    return one.pending
  }

  async #detect(one: Entry): Promise<boolean> {
    try {
      one.can = await detectCapabilities(one.rpc, this.#firstBlock, this.#clock)
      one.failure = undefined
    } catch (error) {
      one.failure = error
    }
    const isClear = one.failure === undefined && one.can?.isClear === true
    one.keptMs = isClear ? keptMs : one.keptMs === keptMs ? unclearKeptMs : Math.min(2 * one.keptMs, unclearKeptMaxMs)
    one.retryAtMs = this.#clock.monotonicMs() + one.keptMs
    return one.failure === undefined
  }

  /** Until all have told, the first has and the others had their moment, or the caller's time is over. */
  async #waitForFirst(asking: readonly Promise<boolean>[], { untilMs, signal }: RpcCallOptions): Promise<void> {
    const done = new AbortController()
    const stop = signal ? AbortSignal.any([signal, done.signal]) : done.signal
    const first = new Promise<void>((resolve) => {
      for (const one of asking) void one.then((isDone) => isDone && resolve())
    })
    const ends = [Promise.all(asking), first.then(() => this.#clock.sleep(graceMs, stop))]
    if (untilMs !== undefined && untilMs < Number.POSITIVE_INFINITY)
      ends.push(this.#clock.sleep(Math.max(0, untilMs - this.#clock.monotonicMs()), stop))
    try {
      await Promise.race<unknown>(ends)
    } finally {
      done.abort()
    }
  }
}

const noNodeFault = (): Fault =>
  new Fault('explorer.node_unavailable', { detail: 'no node has said in time what it can do', retryAfterMs: 5000 })
