import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Log } from '#runtime/log.ts'
import { testSecret, testWebhook } from '#test/alerts-network.ts'
import { openContext, settingsWith, type TestContext, testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { provenTimeOf } from '#test/proven-time.ts'
import { serveScript } from '#test/scripted-server.ts'
import {
  alertDeliveries,
  type Delivery,
  listDeliveries,
  type NewDelivery,
  storeDeliveries,
} from '#validators/extensions/alerts/deliveries.ts'
import { giveUpMs } from './deliveries.ts'
import {
  attemptsMax,
  deliveriesPerPass,
  failRemovedWebhooks,
  type ReportAttempt,
  retryWaitsMs,
  sendDueDeliveries,
} from './send.ts'

let shared: TestContext
before(async () => {
  shared = await openContext()
})
after(() => shared[Symbol.asyncDispose]())

/** The same database, without deliveries. */
async function openWith(...webhooks: object[]): Promise<TestContext> {
  await shared.ingest.write((tx) => tx.run('delete from webhook_deliveries'))
  const settings = { ...settingsWith({ validators: { webhooks } }), store: shared.settings.store }
  const clock = new ManualClock(testNowMs)
  return { ...shared, settings, clock, provenTime: provenTimeOf(clock) }
}

const newDelivery = (changes: Partial<NewDelivery> = {}): NewDelivery => ({
  ...{ id: 'd-1', webhook: 'ops', event: 'slashed', network: 'hoodi', epoch: 7, validators: 1, body: '{"count":1}' },
  finality: 'finalized',
  ...changes,
})

const store = (context: TestContext, ...deliveries: NewDelivery[]) =>
  context.ingest.write((tx) => storeDeliveries(tx, deliveries, context.clock.now()))

const running = new AbortController().signal

/** One pass of every sender. Returns how many attempts were made. */
async function sendAll(context: TestContext, signal: AbortSignal, report?: ReportAttempt): Promise<number> {
  const store = alertDeliveries(context.ingest)
  const { webhooks } = context.settings.validators
  await failRemovedWebhooks(context, store, webhooks, report)
  const sent = await Promise.all(webhooks.map((webhook) => sendDueDeliveries(context, store, webhook, signal, report)))
  return sent.reduce((sum, attempts) => sum + attempts, 0)
}

async function onlyDelivery({ ingest }: TestContext): Promise<Delivery> {
  const [delivery, ...others] = await listDeliveries(ingest, 10)
  assert.ok(delivery && others.length === 0)
  return delivery
}

test('a delivery is one POST request with id, time and a signature over both and the body', async () => {
  await using receiver = await serveScript({ status: 204 })
  const context = await openWith(testWebhook({ url: `${receiver.url}/hook?token=1` }))
  await store(context, newDelivery())
  assert.equal(await sendAll(context, running), 1)
  const [request] = receiver.requests
  assert.ok(request)
  assert.deepEqual([request.method, request.url, request.body], ['POST', '/hook?token=1', '{"count":1}'])
  const timestamp = String(Math.floor(context.clock.now() / 1000))
  assert.equal(request.headers['content-type'], 'application/json')
  assert.equal(request.headers['webhook-id'], 'd-1')
  assert.equal(request.headers['webhook-timestamp'], timestamp)
  const key = Buffer.from(testSecret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(`d-1.${timestamp}.{"count":1}`).digest('base64')
  assert.equal(request.headers['webhook-signature'], `v1,${expected}`)
  const { status, attempts, finishedMs, nextAttemptMs } = await onlyDelivery(context)
  assert.deepEqual([status, attempts, finishedMs, nextAttemptMs], ['delivered', 1, context.clock.now(), null])
  assert.equal(await sendAll(context, running), 0, 'it is not sent again')
})

test('a receiver that answers 500 is tried again with growing waits, and the attempts are bounded', async () => {
  await using receiver = await serveScript({ status: 500 })
  const context = await openWith(testWebhook({ url: receiver.url }))
  const outcomes: string[] = []
  const send = () => sendAll(context, running, (_, outcome) => outcomes.push(outcome))
  await store(context, newDelivery())
  await send()
  for (const [at, waitMs] of retryWaitsMs.entries()) {
    context.clock.advance(waitMs - 1)
    assert.equal(await send(), 0)
    assert.equal((await onlyDelivery(context)).attempts, at + 1)
    context.clock.advance(1)
    assert.equal(await send(), 1)
  }
  const { status, attempts, lastError } = await onlyDelivery(context)
  assert.deepEqual([status, attempts], ['failed', attemptsMax])
  assert.equal(lastError, `${receiver.url} returned status 500`)
  assert.deepEqual(outcomes, [...retryWaitsMs.map(() => 'retried'), 'failed'])
  assert.equal(receiver.requests.length, attemptsMax)
  assert.equal(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, 1, 'always the same id')
  context.clock.advance(86_400_000)
  assert.equal(await send(), 0)
})

test('the last retry is within the time limit', () => {
  assert.ok(retryWaitsMs.reduce((sum, waitMs) => sum + waitMs, 0) < giveUpMs)
})

test('a receiver that recovers gets the delivery, and retry-after is respected', async () => {
  await using receiver = await serveScript({ status: 429, headers: { 'retry-after': '120' } }, { status: 200 })
  const context = await openWith(testWebhook({ url: receiver.url }))
  await store(context, newDelivery())
  await sendAll(context, running)
  context.clock.advance(119_000)
  assert.equal(await sendAll(context, running), 0)
  context.clock.advance(1000)
  assert.equal(await sendAll(context, running), 1)
  const { status, attempts, lastError } = await onlyDelivery(context)
  assert.deepEqual([status, attempts, lastError], ['delivered', 2, null])
})

test('redirects are not followed', async () => {
  await using target = await serveScript({ status: 200 })
  await using receiver = await serveScript({ status: 307, headers: { location: target.url } })
  const context = await openWith(testWebhook({ url: receiver.url }))
  await store(context, newDelivery())
  await sendAll(context, running)
  assert.equal(target.requests.length, 0)
  const { status, lastError } = await onlyDelivery(context)
  assert.equal(status, 'pending')
  assert.match(lastError ?? '', /redirects to .*; configure the final URL/)
})

test('a receiver that hangs is given up after the timeout, without delaying other webhooks', async () => {
  await using hanging = await serveScript({ instead: 'hang' })
  await using receiver = await serveScript({ status: 200 })
  const context = await openWith(
    testWebhook({ id: 'slow', url: hanging.url, timeoutMs: 100 }),
    testWebhook({ url: receiver.url }),
  )
  await store(context, newDelivery({ id: 'd-1', webhook: 'slow' }), newDelivery({ id: 'd-2' }))
  assert.equal(await sendAll(context, running), 2)
  const stored = await listDeliveries(context.ingest, 10)
  const slow = stored.find(({ webhook }) => webhook === 'slow')
  assert.equal(slow?.lastError, `${hanging.url} did not respond within 100 ms`)
  assert.equal(stored.find(({ webhook }) => webhook === 'ops')?.status, 'delivered')
})

test('a webhook with many deliveries does not use up the limit of another', async () => {
  await using receiver = await serveScript({ status: 200 })
  const context = await openWith(testWebhook({ id: 'down' }), testWebhook({ url: receiver.url }))
  const many = Array.from({ length: deliveriesPerPass + 1 }, (_, epoch) =>
    newDelivery({ id: `m-${epoch}`, webhook: 'down', epoch }),
  )
  await store(context, ...many)
  context.clock.advance(1000)
  await store(context, newDelivery({ id: 'last' }))
  assert.equal(await sendAll(context, running), deliveriesPerPass + 1)
  assert.deepEqual(
    receiver.requests.map(({ headers }) => headers['webhook-id']),
    ['last'],
  )
  assert.equal(await sendAll(context, running), 1, 'the next pass sends the rest')
})

test('a large response is not read', async () => {
  await using receiver = await serveScript({ body: 'x'.repeat(10_000_000) })
  const context = await openWith(testWebhook({ url: receiver.url }))
  await store(context, newDelivery())
  await sendAll(context, running)
  assert.equal((await onlyDelivery(context)).status, 'delivered')
})

test('an attempt that is interrupted by stopping stays pending, and is sent after the restart', async () => {
  const stop = new AbortController()
  await using receiver = await serveScript(
    () => {
      stop.abort()
      return { instead: 'hang' }
    },
    { status: 200 },
  )
  const context = await openWith(testWebhook({ url: receiver.url }))
  await store(context, newDelivery())
  await sendAll(context, stop.signal)
  const { status, attempts } = await onlyDelivery(context)
  assert.deepEqual([status, attempts], ['pending', 0])
  await sendAll(context, running)
  assert.equal((await onlyDelivery(context)).status, 'delivered')
  const [first, second] = receiver.requests.map(({ headers }) => headers['webhook-id'])
  assert.equal(first, second)
})

test('a delivery that could not be sent in time, or whose webhook was removed, is not sent', async () => {
  await using receiver = await serveScript({ status: 200 })
  const context = await openWith(testWebhook({ url: receiver.url }))
  await store(context, newDelivery({ id: 'd-1' }), newDelivery({ id: 'd-2', webhook: 'gone' }))
  context.clock.advance(giveUpMs + 1)
  await sendAll(context, running)
  assert.equal(receiver.requests.length, 0)
  const stored = await listDeliveries(context.ingest, 10)
  assert.deepEqual(
    stored.map(({ id, status, lastError }) => [id, status, lastError]),
    [
      ['d-1', 'failed', 'it could not be sent in time'],
      ['d-2', 'failed', 'the webhook is no longer in the settings'],
    ],
  )
})

test('a delivery is not given up because the clock is ahead', async () => {
  await using receiver = await serveScript({ status: 500 }, { status: 200 })
  const context = await openWith(testWebhook({ url: receiver.url }))
  await store(context, newDelivery())
  context.clock.wrongByMs = 7 * 86_400_000
  await sendAll(context, running)
  assert.equal((await onlyDelivery(context)).status, 'pending')
  context.clock.advance(retryWaitsMs[0] ?? 0)
  await sendAll(context, running)
  assert.equal((await onlyDelivery(context)).status, 'delivered')
})

test('a delivery of a time in the future, before the clock was set back, is sent at once', async () => {
  await using receiver = await serveScript({ status: 500 }, { status: 200 })
  const context = await openWith(testWebhook({ url: receiver.url }))
  context.clock.wrongByMs = 7 * 86_400_000
  await store(context, newDelivery())
  context.clock.wrongByMs = 0
  assert.equal(await sendAll(context, running), 1)
  assert.equal((await onlyDelivery(context)).status, 'pending', 'a failed attempt is repeated after the usual wait')
  context.clock.advance(retryWaitsMs[0] ?? 0)
  await sendAll(context, running)
  assert.equal((await onlyDelivery(context)).status, 'delivered')
})

test('an event is stored once per webhook, network and epoch, and the log of finished deliveries is bounded', async () => {
  await using receiver = await serveScript({ status: 200 })
  const context = await openWith(testWebhook({ url: receiver.url }))
  await store(context, newDelivery({ id: 'first' }))
  await store(context, newDelivery({ id: 'again', body: '{}' }))
  assert.equal((await onlyDelivery(context)).id, 'first')
  // At the head, one epoch may have several.
  await store(context, newDelivery({ id: 'h-1', finality: 'head' }), newDelivery({ id: 'h-2', finality: 'head' }))
  assert.equal((await listDeliveries(context.ingest, 10)).length, 3)
  const finished = "update webhook_deliveries set status = 'delivered', next_attempt_ms = null"
  for (let epoch = 100; epoch < 1200; epoch += 550) {
    const many = Array.from({ length: 550 }, (_, at) => newDelivery({ id: `m-${epoch + at}`, epoch: epoch + at }))
    context.clock.advance(1000)
    await store(context, ...many)
    await context.ingest.write((tx) => tx.run(finished))
  }
  await store(context, newDelivery({ id: 'last', epoch: 9999 }))
  const stored = await listDeliveries(context.ingest, 5000)
  assert.equal(stored.length, 1001, '1000 finished ones and the pending one')
  assert.equal(
    stored.some(({ id }) => id === 'first'),
    false,
  )
})

test('neither the secret nor the path of the URL is logged', async () => {
  const lines: string[] = []
  const add = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }))
  const log: Log = { debug: add, info: add, warn: add, error: add, child: () => log }
  await using receiver = await serveScript({ status: 500 }, { status: 200 })
  const context = await openWith(testWebhook({ url: `${receiver.url}/private-token` }))
  await store(context, newDelivery())
  await sendAll({ ...context, log }, running)
  context.clock.advance(60_000)
  await sendAll({ ...context, log }, running)
  assert.equal(lines.length, 2)
  for (const line of lines) assert.doesNotMatch(line, /whsec_|private-token/)
})
