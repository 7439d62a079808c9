// Sends pending deliveries to one webhook. Each webhook has a sender of its own, so that one that hangs delays no other.
//
// 1. The result of an attempt is stored after it. A process that ends between both sends the delivery again, with the
//    same id, so that the receiver can ignore it.
// 2. An attempt counts as delivered if the status is 200 to 299. All other results are retried, up to `attemptsMax`
//    attempts and `giveUpMs` after the event was found.
// 3. Deliveries of one webhook are sent one after the other, the oldest first, at most `deliveriesPerPass` in a pass.
import { logOutcome, poll, type WakeSignal } from '#ingest/poll.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import type { ProvenTime } from '#runtime/proven-time.ts'
import type { Random } from '#runtime/random.ts'
import type { WebhookTarget } from '#runtime/settings/webhook-target.ts'
import { cleanUrl, FetchError, fetchStatus } from '#sources/http-client.ts'
import {
  type AttemptResult,
  type DeliveryRow,
  type DeliveryStore,
  dueDeliveries,
  giveUpMs,
  pendingExceptFor,
  recordAttempt,
} from './deliveries.ts'
import { signatureHeaders } from './signature.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
/** After the first failure, the second, and so on. */
export const retryWaitsMs = [
  10 * secondMs,
  minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  30 * minuteMs,
  60 * minuteMs,
  120 * minuteMs,
]
export const attemptsMax = retryWaitsMs.length + 1
export const deliveriesPerPass = 100

export type ReportAttempt = (webhook: string, outcome: 'ok' | 'retried' | 'failed') => void

export interface SendContext {
  readonly clock: Clock
  readonly provenTime: Pick<ProvenTime, 'forDeletions'>
  readonly log: Log
}

/** Sends the deliveries that are due. Returns how many attempts were made. */
export async function sendDueDeliveries(
  context: SendContext,
  store: DeliveryStore,
  webhook: WebhookTarget,
  signal: AbortSignal,
  report: ReportAttempt = () => {},
): Promise<number> {
  const due = await dueDeliveries(store, webhook.id, context.clock.now(), deliveriesPerPass)
  for (const [attempts, delivery] of due.entries()) {
    const result = await attempt(context, webhook, delivery, signal)
    if (!result) return attempts
    await recordResult(context, store, delivery, result, report)
  }
  return due.length
}

/** Gives up the deliveries of webhooks that have no sender any more. */
export async function failRemovedWebhooks(
  context: SendContext,
  store: DeliveryStore,
  webhooks: readonly WebhookTarget[],
  report: ReportAttempt = () => {},
): Promise<void> {
  const ids = webhooks.map(({ id }) => id)
  const error = 'the webhook is no longer in the settings'
  for (const delivery of await pendingExceptFor(store, ids, deliveriesPerPass))
    await recordResult(context, store, delivery, { is: 'failed', atMs: context.clock.now(), error }, report)
}

async function recordResult(
  { log }: SendContext,
  store: DeliveryStore,
  delivery: DeliveryRow,
  result: AttemptResult,
  report: ReportAttempt,
): Promise<void> {
  await recordAttempt(store, delivery, result)
  const { webhook, id, event } = delivery
  const subject = Object.fromEntries(store.table.subject.map((column) => [column, delivery[column]]))
  const fields = { webhook, delivery: id, event, ...subject, attempts: delivery.attempts + 1 }
  if (result.is === 'delivered') log.info(fields, 'webhook delivered')
  else if (result.is === 'retry') log.warn({ ...fields, reason: result.error }, 'webhook not delivered; will retry')
  else log.error({ ...fields, reason: result.error }, 'webhook not delivered; gave up')
  report(webhook, result.is === 'delivered' ? 'ok' : result.is === 'retry' ? 'retried' : 'failed')
}

/** Undefined: stopped, so that nothing is known about the result. */
async function attempt(
  { clock, provenTime }: SendContext,
  webhook: WebhookTarget,
  delivery: DeliveryRow,
  signal: AbortSignal,
): Promise<AttemptResult | undefined> {
  const failed = (error: string): AttemptResult => ({ is: 'failed', atMs: clock.now(), error })
  const giveUpAtMs = delivery.createdMs + giveUpMs
  if (provenTime.forDeletions() > giveUpAtMs) return failed('it could not be sent in time')
  try {
    await postDelivery(webhook, { ...delivery, nowMs: clock.now() }, signal)
    return { is: 'delivered', atMs: clock.now(), error: null }
  } catch (error) {
    if (signal.aborted) return undefined
    if (!(error instanceof FetchError)) throw error
    const waitMs = retryWaitsMs[delivery.attempts]
    if (waitMs === undefined) return failed(error.message)
    const longestWaitMs = Math.max(waitMs, error.retryAfterMs ?? 0)
    if (provenTime.forDeletions() + longestWaitMs > giveUpAtMs) return failed(error.message)
    return { is: 'retry', nextAttemptMs: clock.now() + longestWaitMs, error: error.message }
  }
}

/** Throws a FetchError unless the receiver accepts the delivery. */
export const postDelivery = (
  { url, secret, timeoutMs }: Pick<WebhookTarget, 'url' | 'secret' | 'timeoutMs'>,
  delivery: { readonly id: string; readonly body: string; readonly nowMs: number },
  signal?: AbortSignal,
): Promise<number> =>
  fetchStatus(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...signatureHeaders(secret, delivery) },
    body: delivery.body,
    timeoutMs,
    label: cleanUrl(url),
    ...(signal && { signal }),
  })

const sendEveryMs = 5000
const failRemovedEveryMs = 3_600_000
const backoffMaxMs = 60_000

/** Sends what is stored for these webhooks, until the signal aborts. The wake signals are theirs. */
export async function runSenders(
  context: SendContext & { readonly random: Random },
  store: DeliveryStore,
  webhooks: ReadonlyMap<WebhookTarget, WakeSignal>,
  report: ReportAttempt,
  signal: AbortSignal,
): Promise<void> {
  const sending = [...webhooks].map(([webhook, wakeSignal]) =>
    poll(
      context,
      {
        everyMs: sendEveryMs,
        // Longer than a pass takes if the receiver hangs.
        timeoutMs: deliveriesPerPass * webhook.timeoutMs + minuteMs,
        backoffMaxMs,
        wakeSignal,
        work: async (stop) => {
          const attempts = await sendDueDeliveries(context, store, webhook, stop, report)
          if (attempts === deliveriesPerPass) wakeSignal.wake()
        },
        report: (outcome) => logOutcome(context, outcome, { webhook: webhook.id }, pollTexts('webhook')),
      },
      signal,
    ),
  )
  const failing = poll(
    context,
    {
      everyMs: failRemovedEveryMs,
      timeoutMs: minuteMs,
      backoffMaxMs,
      work: () => failRemovedWebhooks(context, store, [...webhooks.keys()], report),
      report: (outcome) => logOutcome(context, outcome, {}, pollTexts('removed webhooks')),
    },
    signal,
  )
  await Promise.all([...sending, failing])
}

const pollTexts = (what: string) => ({ failed: `${what}: failed; will retry`, recovered: `${what}: working again` })
