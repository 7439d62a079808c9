// The next fork is announced to webhooks (docs/alerts.md#forks).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Coverage } from '#operations/coverage.ts'
import { testWebhook } from '#test/alerts-network.ts'
import { openContext } from '#test/context.ts'
import { DrivenClock } from '#test/driven-clock.ts'
import { openEmptyServer } from '#test/empty-server.ts'
import { forkAt, serveForkSchedule } from '#test/fork-schedule-node.ts'
import { serveScript } from '#test/scripted-server.ts'
import { waitUntil } from '#test/wait-until.ts'
import { announceFork } from './announce-fork.ts'
import { listDeliveries } from './deliveries.ts'

const secret = `whsec_${'a'.repeat(32)}`
const dayMs = 86_400_000

test('a fork is announced 14 days before, daily in the last three, once each, and again if it moves', async () => {
  const webhooks = [
    { id: 'all', url: 'http://127.0.0.1:9', secret },
    { id: 'other', url: 'http://127.0.0.1:9', secret, events: ['slashed'] },
  ]
  await using context = await openContext({
    validators: { webhooks, networks: { devnet: { genesisUnix: 1_700_000_000 } } },
  })
  const genesisMs = 1_700_000_000_000
  const startMs = context.clock.now()
  const epochMs = 384_000
  const forkIn = (days: number, name = 'gloas', isKnown = true) => {
    const epoch = Math.ceil((startMs + days * dayMs - genesisMs) / epochMs)
    return { name, epoch, isKnown, atMs: genesisMs + epoch * epochMs }
  }
  const sent = async () =>
    (await listDeliveries(context.ingest, 100)).map(({ webhook, body }) => ({ webhook, ...JSON.parse(body) }))
  const fork = forkIn(20)
  const counts: number[] = []
  // Every six hours, until after the fork.
  for (let hours = 0; hours < 21 * 24; hours += 6) {
    await announceFork(context, { network: 'devnet', fork })
    counts.push((await sent()).length)
    context.clock.advance(6 * 3_600_000)
  }
  const days = (count: number) => counts.indexOf(count) / 4
  assert.deepEqual(
    [1, 2, 3, 4].map((count) => Math.floor(days(count))),
    [6, 17, 18, 19],
  )
  assert.equal(counts.at(-1), 4)
  const [last] = await sent()
  assert.equal(last.webhook, 'all')
  assert.match(last.text, /^devnet: the fork gloas starts with epoch \d+, .*; Tetrad supports it$/)
  assert.deepEqual([last.event, last.fork.supported, last.count], ['fork', true, 0])
  const moved = forkIn(22, 'heze', false)
  assert.equal(await announceFork(context, { network: 'devnet', fork: moved }), true)
  const all = await sent()
  assert.equal(all.length, 5)
  assert.ok(all.some(({ text }) => /heze .* does not support it: update Tetrad before$/.test(text)))
})

test('a fork of a chain is announced on the same days, once each, and again if it moves', async () => {
  await using context = await openContext({
    validators: { webhooks: [{ id: 'all', url: 'http://127.0.0.1:9', secret }] },
  })
  const fork = { name: 'amsterdam', atMs: context.clock.now() + 16 * dayMs, isKnown: true }
  const sent = async () => (await listDeliveries(context.ingest, 100)).map(({ body }) => JSON.parse(body))
  const days: number[] = []
  for (let hour = 0; hour < 17 * 24; hour++) {
    const before = (await sent()).length
    await announceFork(context, { chain: '1', fork })
    if ((await sent()).length > before) days.push(hour / 24)
    context.clock.advance(3_600_000)
  }
  assert.deepEqual(days, [2, 13, 14, 15])
  const [body] = await sent()
  const at = new Date(fork.atMs).toISOString()
  assert.equal(body.text, `chain 1: a fork (amsterdam) starts at ${at}; Tetrad supports it`)
  assert.deepEqual([body.chain, body.fork], ['1', { name: 'amsterdam', at, supported: true, epoch: null }])
  const moved = { ...fork, atMs: context.clock.now() + 13 * dayMs }
  assert.equal(await announceFork(context, { chain: '1', fork: moved }), true)
  assert.equal((await sent()).length, 5)
})

test('a server sends the fork of a chain, and sends it again when its node moves it', async () => {
  const hourMs = 3_600_000
  const clock = new DrivenClock(0)
  const unixIn = (days: number) => Math.floor(clock.now() / 1000) + days * 86_400
  const [first, moved] = [unixIn(10), unixIn(12)]
  const atOf = (unix: number) => new Date(unix * 1000).toISOString()
  let next: object | null = forkAt(first, 'amsterdam')
  await using node = await serveForkSchedule(() => next)
  // A delivery that the moving clock ends is sent again, with the same id.
  const texts = new Map<string, string>()
  await using receiver = await serveScript(({ headers, body }) => {
    texts.set(String(headers['webhook-id']), JSON.parse(body).text)
    return { status: 200 }
  })
  const chain = { id: '1', name: 'One', mode: 'probe', rpc: [{ url: node.url }] }
  const settings = { explorer: { chains: [chain] }, validators: { webhooks: [testWebhook({ url: receiver.url })] } }
  await using server = await openEmptyServer(settings, clock)
  const nextFork = async (): Promise<string | undefined> => {
    const { streams } = (await (await fetch(`${server.url}/coverage`)).json()) as Coverage
    return streams.find(({ name }) => name === 'chain 1')?.nextFork?.at
  }
  await waitUntil(() => texts.size === 1)
  assert.equal(await nextFork(), atOf(first))

  next = forkAt(moved, 'amsterdam')
  clock.moveTo(hourMs)
  await waitUntil(() => texts.size === 2)
  assert.equal(await nextFork(), atOf(moved))
  assert.deepEqual(
    [...texts.values()],
    [
      `chain 1: a fork (amsterdam) starts at ${atOf(first)}; Tetrad supports it`,
      `chain 1: a fork (amsterdam) starts at ${atOf(moved)}; Tetrad supports it`,
    ],
  )

  next = null
  clock.moveTo(2 * hourMs)
  await waitUntil(async () => (await nextFork()) === undefined)
})
