// One node: its rate limit, its batch size, its health, and whether it is on the right chain.
//
// 1. The node never receives more than `perSecond` calls within a second; every call of a batch counts.
// 2. A node is used only after it has reported the right chain id. After a failure, the id is checked again.
// 3. A node that failed is not used for a while, longer each time, and is then tried again. It is never given up.
// 4. A request that is too large for the node, or takes too long, is repeated with half as many calls (batch-size.ts).
// 5. Whole blocks are requested four at a time, or more if their results are small: receiving a large response delays
//    other requests (decisions/decode-large-node-answers-on-a-thread.md).

import type { Clock } from '#runtime/clock.ts'
import type { RpcSettings } from '#runtime/settings/explorer.ts'
import { FetchError, type FetchOptions } from '../http-client.ts'
import type { DecodableCall, RpcOutcome } from './batch-results.ts'
import { BatchSize } from './batch-size.ts'
import { decodeBatch, inlineBytesMax } from './decoder.ts'
import { isWholeBlock, type ResultKind } from './large-results.ts'
import { kindOf } from './node-errors.ts'

export interface RpcCall extends DecodableCall {
  readonly params: readonly unknown[]
  /** The options of callTracer are added as the last parameter, with a time limit that ends before the request's. */
  readonly isTraced?: true
  /** An error is a valid outcome: do not retry. */
  readonly acceptsError?: true
}

/** Returns bytes, so that large responses can be decoded on another thread. */
export type Post = (address: string, options: FetchOptions) => Promise<Uint8Array | string>

export interface Counts {
  calls: number
  /** Requests sent, each with one call or a batch. */
  rounds: number
}

/** Larger responses are refused. */
const bytesMax = 256 * 1024 * 1024
/** Whole blocks in the first request, and in every request if their results are large (5). */
const wholeBlocksMin = 4
/** Of a response with whole blocks. Half of what is decoded on this thread, because sizes vary. */
const wholeBytesGoal = inlineBytesMax / 2
const backoffMaxMs = 15_000
/** A refused connection costs nothing, so it is retried often. */
const unreachableBackoffMaxMs = 1000
/** Limit for the retry-after of a node. */
const requestedBackoffMaxMs = 60_000
/** With less time than this, a timeout is not a failure of the node. */
const fairTimeoutMs = 1000
const secondMs = 1000
/** A request reaches the node within this time. */
const transitMaxMs = 250
const wrongChainBackoffMs = 60_000

