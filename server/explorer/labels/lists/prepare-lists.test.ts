import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { State } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { HistoryWriter } from '../history.ts'
import { putLabels } from '../labels.ts'
import { getFinishedList, threadEntriesMin } from './finished-lists.ts'
import { createListPreparer } from './prepare-lists.ts'

const put = (context: TestContext, chain: string, count: number) =>
  context.ingest.write((tx) =>
    putLabels(
      new HistoryWriter(tx, { by: 'test', via: 'test', atMs: context.clock.now() }),
      Array.from({ length: count }, (_, at) => ({ chain, slug: `entity-${at}`, name: `Entity ${count}` })),
    ),
  )

/** Counts how often a list is read. */
function counted(state: State): { readonly state: State; readonly reads: () => number } {
  let reads = 0
  const recent: State['recent'] = {
    ...state.recent,
    snapshot: (isRecent, work, signal) => {
      reads += 1
      return state.recent.snapshot(isRecent, work, signal)
    },
  }
  return { state: stateWith(state, { recent }), reads: () => reads }
}

test('lists and their encodings are built once after a series of changes, before any request', async () => {
  await using context = await openContext()
  await put(context, '1', 50)
  const { state, reads } = counted(context.ingest)
  const round = createListPreparer({ ...context, ingest: state }, ['1', '137'])
  await round()
  assert.equal(reads(), 2, 'both forms, of the chain that has labels')
  for (const form of ['csv', 'json'] as const) {
    const { file } = (await getFinishedList({ ...context, ingest: state }, '1', form)) ?? assert.fail()
    const { size } = file
    const packed = await Promise.all([file.encodedAs('gzip'), file.encodedAs('br')])
    const bytes = packed.reduce((sum, one) => sum + one.bytes.length, file.plain.bytes.length)
    assert.equal(size, bytes, 'nothing was packed for us just now')
  }
  await round()
  assert.equal(reads(), 2)
  await put(context, '1', 51)
  await round()
  assert.equal(reads(), 2, 'more may follow')
  await put(context, '1', 52)
  await round()
  assert.equal(reads(), 2)
  await round()
  assert.equal(reads(), 4)
  await getFinishedList({ ...context, ingest: state }, '1', 'csv')
  await round()
  assert.equal(reads(), 4)
})

test('at most as many lists are prepared as the cache can hold', async () => {
  await using context = await openContext()
  const chains = Array.from({ length: 12 }, (_, at) => String(at + 1))
  for (const chain of chains) await put(context, chain, 1)
  const { state, reads } = counted(context.ingest)
  await createListPreparer({ ...context, ingest: state }, chains)()
  assert.equal(reads(), 16)
})

test('the encodings of a large list are prepared on a thread, and those of a small one are not', async () => {
  await using context = await openContext()
  await put(context, '1', 10_000)
  await put(context, '2', 100)
  const listThreadStore = { dir: context.dir, options: context.settings.store }
  const onThread = { ...context, explorer: { ...context.explorer, listThreadStore } }
  await createListPreparer(onThread, ['1', '2'])()
  for (const [chain, isOnThread] of [
    ['1', true],
    ['2', false],
  ] as const) {
    const { file } = (await getFinishedList(onThread, chain, 'json')) ?? assert.fail()
    const decoders = { gzip: gunzipSync, br: brotliDecompressSync }
    for (const [encoding, decode] of Object.entries(decoders)) {
      const { bytes, etag } = await file.encodedAs(encoding as 'gzip' | 'br', () => assert.fail('not prepared'))
      assert.deepEqual(decode(bytes), Buffer.from(file.plain.bytes))
      assert.equal(etag, file.plain.etag.replace(/"$/, `-${encoding}"`))
      // Only the thread returns shared memory.
      assert.equal(bytes.buffer instanceof SharedArrayBuffer, isOnThread)
    }
  }
})

test('a large list that is written on a thread has the same bytes, and is read there', async () => {
  await using context = await openContext()
  await put(context, '1', threadEntriesMin)
  const { state, reads } = counted(context.ingest)
  const listThreadStore = { dir: context.dir, options: context.settings.store }
  const caches = { ...context.explorer, lists: new Map() }
  const onThread = { ...context, ingest: state, explorer: { ...caches, listThreadStore } }
  for (const form of ['csv', 'json'] as const) {
    const expected = (await getFinishedList(context, '1', form)) ?? assert.fail()
    const list = (await getFinishedList(onThread, '1', form)) ?? assert.fail()
    assert.deepEqual(Buffer.from(list.file.plain.bytes), Buffer.from(expected.file.plain.bytes))
    assert.equal(list.file.plain.etag, expected.file.plain.etag)
    assert.deepEqual(list.envelope?.plain.bytes.length, expected.envelope?.plain.bytes.length)
  }
  assert.equal(reads(), 0)
})
