// Caches of one process follow the commits of another: keys, label lists, markets, the receipt key.

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { getFinishedList } from '#explorer/labels/lists/finished-lists.ts'
import { getReceiptSigner } from '#fx/receipts/receipt-key.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { findMarketResponse } from '#markets/read/market-response.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { type AppContext, createContext } from '#server/context.ts'
import { openState } from '#storage/open.ts'
import { bearing, codeOf, makeKey, quote } from './authorization.ts'
import { openContext } from './context.ts'
import { noPostgres, startPostgres } from './postgres.ts'
import { waitUntil } from './wait-until.ts'

async function startOtherProcess(location: string) {
  const child = fork(new URL('./other-process.ts', import.meta.url), [location], {
    stdio: 'inherit',
  })
  await once(child, 'message')
  return {
    async run(action: string, id = '') {
      const done = once(child, 'message')
      child.send({ action, id })
      await done
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

async function checkCaches(context: AppContext, location: string): Promise<void> {
  await using other = await startOtherProcess(location)
  const { id, key } = await makeKey(context, 'enterprise')
  const authorizer = await openAuthorizer(context)
  const outcome = () => codeOf(authorizer, quote, bearing(key))
  assert.equal(await outcome(), 'accepted')
  await other.run('edit', id)
  await waitUntil(async () => (await outcome()) === 'key.group')
  await other.run('rotate', id)
  await waitUntil(async () => (await outcome()) === 'key.invalid')
  const second = await makeKey(context, 'enterprise')
  const secondOutcome = () => codeOf(authorizer, quote, bearing(second.key))
  assert.equal(await secondOutcome(), 'accepted')
  await other.run('revoke', second.id)
  await waitUntil(async () => (await secondOutcome()) === 'key.invalid')
  await authorizer.close()

  const label = { chain: '1', slug: 'mine', name: 'mine', description: '', notes: '', updatedUnix: 1_790_000_000 }
  const source = { by: 'us', via: 'a test', atMs: context.clock.now() }
  await context.ingest.write((tx) => putLabels(new HistoryWriter(tx, source), [label]))
  const entries = async () => {
    const list = await getFinishedList(context, '1', 'json')
    return JSON.parse(Buffer.from(list?.file.plain.bytes ?? []).toString()).length
  }
  assert.equal(await entries(), 1)
  await other.run('label', 'theirs')
  await waitUntil(async () => (await entries()) === 2)

  const ours = { kind: 'market', id: '501', fields: { slug: 'bridge', question: 'Open?' }, links: {} } as const
  await context.ingest.write((tx) => putMarkets(tx, [ours], context.clock.now()))
  const question = async () => {
    const bytes = (await findMarketResponse(context, 'bridge', true))?.bytes ?? new Uint8Array()
    return JSON.parse(Buffer.from(bytes).toString()).question
  }
  assert.equal(await question(), 'Open?')
  await other.run('market', 'Closed?')
  await waitUntil(async () => (await question()) === 'Closed?')

  const signer = await getReceiptSigner(context)
  await other.run('receipts')
  await waitUntil(async () => (await getReceiptSigner(context)).id !== signer.id)
}

test('on SQLite', async (t) => {
  await using context = await openContext()
  if (context.state.engine !== 'sqlite') return t.skip('the state of this run is on a server')
  await checkCaches(context, context.dir)
})

test('on PostgreSQL', { skip: noPostgres }, async () => {
  await using server = await startPostgres()
  const url = await server.schema()
  await using context = await openContext()
  const state = await openState('', { state: url })
  await using _closed = { [Symbol.asyncDispose]: () => state.close() }
  await checkCaches(createContext({ ...context, state, ingest: state }), url)
})