/** Calls that count towards the rate limit until `endMs`. */
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
  /** Blocks, traces and receipts differ in size. */
  readonly #wholeBatches = new Map<ResultKind['as'], BatchSize>()
  #nextId = 1
  #failures = 0
  #backoffUntilMs = 0
  #verified = false
  #wrongChain = false
  trouble: string | undefined
  /** The last connection was refused or failed. */
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
  }

  /** On the wrong chain: do not wait for it. */
  get isRefused(): boolean {
    return this.#wrongChain && this.backoffRemainingMs() > 0
  }

  /** Time until it may be used again; 0: now. */
  backoffRemainingMs(): number {
    return Math.max(0, this.#backoffUntilMs - this.#clock.monotonicMs())
  }

  /** Outcomes in the order of the calls. Throws FetchError if no call reached the node. */
  async call(calls: readonly RpcCall[], untilMs: number, signal?: AbortSignal): Promise<RpcOutcome[]> {
    const outcomes: RpcOutcome[] = []
    try {
      if (!this.#verified) await this.#verify(untilMs, signal)
      while (outcomes.length < calls.length) {
        const size = this.#sizeFor(calls[outcomes.length])
        const part = calls.slice(outcomes.length, outcomes.length + this.#partMax(size))
        const partOutcomes = await this.#sendSized(part, size, untilMs, signal)
        if (partOutcomes) outcomes.push(...partOutcomes)
      }
      this.#failures = 0
      this.trouble = undefined
      this.isUnreachable = false
      return outcomes
    } catch (error) {
      if (!(error instanceof FetchError) || error.failure === 'stopped') throw error
      // Keep the outcomes from before the failure; another node gets the rest.
      if (!this.isRefused) this.#backOffAfter(error)
      if (outcomes.length === 0) throw error
      return calls.map((_, at) => outcomes[at] ?? unusableAfter(error))
    }
  }

  /** Do not use the node for a while. */
  backOff(reason: string, forMs = Math.min(this.#backoffMs * 2 ** Math.min(this.#failures, 10), backoffMaxMs)): void {
    this.#failures += 1
    this.#verified = false
    this.#backoffUntilMs = this.#clock.monotonicMs() + forMs
    this.trouble = reason
  }

  #backOffAfter({ message, retryAfterMs, failure }: FetchError): void {
    this.isUnreachable = failure === 'network'
    if (this.isUnreachable)
      this.backOff(message, Math.min(this.#backoffMs * 2 ** Math.min(this.#failures, 10), unreachableBackoffMaxMs))
    else if (retryAfterMs === undefined) this.backOff(message)
    else this.backOff(message, Math.min(retryAfterMs, requestedBackoffMaxMs))
  }

  #sizeFor(next: RpcCall | undefined): BatchSize {
    if (!next?.resultKind || !isWholeBlock(next.resultKind)) return this.#batch
    const { batchMax } = this.#settings
    return this.#wholeBatches.getOrInsertComputed(
      next.resultKind.as,
      () => new BatchSize(batchMax, Math.min(wholeBlocksMin, batchMax)),
    )
  }

  #partMax(size: BatchSize): number {
    const { perSecond } = this.#settings
    return Math.min(this.#batch.now, size.now, perSecond > 0 ? perSecond : size.now)
  }

  /** Outcomes of the first calls of this part. Undefined: none; the next request is smaller. */
  async #sendSized(
    part: readonly RpcCall[],
    size: BatchSize,
    untilMs: number,
    signal?: AbortSignal,
  ): Promise<readonly RpcOutcome[] | undefined> {
    const isAlone = part.length === 1
    try {
      const sent = await this.#send(part, untilMs, signal)
      if (!sent) {
        this.#batch.refuse(part.length)
        return undefined
      }
      const { outcomes, bytes } = sent
      const tooMuch = isAlone ? -1 : outcomes.findIndex(isTooMuch)
      if (tooMuch < 0) {
        size.succeed()
        if (outcomes.every(({ is }) => is === 'result')) size.measure(part.length, bytes, wholeBytesGoal)
        return outcomes
      }
      size.shrink(part.length)
      return outcomes.slice(0, tooMuch)
    } catch (error) {
      if (isAlone || !(error instanceof FetchError) || !isTooMuchAtOnce(error)) throw error
      size.shrink(part.length)
      return undefined
    }
  }

  async #verify(untilMs: number, signal?: AbortSignal): Promise<void> {
    const sent = await this.#send([{ method: 'eth_chainId', params: [] }], untilMs, signal)
    const outcome = sent?.outcomes[0]
    if (outcome?.is !== 'result') {
      throw new FetchError('text', `${this.name} did not return its chain id: ${outcome?.message ?? 'no result'}`)
    }
    const chain = quantityText(outcome.result)
    if (chain !== this.#chain) {
      const reason = `${this.name} is on chain ${chain}, not ${this.#chain}: refused; correct this URL or the chain it is configured for`
      this.#wrongChain = true
      this.backOff(reason, wrongChainBackoffMs)
      throw new FetchError('address', reason)
    }
    this.#wrongChain = false
    this.#verified = true
  }

  /** Undefined if the node refuses a batch of this size. */
  async #send(
    calls: readonly RpcCall[],
    untilMs: number,
    signal?: AbortSignal,
  ): Promise<{ readonly outcomes: readonly RpcOutcome[]; readonly bytes: number } | undefined> {
    const sent = await this.#waitForQuota(calls.length, untilMs, signal)
    const firstId = this.#nextId
    this.#nextId += calls.length
    const requests = calls.map(({ method, params, isTraced }, at) => ({
      jsonrpc: '2.0',
      id: firstId + at,
      method,
      params: isTraced ? [...params, this.#tracer] : params,
    }))
    const body = JSON.stringify(calls.length === 1 ? requests[0] : requests)
    const response = await this.#sendBody(body, calls.length, untilMs, signal)
    // The node has received the calls by now.
    sent.endMs = Math.min(sent.endMs, this.#clock.monotonicMs() + secondMs)
    const outcomes = await decodeBatch(response, firstId, calls)
    if (outcomes === 'not JSON') throw new FetchError('text', `${this.name} did not return JSON`)
    return outcomes === 'batch refused' ? undefined : { outcomes, bytes: response.length }
  }

  async #sendBody(body: string, calls: number, untilMs: number, signal?: AbortSignal): Promise<Uint8Array | string> {
    const leftMs = untilMs - this.#clock.monotonicMs()
    if (leftMs <= 0) throw new FetchError('stopped', `no time left to call ${this.name}`)
    this.#counts.calls += calls
    this.#counts.rounds += 1
    const timeoutMs = Math.ceil(Math.min(this.#settings.timeoutMs, leftMs))
    try {
      return await this.#post(this.#settings.url, {
        method: 'POST',
        isQuery: true,
        body,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        timeoutMs,
        bytesMax,
        label: this.name,
        ...(signal && { signal }),
      })
    } catch (error) {
      const isOurDeadline =
        error instanceof FetchError && error.failure === 'timeout' && timeoutMs < this.#fairTimeoutMs
      throw isOurDeadline ? new FetchError('stopped', error.message) : error
    }
  }

  /**
   * By default geth stops after 5 s. Let it stop shortly before the request ends, so that it reports which transaction.
   */
  get #tracer(): object {
    const seconds = Math.max(1, Math.floor((0.8 * this.#settings.timeoutMs) / 1000))
    return { tracer: 'callTracer', timeout: `${seconds}s` }
  }

  get #fairTimeoutMs(): number {
    return Math.min(this.#settings.timeoutMs, fairTimeoutMs)
  }

  /**
   * Waits until the rate limit allows `calls` more, counted by the latest time at which the node may have received
   * each.
   */
  async #waitForQuota(calls: number, untilMs: number, signal?: AbortSignal): Promise<SentCalls> {
    const { perSecond } = this.#settings
    for (;;) {
      const nowMs = this.#clock.monotonicMs()
      const sent = { endMs: nowMs + transitMaxMs + secondMs, calls }
      if (perSecond === 0) return sent
      this.#sent = this.#sent.filter(({ endMs }) => endMs > nowMs)
      const inWindow = this.#sent.reduce((sum, batch) => sum + batch.calls, 0)
      if (this.#sent.length === 0 || inWindow + calls <= perSecond) {
        this.#sent.push(sent)
        return sent
      }
      const waitMs = Math.min(...this.#sent.map(({ endMs }) => endMs)) - nowMs
      if (nowMs + waitMs > untilMs) throw new FetchError('stopped', `the rate limit of ${this.name} leaves no time`)
      await this.#clock.sleep(Math.ceil(waitMs), signal)
      if (signal?.aborted) throw new FetchError('stopped', `the request to ${this.name} was cancelled`)
    }
  }
}

const isTooMuch = (outcome: RpcOutcome): boolean => {
  const kind = kindOf(outcome)
  return kind === 'response too large' || kind === 'timeout'
}

/** HTTP statuses for a request that is too large or took too long: besu returns 408, geth 413, gateways 504 and 524. */
const tooMuchStatuses: ReadonlySet<number | undefined> = new Set([408, 413, 504, 524])

const isTooMuchAtOnce = ({ failure, status }: FetchError): boolean =>
  failure === 'timeout' || failure === 'size' || (failure === 'status' && tooMuchStatuses.has(status))

/** The outcome of each call of a failed request. */
export const unusableAfter = (error: FetchError): RpcOutcome => ({
  is: 'unusable',
  message: error.message,
  ...(isTooMuchAtOnce(error) && { isTimeout: true }),
})

const quantityText = (value: unknown): string =>
  typeof value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value).toString() : 'unknown'
