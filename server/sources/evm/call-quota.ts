// The rate limit of one node: it never receives more than `perSecond` calls within a second. Every call of a batch counts.
import type { Clock } from '#runtime/clock.ts'
import { FetchError } from '../http-client.ts'

const secondMs = 1000
/** A request reaches the node within this time. */
const transitMaxMs = 250

/** Calls of one request. They count until `endMs`. */
interface SentCalls {
  endMs: number
  readonly calls: number
}

export class CallQuota {
  readonly #name: string
  /** 0: no limit. */
  readonly #perSecond: number
  readonly #clock: Clock
  #sent: SentCalls[] = []

  constructor(name: string, perSecond: number, clock: Clock) {
    this.#name = name
    this.#perSecond = perSecond
    this.#clock = clock
  }

  /**
   * Waits until `calls` more may be sent. Each counts until a second after the latest time at which the node may have
   * received it. Call the result when the response has arrived: the node has received the calls by then, so they count for
   * a shorter time.
   */
  async take(calls: number, untilMs: number, signal?: AbortSignal): Promise<() => void> {
    for (;;) {
      const nowMs = this.#clock.monotonicMs()
      if (this.#perSecond === 0) return () => {}
      this.#sent = this.#sent.filter(({ endMs }) => endMs > nowMs)
      const inWindow = this.#sent.reduce((sum, entry) => sum + entry.calls, 0)
      if (this.#sent.length === 0 || inWindow + calls <= this.#perSecond) return this.#add(calls)
      const waitMs = Math.min(...this.#sent.map(({ endMs }) => endMs)) - nowMs
      if (nowMs + waitMs > untilMs) throw new FetchError('stopped', `the rate limit of ${this.#name} leaves no time`)
      await this.#clock.sleep(Math.ceil(waitMs), signal)
      if (signal?.aborted) throw new FetchError('stopped', `the request to ${this.#name} was cancelled`)
    }
  }

  #add(calls: number): () => void {
    const sent = { endMs: this.#clock.monotonicMs() + transitMaxMs + secondMs, calls }
    this.#sent.push(sent)
    return () => {
      sent.endMs = Math.min(sent.endMs, this.#clock.monotonicMs() + secondMs)
    }
  }
}
