// What is cached of one SQLite file stays cached when another one changes (server/storage/version-cache.ts).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labelListV1 } from '#explorer/endpoints/label-list-v1.ts'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { storeQuote } from '#fx/pricing/quotes.ts'
import { getReceiptSigner } from '#fx/receipts/receipt-key.ts'
import { bySlug } from '#markets/endpoints/by-slug.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { createKey } from '#storage/keys.ts'
import type { State } from '#storage/state.ts'
import { stateWith } from './authorization.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from './context.ts'

/** Counts the queries. */
function countReads(state: State) {
  let reads = 0
  const counted = <A extends unknown[], R>(read: (...args: A) => R) => {
    return (...args: A): R => {
      reads += 1
      return read(...args)
    }
  }
  const reader = { get: counted(state.get) as State['get'], all: counted(state.all) as State['all'] }
  const snapshot = counted(state.recent.snapshot) as State['recent']['snapshot']
  const each = counted(state.each) as State['each']
  const counting = stateWith(state, { ...reader, recent: { ...state.recent, ...reader, snapshot }, each })
  return { state: counting, reads: () => reads }
}

const putQuestion = ({ ingest }: TestContext, question: string) =>
  ingest.write((tx) =>
    putMarkets(tx, [{ kind: 'market', id: '501', fields: { slug: 'bridge', question }, links: {} }], testNowMs),
  )

const putLabel = ({ ingest }: TestContext, slug: string) =>
  ingest.write((tx) =>
    putLabels(new HistoryWriter(tx, { by: 'operator', via: 'a test', atMs: testNowMs }), [
      { chain: '1', slug, name: slug },
    ]),
  )

async function storeQuoteAndKey(context: TestContext): Promise<void> {
  const receiptKey = (await getReceiptSigner(context)).id
  const quote = {
    ...{ id: context.random.uuid(), keyId: 'caller', createdMs: testNowMs, asOfMs: testNowMs, nonce: null },
    ...{ pricedFrom: '{}', receiptKey, receiptSignature: new Uint8Array(64), reply: new Uint8Array(1), overrides: 0 },
  }
  await storeQuote(context.state, async () => quote, undefined)
  await createKey(context.state, { name: 'new', plan: 'free' }, context.clock, context.random)
}

test('a stored quote or key empties no cache of markets and labels; a market and a label do', async () => {
  await using context = await openContext()
  await putQuestion(context, 'Open?')
  await putLabel(context, 'first')
  const { state: ingest, reads } = countReads(context.ingest)
  const served = { ...context, ingest }
  const requests = {
    market: () => bySlug.handle({ slug: 'bridge', include_tag: true }, served, testRequestInfo()),
    labels: () => labelListV1.handle({}, served, testRequestInfo()),
  }
  const readsOf = async (request: () => unknown): Promise<number> => {
    // The version of a file is read once per turn.
    await nextEventLoopTurn()
    const before = reads()
    await request()
    return reads() - before
  }
  for (const request of Object.values(requests)) assert.ok((await readsOf(request)) > 0)
  for (const [name, request] of Object.entries(requests)) assert.equal(await readsOf(request), 0, `${name} are cached`)
  await storeQuoteAndKey(context)
  for (const [name, request] of Object.entries(requests)) assert.equal(await readsOf(request), 0, `${name} stay cached`)
  await putQuestion(context, 'Closed?')
  await putLabel(context, 'second')
  for (const request of Object.values(requests)) assert.ok((await readsOf(request)) > 0)
})
