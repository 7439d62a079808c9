import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientOf, failureOf } from '../../test/scripted-client.ts'
import { serveScript } from '../../test/scripted-server.ts'

const page = (day: number, coverage: string, next: string | null) => ({
  headers: { 'x-tetrad-coverage': coverage },
  body: { data: [{ day }], next },
})
const twoPages = () => serveScript(page(2, '0-9', '/v0/x?from=1'), page(1, '0-19', null))
const input = { indices: [1] }

describe('calls', () => {
  test('withMeta returns what the reply is based on, of the attempt that succeeded', async () => {
    await using server = await serveScript({ status: 500 }, page(2, 'complete', null))
    const { reply, meta } = await clientOf(server).client.validators.aggregateEffectiveness(input).withMeta()
    assert.deepEqual([reply.data, meta.coverage, meta.attempt], [[{ day: 2 }], 'complete', 2])
  })

  test('pages and records have the metadata of their page', async () => {
    await using first = await twoPages()
    const pages = clientOf(first).client.validators.aggregateEffectiveness(input).pages()
    const ofPages = await Array.fromAsync(pages.withMeta(), ({ reply, meta }) => [reply.data[0]?.day, meta.coverage])
    await using second = await twoPages()
    const records = clientOf(second).client.call('validators.aggregateEffectiveness', input).records()
    const ofRecords = await Array.fromAsync(records.withMeta(), ({ record, meta }) => [record.day, meta.coverage])
    const expected = [
      [2, '0-9'],
      [1, '0-19'],
    ]
    assert.deepEqual([ofPages, ofRecords], [expected, expected])
  })

  test('the request of the method is that of the first page', async () => {
    await using server = await twoPages()
    const call = clientOf(server).client.validators.aggregateEffectiveness(input)
    assert.deepEqual((await call).data, [{ day: 2 }])
    assert.deepEqual(await Array.fromAsync(call.records(), ({ day }) => day), [2, 1])
    assert.equal(server.requests.length, 2)
  })

  test('a failure is thrown once, by whatever the caller uses', async () => {
    const unhandled: unknown[] = []
    const listen = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', listen)
    try {
      await using server = await serveScript({ status: 401, body: { detail: 'Not authenticated' } })
      const { client } = clientOf(server)
      const start = () => client.validators.aggregateEffectiveness(input)
      for (const use of [
        start,
        () => start().withMeta(),
        () => Array.fromAsync(start().pages()),
        () => Array.fromAsync(start().records().withMeta()),
      ])
        assert.equal((await failureOf(use())).status, 401)
      await new Promise((resolve) => setImmediate(resolve))
      assert.deepEqual(unhandled, [])
    } finally {
      process.off('unhandledRejection', listen)
    }
  })

  test('an input that cannot be sent is a rejection', async () => {
    await using server = await serveScript()
    await assert.rejects(clientOf(server).client.markets.bySlug({ slug: '' }), TypeError)
  })
})
