// Decides for how long a node that failed is not used: longer after each failure. It is never given up.
import type { Clock } from '#runtime/clock.ts'
import type { FetchError } from '../http-client.ts'

const backoffMaxMs = 15_000
/** A refused connection costs nothing, so it is retried often. */
const unreachableBackoffMaxMs = 1000
/** Limit for the retry-after of a node. */
const requestedBackoffMaxMs = 60_000

export class NodeBackoff {
  readonly #clock: Clock
  readonly #firstMs: number
  #failures = 0
  #untilMs = 0
  #trouble: string | undefined
  #isUnreachable = false

  /** The first backoff is `firstMs`; it doubles. */
  constructor(clock: Clock, firstMs: number) {
    this.#clock = clock
    this.#firstMs = firstMs
  }

  /** Why the node is not used, or was not used until its last success. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** The last connection was refused or failed. */
  get isUnreachable(): boolean {
    return this.#isUnreachable
  }

  /** Time until the node may be used again; 0: now. */
  get remainingMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonicMs())
  }

  begin(reason: string, forMs = this.#nextMs(backoffMaxMs)): void {
    this.#failures += 1
    this.#untilMs = this.#clock.monotonicMs() + forMs
    this.#trouble = reason
  }

  beginAfter({ message, retryAfterMs, failure }: FetchError): void {
    this.#isUnreachable = failure === 'network'
    if (this.#isUnreachable) this.begin(message, this.#nextMs(unreachableBackoffMaxMs))
    else if (retryAfterMs === undefined) this.begin(message)
    else this.begin(message, Math.min(retryAfterMs, requestedBackoffMaxMs))
  }

  /** The node works again. */
  end(): void {
    this.#failures = 0
    this.#trouble = undefined
    this.#isUnreachable = false
  }

  #nextMs(maxMs: number): number {
    return Math.min(this.#firstMs * 2 ** Math.min(this.#failures, 10), maxMs)
  }
}
