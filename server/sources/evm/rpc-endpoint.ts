// The line to one node: its rate limit, its batch size, whether it is well, and whether it is on the right chain.
//
// 1. No rolling second carries more calls than `perSecond` to the node, as it sees them come; every member of a batch counts.
// 2. A line is used only after the node behind it has named the right chain; after a failure it is asked again.
// 3. A line that failed rests, longer each time, and is then tried again: it is never given up for good.
// 4. A request that is too large for the node, or takes it too long, is repeated with half as many calls (batch-size.ts).

import type { Clock } from '#runtime/clock.ts'
import type { RpcSettings } from '#runtime/settings/explorer.ts'
import { FetchError, type FetchOptions } from '../http-client.ts'
import type { DecodableCall, RpcOutcome } from './batch-results.ts'
import { BatchSize } from './batch-size.ts'
import { decodeBatch } from './decoder.ts'
import { isWholeBlock } from './large-results.ts'
import { kindOf } from './node-errors.ts'

export interface RpcCall extends DecodableCall {
  readonly params: readonly unknown[]
  /** The options of callTracer are added as the last parameter, with a time limit that ends before the request's. */
  readonly isTraced?: true
  /** An error is as good an answer as any: not asked again. */
  readonly acceptsError?: true
}

/** Bytes as they come, so that a large answer need not be taken apart on this thread. */
export type Post = (address: string, options: FetchOptions) => Promise<Uint8Array | string>

export interface Counts {
  calls: number
  /** Requests sent, each with one call or a batch. */
  rounds: number
}

/** Traces of a full block are large; more than this is a broken node. */
const bytesMax = 256 * 1024 * 1024
/** Whole blocks asked for at once: already taking in more than this holds the thread up (decisions/decode-large-node-answers-on-a-thread.md). */
const wholeMax = 4
const backoffMaxMs = 15_000
/** A refused connection costs nothing, so it is tried often. */
const unreachableBackoffMaxMs = 1000
/** However long a node asks to be left alone. */
const requestedBackoffMaxMs = 60_000
const fairMs = 1000
const secondMs = 1000
/** A request that has not been answered reaches its node within this time, or hardly ever. */
const transitMaxMs = 250
const wrongChainBackoffMs = 60_000

/** Calls that a node may have seen come until now, and counts until `endMs`. */
interface SentCalls {
  endMs: number
  readonly calls: number
}

export class RpcEndpoint {
  readonly name: string
  readonly #settings: RpcSettings
  readonly #chain: string
  readonly #clock: Clock
  readonly #post: Post
  readonly #counts: Counts
  readonly #backoffMs: number
  #sent: SentCalls[] = []
  readonly #batch: BatchSize
  readonly #wholeBatch: BatchSize
  #nextId = 1
  #failures = 0
  #backoffUntilMs = 0
  #verified = false
  #wrongChain = false
  trouble: string | undefined
  /** The last request found nobody at the address. */
  isUnreachable = false

  constructor(
    name: string,
    settings: RpcSettings,
    chain: string,
    clock: Clock,
    counts: Counts,
    post: Post,
    backoffMs: number,
  ) {
    this.name = name
    this.#settings = settings
    this.#chain = chain
    this.#clock = clock
    this.#counts = counts
    this.#post = post
    this.#backoffMs = backoffMs
    this.#batch = new BatchSize(settings.batchMax)
    this.#wholeBatch = new BatchSize(Math.min(wholeMax, settings.batchMax))
  }

  /** Not to be waited for: whoever is behind it has to be corrected first. */
  get isRefused(): boolean {
    return this.#wrongChain && this.backoffRemainingMs() > 0
  }

