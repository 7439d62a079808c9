// What each node of a chain can do, and which of them to ask for what. Each is asked on its own: two nodes that trace may do so by
// different methods, and only one of them may know old state (decision 0149).
//
// 1. One that answers is enough to begin with. The others are waited for a moment longer, and found out about meanwhile.
// 2. What was clear is asked again after an hour, since operators change their nodes; what was not, soon.
import { Fault } from '#core/fault.ts'
import type { Clock } from '../clock.ts'
import { askCapabilities, type Capabilities, together, traceForms } from './capabilities.ts'
import type { AskOptions, Rpc } from './rpc.ts'
import type { ReadForm } from './shapes.ts'

export interface NodeAbilities {
  readonly name: string
  /** undefined: it has not told yet. */
  readonly can: Capabilities | undefined
  readonly trouble: string | undefined
}

/** Nodes that read a block in the same way. */
export interface Way {
  readonly form: ReadForm
  readonly rpc: Rpc
}

interface Entry {
  readonly place: number
  readonly rpc: Rpc
  can: Capabilities | undefined
  /** Why it could not be asked. */
  failure: unknown
  againMs: number
  keptMs: number
  asking: Promise<boolean> | undefined
}

const keptMs = 3_600_000
const unclearKeptMs = 5000
const unclearKeptMaxMs = 60_000
/** How much longer than the first the others are waited for. */
const graceMs = 2000

export class Abilities {
  readonly #rpc: Rpc
  readonly #firstBlock: number
  readonly #clock: Clock
  readonly #entries: readonly Entry[]

  constructor(rpc: Rpc, firstBlock: number, clock: Clock) {
    this.#rpc = rpc
    this.#firstBlock = firstBlock
    this.#clock = clock
    this.#entries = rpc.health().map((_, place) => ({
      ...{ place, rpc: rpc.of([place]), can: undefined, failure: undefined, asking: undefined },
      ...{ againMs: Number.NEGATIVE_INFINITY, keptMs: unclearKeptMs },
    }))
  }

  /** Of all nodes together; of those that have told so far. Throws when none has. */
  async together(options: AskOptions = {}): Promise<Capabilities> {
    const asking = this.#entries.filter((one) => this.#isDue(one)).map((one) => this.#ask(one))
    if (!this.known()) await this.#someone(asking, options)
    const known = this.known()
    if (known) return known
    throw this.#entries.find(({ failure }) => failure !== undefined)?.failure ?? nobody()
  }

  known(): Capabilities | undefined {
    const known = this.#entries.flatMap(({ can }) => (can ? [can] : []))
    return known.length > 0 ? together(known) : undefined
  }

  /** Each, after all have told or failed to. */
  async each(): Promise<readonly NodeAbilities[]> {
    await Promise.all(this.#entries.filter((one) => this.#isDue(one)).map((one) => this.#ask(one)))
    return this.#rpc.health().map((one, place) => ({ ...one, can: this.#entries[place]?.can }))
  }

  /** By the cheapest way first. Nodes that cannot trace are no way where others can. */
  ways(): Way[] {
    const forms: readonly ReadForm[] = this.known()?.traces
      ? traceForms
      : ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
    return forms.flatMap((form) => {
      const places = this.#entries.filter(({ can }) => can?.reads === form).map(({ place }) => place)
      return places.length > 0 ? [{ form, rpc: this.#rpc.of(places) }] : []
    })
  }

  /** The nodes that list transfers over the longest spans. */
  listing(): Rpc {
    const blocks = this.known()?.filterBlocks
    const places = this.#entries.filter(({ can }) => can && can.filterBlocks === blocks).map(({ place }) => place)
    return this.#rpc.of(places)
  }

  /** Nobody's lists are believed until abilities are asked for again. */
  refuteLists(): void {
    for (const one of this.#entries)
      if (one.can) one.can = { ...one.can, has: { ...one.can.has, trace_filter: false }, filterBlocks: 0 }
  }

  #isDue({ againMs, asking }: Entry): boolean {
    return asking !== undefined || this.#clock.monotonicMs() >= againMs || this.known() === undefined
  }

  /** Whether it told; never throws. */
  #ask(one: Entry): Promise<boolean> {
    one.asking ??= this.#told(one).finally(() => {
      one.asking = undefined
    })
    return one.asking
  }

  async #told(one: Entry): Promise<boolean> {
    try {
      one.can = await askCapabilities(one.rpc, this.#firstBlock, this.#clock)
      one.failure = undefined
    } catch (error) {
      one.failure = error
    }
    const isClear = one.failure === undefined && one.can?.isClear === true
    one.keptMs = isClear ? keptMs : one.keptMs === keptMs ? unclearKeptMs : Math.min(2 * one.keptMs, unclearKeptMaxMs)
    one.againMs = this.#clock.monotonicMs() + one.keptMs
    return one.failure === undefined
  }

  /** Until all have told, the first has and the others had their moment, or the caller's time is over. */
  async #someone(asking: readonly Promise<boolean>[], { untilMs, signal }: AskOptions): Promise<void> {
    const done = new AbortController()
    const stop = signal ? AbortSignal.any([signal, done.signal]) : done.signal
    const first = new Promise<void>((resolve) => {
      for (const one of asking) void one.then((told) => told && resolve())
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

const nobody = (): Fault =>
  new Fault('explorer.node_unavailable', { detail: 'no node has said in time what it can do', retryAfterMs: 5000 })
