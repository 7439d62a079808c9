// What one process keeps in memory follows what another one commits: keys, lists of labels, markets, the key of receipts.

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { getFinishedList } from '#explorer/labels/lists/finished-lists.ts'
import { getReceiptSigner } from '#fx/receipts/receipt-key.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { findMarketResponse } from '#markets/records/market-response.ts'
import { putMarkets } from '#markets/records/put-markets.ts'
import { systemClock } from '#runtime/clock.ts'
import { type AppContext, createContext } from '#server/context.ts'
import { openState } from '#storage/open.ts'
import { bearing, codeOf, makeKey, quote } from './authorization.ts'
import { openContext } from './context.ts'
import { noPostgres, startPostgres } from './postgres.ts'

async function neighbourOn(place: string) {
  const child = fork(new URL('./other-process.ts', import.meta.url), [place], { stdio: 'inherit' })
  await once(child, 'message')
  return {
    async does(what: string, id = '') {
      const done = once(child, 'message')
      child.send({ what, id })
      await done
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

/** It is promised within a second; how fast this machine is today is another matter. */
async function follows(what: string, is: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await is()); tries++) {
    assert.ok(tries < 500, `${what}: the change of the other process is not seen`)
    await systemClock.sleep(20)
  }
}

async function ordeal(context: AppContext, place: string): Promise<void> {
  await using neighbour = await neighbourOn(place)
  const { id, key } = await makeKey(context, 'enterprise')
  const admission = await openAuthorizer(context)
  const said = () => codeOf(admission, quote, bearing(key))
  assert.equal(await said(), 'admitted')
  await neighbour.does('edit', id)
  await follows('keys, edited', async () => (await said()) === 'key.group')
  await neighbour.does('rotate', id)
  await follows('keys, rotated', async () => (await said()) === 'key.invalid')
  const other = await makeKey(context, 'enterprise')
  const saidOther = () => codeOf(admission, quote, bearing(other.key))
  assert.equal(await saidOther(), 'admitted')
  await neighbour.does('revoke', other.id)
  await follows('keys, revoked', async () => (await saidOther()) === 'key.invalid')
  await admission.close()

  const label = { chain: '1', slug: 'mine', name: 'mine', description: '', notes: '', updatedUnix: 1_790_000_000 }
  const word = { by: 'us', via: 'a test', atMs: context.clock.now() }
  await context.state.write((tx) => putLabels(new HistoryWriter(tx, word), [label]))
  const entries = async () => {
    const list = await getFinishedList(context, '1', 'json')
    return JSON.parse(Buffer.from(list?.file.plain.bytes ?? []).toString()).length
  }
  assert.equal(await entries(), 1)
  await neighbour.does('label', 'theirs')
  await follows('labels', async () => (await entries()) === 2)

  const ours = { kind: 'market', id: '501', fields: { slug: 'bridge', question: 'Open?' }, links: {} } as const
  await context.state.write((tx) => putMarkets(tx, [ours], context.clock.now()))
  const question = async () => {
    const bytes = (await findMarketResponse(context, 'bridge', true))?.bytes ?? new Uint8Array()
    return JSON.parse(Buffer.from(bytes).toString()).question
  }
  assert.equal(await question(), 'Open?')
  await neighbour.does('market', 'Closed?')
  await follows('markets', async () => (await question()) === 'Closed?')

  const signer = await getReceiptSigner(context)
  await neighbour.does('receipts')
  await follows('receipts', async () => (await getReceiptSigner(context)).id !== signer.id)
}

test('on one file', async (t) => {
  await using context = await openContext()
  if (context.state.engine !== 'sqlite') return t.skip('the state of this run is on a server')
  await ordeal(context, context.dir)
})

test('on PostgreSQL', { skip: noPostgres }, async () => {
  await using server = await startPostgres()
  const url = await server.schema()
  await using context = await openContext()
  const state = await openState('', { state: url })
  await using _closed = { [Symbol.asyncDispose]: () => state.close() }
  await ordeal(createContext({ ...context, state }), url)
})