  /** How long until it may be asked again; 0 when it is well. */
  backoffRemainingMs(): number {
    return Math.max(0, this.#backoffUntilMs - this.#clock.monotonicMs())
  }

  /** Outcomes in the order of the calls. Throws FetchError when the node could not be asked at all. */
  async call(calls: readonly RpcCall[], untilMs: number, signal?: AbortSignal): Promise<RpcOutcome[]> {
    const outcomes: RpcOutcome[] = []
    try {
      if (!this.#verified) await this.#verify(untilMs, signal)
      while (outcomes.length < calls.length) {
        const size = this.#sizeFor(calls[outcomes.length])
        const part = calls.slice(outcomes.length, outcomes.length + this.#partMax(size))
        const answered = await this.#sendSized(part, size, untilMs, signal)
        if (answered) outcomes.push(...answered)
      }
      this.#failures = 0
      this.trouble = undefined
      this.isUnreachable = false
      return outcomes
    } catch (error) {
      if (!(error instanceof FetchError) || error.failure === 'stopped') throw error
      // Parts that were answered before the failure count; the rest is asked elsewhere.
      if (!this.isRefused) this.#backOffAfter(error)
      if (outcomes.length === 0) throw error
      return calls.map((_, at) => outcomes[at] ?? unusableAfter(error))
    }
  }

  /** Something was wrong with it: leave it alone for a while. */
  backOff(why: string, forMs = Math.min(this.#backoffMs * 2 ** Math.min(this.#failures, 10), backoffMaxMs)): void {
    this.#failures += 1
    this.#verified = false
    this.#backoffUntilMs = this.#clock.monotonicMs() + forMs
    this.trouble = why
  }

  #backOffAfter({ message, retryAfterMs, failure }: FetchError): void {
    this.isUnreachable = failure === 'network'
    if (this.isUnreachable)
      this.backOff(message, Math.min(this.#backoffMs * 2 ** Math.min(this.#failures, 10), unreachableBackoffMaxMs))
    else if (retryAfterMs === undefined) this.backOff(message)
    else this.backOff(message, Math.min(retryAfterMs, requestedBackoffMaxMs))
  }

  #sizeFor(next: RpcCall | undefined): BatchSize {
    return next?.resultKind && isWholeBlock(next.resultKind) ? this.#wholeBatch : this.#batch
  }

  #partMax(size: BatchSize): number {
    const { perSecond } = this.#settings
    return Math.min(this.#batch.now, size.now, perSecond > 0 ? perSecond : size.now)
  }

  /** The outcomes from the first call on that the node answered in this request; undefined: none, and fewer are sent next time. */
  async #sendSized(
    part: readonly RpcCall[],
    size: BatchSize,
    untilMs: number,
    signal?: AbortSignal,
  ): Promise<readonly RpcOutcome[] | undefined> {
    const isAlone = part.length === 1
    try {
      const answered = await this.#send(part, untilMs, signal)
      if (!answered) {
        this.#batch.refuse(part.length)
        return undefined
      }
      const tooMuch = isAlone ? -1 : answered.findIndex((one) => isTooMuch(one))
      if (tooMuch < 0) {
        size.succeed()
        return answered
      }
      size.shrink(part.length)
      return answered.slice(0, tooMuch)
    } catch (error) {
      if (isAlone || !(error instanceof FetchError) || !isTooMuchAtOnce(error)) throw error
      size.shrink(part.length)
      return undefined
    }
  }

  async #verify(untilMs: number, signal?: AbortSignal): Promise<void> {
    const [outcome] = (await this.#send([{ method: 'eth_chainId', params: [] }], untilMs, signal)) ?? []
    if (outcome?.is !== 'result') {
      throw new FetchError('text', `${this.name} does not say which chain it is on: ${outcome?.message ?? 'no answer'}`)
    }
    const found = quantityText(outcome.result)
    if (found !== this.#chain) {
      const words = `${this.name} is on chain ${found}, not ${this.#chain}: refused; correct this URL or the chain it is configured for`
      this.#wrongChain = true
      this.backOff(words, wrongChainBackoffMs)
      throw new FetchError('address', words)
    }
    this.#wrongChain = false
    this.#verified = true
  }

  /** undefined: the node does not take a batch of this size. */
  async #send(
    calls: readonly RpcCall[],
    untilMs: number,
    signal?: AbortSignal,
  ): Promise<readonly RpcOutcome[] | undefined> {
    const sent = await this.#waitForQuota(calls.length, untilMs, signal)
    const firstId = this.#nextId
    this.#nextId += calls.length
    const requests = calls.map(({ method, params, isTraced }, at) => ({
      ...{ jsonrpc: '2.0', id: firstId + at, method },
      params: isTraced ? [...params, this.#tracer] : params,
    }))
    const body = JSON.stringify(calls.length === 1 ? requests[0] : requests)
    const text = await this.#sendBody(body, calls.length, untilMs, signal)
    // By now they have come.
    sent.endMs = Math.min(sent.endMs, this.#clock.monotonicMs() + secondMs)
    const answered = await decodeBatch(text, firstId, calls)
    if (answered === 'not JSON') throw new FetchError('text', `${this.name} answered something that is not JSON`)
    return answered === 'batch refused' ? undefined : answered
  }

  async #sendBody(body: string, calls: number, untilMs: number, signal?: AbortSignal): Promise<Uint8Array | string> {
    const leftMs = untilMs - this.#clock.monotonicMs()
    if (leftMs <= 0) throw new FetchError('stopped', `no time left to ask ${this.name}`)
    this.#counts.calls += calls
    this.#counts.rounds += 1
    const timeoutMs = Math.ceil(Math.min(this.#settings.timeoutMs, leftMs))
    try {
      return await this.#post(this.#settings.url, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        timeoutMs,
        bytesMax,
        label: this.name,
        ...(signal && { signal }),
      })
    } catch (error) {
      const isOurs = error instanceof FetchError && error.failure === 'timeout' && timeoutMs < this.#fairMs
      throw isOurs ? new FetchError('stopped', error.message) : error
    }
  }

  /** geth gives up on a transaction after 5 s otherwise; it should do so before the request ends, and name it. */
  get #tracer(): object {
    const seconds = Math.max(1, Math.floor((0.8 * this.#settings.timeoutMs) / 1000))
    return { tracer: 'callTracer', timeout: `${seconds}s` }
  }

  /** Whoever had less time than this did not fail. */
  get #fairMs(): number {
    return Math.min(this.#settings.timeoutMs, fairMs)
  }

  /** Waits until `calls` more fit into the rolling second in which the node sees them come: a second after the last moment it can have. */
  async #waitForQuota(calls: number, untilMs: number, signal?: AbortSignal): Promise<SentCalls> {
    const { perSecond } = this.#settings
    for (;;) {
      const nowMs = this.#clock.monotonicMs()
      const sent = { endMs: nowMs + transitMaxMs + secondMs, calls }
      if (perSecond === 0) return sent
      this.#sent = this.#sent.filter(({ endMs }) => endMs > nowMs)
      const inWindow = this.#sent.reduce((sum, one) => sum + one.calls, 0)
      if (this.#sent.length === 0 || inWindow + calls <= perSecond) {
        this.#sent.push(sent)
        return sent
      }
      const waitMs = Math.min(...this.#sent.map(({ endMs }) => endMs)) - nowMs
      if (nowMs + waitMs > untilMs) throw new FetchError('stopped', `the rate limit of ${this.name} leaves no time`)
      await this.#clock.sleep(Math.ceil(waitMs), signal)
      if (signal?.aborted) throw new FetchError('stopped', `the request to ${this.name} was given up`)
    }
  }
}

const isTooMuch = (outcome: RpcOutcome): boolean => {
  const kind = kindOf(outcome)
  return kind === 'response too large' || kind === 'timeout'
}

/** HTTP statuses for a request that is too large or took too long: besu answers 408, geth 413, gateways 504 and 524. */
const tooMuchStatuses: ReadonlySet<number | undefined> = new Set([408, 413, 504, 524])

const isTooMuchAtOnce = ({ failure, status }: FetchError): boolean =>
  failure === 'timeout' || failure === 'size' || (failure === 'status' && tooMuchStatuses.has(status))

/** The outcome of a call that a request did not bring an answer to. */
export const unusableAfter = (error: FetchError): RpcOutcome => ({
  is: 'unusable',
  message: error.message,
  ...(isTooMuchAtOnce(error) && { isTimeout: true }),
})

const quantityText = (value: unknown): string =>
  typeof value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value).toString() : 'unknown'
