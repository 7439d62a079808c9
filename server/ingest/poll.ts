// Polls a source until the signal aborts, with a time limit for each attempt and a growing wait after failures. Every
// attempt is reported.
//
// 1. Attempts do not overlap, provided that the work ends soon after its signal aborts.
// 2. Failures do not end the loop; only the signal does, at once.
// 3. The wait is at most everyMs after a success, and at most backoffMaxMs after failures.
import { errorMessage } from '#core/error-message.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import type { Random } from '#runtime/random.ts'

export interface PollPlan<T> {
  /** From the start of one attempt to the start of the next. */
  readonly everyMs: number
  readonly timeoutMs: number
  /** The longest wait after repeated failures. */
  readonly backoffMaxMs: number
  readonly work: (signal: AbortSignal) => Promise<T>
  /** Ends the wait for the next attempt. */
  readonly wakeSignal?: WakeSignal
  readonly report: (outcome: PollOutcome<T>) => void
}

export type PollOutcome<T> =
  | { readonly is: 'done'; readonly value: T; readonly tookMs: number; readonly failuresBefore: number }
  | { readonly is: 'failed'; readonly error: unknown; readonly tookMs: number; readonly failures: number }

/** Logs a failure, and the first success after failures. */
export function logOutcome(
  { log }: { readonly log: Log },
  outcome: PollOutcome<unknown>,
  fields: object,
  texts: { readonly failed: string; readonly recovered: string },
): void {
  if (outcome.is === 'failed') {
    const { failures, error } = outcome
    log.warn({ ...fields, failures, reason: errorMessage(error) }, texts.failed)
  } else if (outcome.failuresBefore > 0) {
    log.info({ ...fields, failures: outcome.failuresBefore }, texts.recovered)
  }
}

/** If it is called during an attempt, the next attempt follows at once. */
export class WakeSignal {
  #controller = new AbortController()

  wake(): void {
    this.#controller.abort()
  }

  /** Aborts with the next `wake`. */
  nextWake(): AbortSignal {
    this.#controller = new AbortController()
    return this.#controller.signal
  }
}

export class PollTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`the attempt did not finish within ${timeoutMs} ms`)
    this.name = 'PollTimeout'
  }
}

/** Resolves when the signal aborts. */
export async function poll<T>(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  plan: PollPlan<T>,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    const startMs = clock.monotonicMs()
    const tookMs = () => clock.monotonicMs() - startMs
    const early = plan.wakeSignal ? AbortSignal.any([signal, plan.wakeSignal.nextWake()]) : signal
    const outcome = await attempt(clock, plan, signal)
    if (outcome.is === 'done') {
      plan.report({ ...outcome, tookMs: tookMs(), failuresBefore: failures })
      failures = 0
    } else {
      // Errors caused by stopping are not failures of the source.
      if (signal.aborted) return
      failures += 1
      plan.report({ ...outcome, tookMs: tookMs(), failures })
    }
    await clock.sleep(Math.max(0, waitMs(plan, failures, random) - tookMs()), early)
  }
}

type AttemptOutcome<T> = { readonly is: 'done'; readonly value: T } | { readonly is: 'failed'; readonly error: unknown }

async function attempt<T>(clock: Clock, plan: PollPlan<T>, signal: AbortSignal): Promise<AttemptOutcome<T>> {
  const over = new AbortController()
  const late = new AbortController()
  void clock.sleep(plan.timeoutMs, AbortSignal.any([signal, over.signal])).then(() => {
    if (!over.signal.aborted) late.abort(signal.aborted ? signal.reason : new PollTimeout(plan.timeoutMs))
  })
  const broken = new Promise<never>((_, reject) => {
    late.signal.addEventListener('abort', () => reject(late.signal.reason), { once: true })
  })
  try {
    return { is: 'done', value: await Promise.race([plan.work(late.signal), broken]) }
  } catch (error) {
    return { is: 'failed', error }
  } finally {
    over.abort()
  }
}

const doublingsMax = 16

/** Doubles with each failure. Random jitter of up to a half prevents simultaneous retries after an outage. */
export function waitMs(
  plan: Pick<PollPlan<unknown>, 'everyMs' | 'backoffMaxMs'>,
  failures: number,
  random: Random,
): number {
  if (failures === 0) return plan.everyMs
  const longest = Math.min(plan.everyMs * 2 ** Math.min(failures, doublingsMax), plan.backoffMaxMs)
  const [byte = 0] = random.bytes(1)
  return Math.round(longest * (1 - byte / 512))
}
