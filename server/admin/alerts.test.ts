import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createLink } from '#admin/sessions.ts'
import type { AlertsView, TestAlertReply } from '#shared/console-calls.ts'
import { testWebhook } from '#test/alerts-network.ts'
import { openEmptyServer } from '#test/empty-server.ts'
import { serveScript } from '#test/scripted-server.ts'

// Sooner than the time limit of the webhook.
test('a test alert ends with its caller', { timeout: 50_000 }, async () => {
  const arrived = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const receiver = createServer((_, response) => {
    arrived.resolve()
    response.on('close', ended.resolve)
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as AddressInfo
  const webhooks = [testWebhook({ url: `http://127.0.0.1:${port}/hook`, timeoutMs: 60_000 })]
  await using server = await openEmptyServer({ validators: { webhooks } })
  const post = async (path: string, body: object, more: RequestInit & { headers?: Record<string, string> } = {}) =>
    fetch(`${server.url}/console/${path}`, {
      method: 'POST',
      ...more,
      headers: { origin: server.url, 'content-type': 'application/json', ...more.headers },
      body: JSON.stringify(body),
    })
  const session = await post('session', { token: (await createLink(server.context)).token })
  const cookie = (session.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const caller = new AbortController()
  const sending = post('alerts/ops/test', {}, { headers: { cookie }, signal: caller.signal })
  await arrived.promise
  caller.abort()
  await assert.rejects(sending, { name: 'AbortError' })
  await ended.promise
  receiver.close()
})

test('the operator lists open alerts and sends a signed test alert to a webhook; others do not', async () => {
  await using receiver = await serveScript({ status: 204 }, { status: 500 })
  const webhooks = [testWebhook({ url: `${receiver.url}/hook?token=1` })]
  await using server = await openEmptyServer({ validators: { webhooks } })
  const { ingest } = server.context
  await ingest.write((tx) =>
    tx.run(
      "insert into open_alerts values ('hoodi', 'ops', 'attestations_missed', 7, 120), ('hoodi', 'ops', 'exit', 3, 90)",
    ),
  )
  const { token } = await createLink(server.context)
  const headers = { origin: server.url, 'content-type': 'application/json' }
  const post = (path: string, body: object, cookie = '') =>
    fetch(`${server.url}/console/${path}`, {
      method: 'POST',
      headers: { ...headers, cookie },
      body: JSON.stringify(body),
    })
  const session = await post('session', { token })
  const cookie = (session.headers.get('set-cookie') ?? '').split(';')[0] ?? ''

  const reply = await fetch(`${server.url}/console/alerts`, { headers: { cookie } })
  assert.deepEqual((await reply.json()) as AlertsView, {
    webhooks: ['ops'],
    watched: [],
    open: [
      { network: 'hoodi', webhook: 'ops', event: 'exit', validatorIndex: 3, sinceEpoch: 90 },
      { network: 'hoodi', webhook: 'ops', event: 'attestations_missed', validatorIndex: 7, sinceEpoch: 120 },
    ],
  })

  const send = async () => (await (await post('alerts/ops/test', {}, cookie)).json()) as TestAlertReply
  const accepted = await send()
  assert.equal(accepted.isDelivered, true)
  assert.match(accepted.message, /^The webhook accepted test delivery [0-9a-f-]{36} with status 204\.$/)
  const refused = await send()
  assert.equal(refused.isDelivered, false)
  assert.match(refused.message, /^The test was not delivered: .*500/)
  assert.doesNotMatch(refused.message, /token=1/)

  assert.deepEqual(
    await Promise.all(
      [
        post('alerts/nobody/test', {}, cookie),
        post('alerts/ops/test', {}),
        fetch(`${server.url}/console/alerts`),
        fetch(`${server.url}/console/alerts/ops/test`, { method: 'POST', headers: { cookie } }),
      ].map(async (response) => (await response).status),
    ),
    [404, 401, 401, 403],
  )
})
