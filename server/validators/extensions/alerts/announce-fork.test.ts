// The next fork is announced to webhooks (docs/alerts.md#forks).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext } from '#test/context.ts'
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
