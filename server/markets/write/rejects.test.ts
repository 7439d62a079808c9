import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, testNowMs } from '#test/context.ts'
import { listRejects } from '../read/rejected-records.ts'
import type { MarketRecord } from '../records/normalize.ts'
import type { Reject } from './accept-records.ts'
import { dropResolvedRejects, storeRejects } from './rejects.ts'

const problems = [{ at: ['id'], message: 'is required' }]

test('a page with more rejects than are kept does not delete all of them', async () => {
  await using context = await openContext()
  const reject = (at: number): Reject => ({ kind: 'market', id: `${at}`, slug: '', location: 'page 1', problems })
  const rejects = Array.from({ length: 10_001 }, (_, at) => reject(at))
  await context.ingest.write((tx) => storeRejects(tx, 'main', rejects, testNowMs))
  assert.ok((await listRejects(context.ingest, 20_000)).length >= 10_000)
  await context.ingest.write((tx) => storeRejects(tx, 'main', [reject(20_000)], testNowMs + 1))
  assert.equal((await listRejects(context.ingest, 20_000))[0]?.id, '20000')
})

test('a stored record resolves the reject of its own kind only', async () => {
  await using context = await openContext()
  const reject: Reject = { kind: 'event', id: '', slug: 'harbour', location: 'page 1', problems }
  const kindsLeftAfter = async (stored: MarketRecord) => {
    await context.ingest.write((tx) => dropResolvedRejects(tx, 'main', () => [stored]))
    return (await listRejects(context.ingest, 10)).map(({ kind }) => kind)
  }
  await context.ingest.write((tx) => storeRejects(tx, 'main', [reject], testNowMs))
  assert.deepEqual(await kindsLeftAfter({ kind: 'market', id: '1', fields: { slug: 'harbour' } }), ['event'])
  assert.deepEqual(await kindsLeftAfter({ kind: 'event', id: '7', fields: { slug: 'harbour' } }), [])
})
