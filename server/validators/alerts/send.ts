// Sends pending deliveries to their webhooks.
//
// 1. The result of an attempt is stored after it. A process that ends between both sends the delivery again, with the
//    same id, so that the receiver can ignore it.
// 2. An attempt counts as delivered if the status is 200 to 299. All other results are retried, up to `attemptsMax`
//    attempts and `giveUpMs` after the event was found.
// 3. Deliveries of one webhook are sent one after the other. A failing webhook does not delay others.
import type { WebhookSettings } from '#runtime/settings/webhooks.ts'
import { cleanUrl, FetchError, fetchStatus } from '#sources/http-client.ts'
import type { ValidatorsContext } from '../context.ts'
import { type AttemptResult, type Delivery, dueDeliveries, giveUpMs, recordAttempt } from './deliveries.ts'
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
const deliveriesAtOnce = 100

export type ReportAttempt = (webhook: string, outcome: 'ok' | 'retried' | 'failed') => void
type SendContext = Pick<ValidatorsContext, 'state' | 'settings' | 'clock' | 'log'>

/** Sends all deliveries that are due. Returns how many attempts were made. */
export async function sendDueDeliveries(
  context: SendContext,
  signal: AbortSignal,
  report: ReportAttempt = () => {},
): Promise<number> {
  const { state, clock } = context
  let attempts = 0
  // A delivery that fails is due later, so that each pass has other deliveries.
  for (;;) {
    const due = await dueDeliveries(state, clock.now(), deliveriesAtOnce)
    if (due.length === 0 || signal.aborted) return attempts
    const byWebhook = Map.groupBy(due, ({ webhook }) => webhook)
    await Promise.all([...byWebhook.values()].map((deliveries) => sendInOrder(context, deliveries, signal, report)))
    attempts += due.length
  }
}

async function sendInOrder(
  context: SendContext,
  deliveries: readonly Delivery[],
  signal: AbortSignal,
  report: ReportAttempt,
): Promise<void> {
  const { state, log } = context
  for (const delivery of deliveries) {
    const result = await attempt(context, delivery, signal)
    if (!result) return
    await recordAttempt(state, delivery, result)
    const { webhook, id, event, network, epoch, validators } = delivery
    const fields = { webhook, delivery: id, event, network, epoch, validators, attempts: delivery.attempts + 1 }
    if (result.is === 'delivered') log.info(fields, 'webhook delivered')
    else if (result.is === 'retry') log.warn({ ...fields, reason: result.error }, 'webhook not delivered; will retry')
    else log.error({ ...fields, reason: result.error }, 'webhook not delivered; gave up')
    report(webhook, result.is === 'delivered' ? 'ok' : result.is === 'retry' ? 'retried' : 'failed')
  }
}

/** Undefined: stopped, so that nothing is known about the result. */
async function attempt(
  { settings, clock }: SendContext,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<AttemptResult | undefined> {
  const webhook = settings.validators.webhooks.find(({ id }) => id === delivery.webhook)
  const failed = (error: string): AttemptResult => ({ is: 'failed', atMs: clock.now(), error })
  if (!webhook) return failed('the webhook is no longer in the settings')
  const giveUpAtMs = delivery.createdMs + giveUpMs
  if (clock.now() > giveUpAtMs) return failed('it could not be sent in time')
  try {
    await postDelivery(webhook, { ...delivery, nowMs: clock.now() }, signal)
    return { is: 'delivered', atMs: clock.now(), error: null }
  } catch (error) {
    if (signal.aborted) return undefined
    if (!(error instanceof FetchError)) throw error
    const waitMs = retryWaitsMs[delivery.attempts]
    const nextAttemptMs = clock.now() + Math.max(waitMs ?? 0, error.retryAfterMs ?? 0)
    if (waitMs === undefined || nextAttemptMs > giveUpAtMs) return failed(error.message)
    return { is: 'retry', nextAttemptMs, error: error.message }
  }
}

/** Throws a FetchError unless the receiver accepts the delivery. */
export const postDelivery = (
  { url, secret, timeoutMs }: Pick<WebhookSettings, 'url' | 'secret' | 'timeoutMs'>,
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
