import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientOf, failureOf } from '../../test/scripted-client.ts'
import { type Scripted, serveScript } from '../../test/scripted-server.ts'
import { contract } from '../contract/contract.ts'
import { createClient, type InputOf, type ResponseMeta } from './client.ts'

const quoteInput = contract['fx.createQuote'].example.input as InputOf<'fx.createQuote'>
const busy: Scripted = { status: 503, body: { code: 3010, message: 'No fresh rate for this pair.' } }

describe('retries', () => {
  const good: Scripted = { body: contract['markets.bySlug'].example.reply }
  const refused: Scripted = { status: 429, headers: { 'retry-after': '3' }, body: { type: 'a', error: 'b' } }

  test('retries a GET after temporary errors with growing waits, twice by default', async () => {
    await using server = await serveScript({ status: 500 }, { instead: 'drop' }, good)
    const { client, waits } = clientOf(server)
    await client.markets.bySlug({ slug: 'a' })
    assert.deepStrictEqual(waits, [500, 1000])
    await using broken = await serveScript({ status: 500 })
    const other = clientOf(broken)
    await failureOf(other.client.markets.bySlug({ slug: 'a' }))
    assert.equal(broken.requests.length, 3)
    await failureOf(other.client.markets.bySlug({ slug: 'a' }, { retries: 0 }))
    assert.equal(broken.requests.length, 4)
    await failureOf(other.client.markets.bySlug({ slug: 'a' }, { retries: Number.POSITIVE_INFINITY }))
    assert.equal(broken.requests.length, 15)
  })

  test('waits are shortened at random', async () => {
    await using server = await serveScript({ status: 500 }, good)
    const { client, waits } = clientOf(server, { random: () => 0.25 })
    await client.markets.bySlug({ slug: 'a' })
    assert.deepStrictEqual(waits, [125])
  })

  test('waits for retry-after, given as seconds or as a date', async () => {
    const dated = { ...refused, headers: { 'retry-after': 'Sun, 15 Nov 2026 12:00:07 GMT' } }
    const past = { ...refused, headers: { 'retry-after': 'Sun, 15 Nov 2026 11:00:00 GMT' } }
    await using server = await serveScript(refused, dated, past, good)
    const { client, waits } = clientOf(server, { retries: 3, random: () => 0 })
    await client.markets.bySlug({ slug: 'a' })
    assert.deepStrictEqual(waits, [3000, 7000, 0])
  })

  test('spreads the retries of callers that were refused together, further with each attempt', async () => {
    await using server = await serveScript(refused, refused, good)
    const { client, waits } = clientOf(server, { random: () => 0.5 })
    await client.markets.bySlug({ slug: 'a' })
    assert.deepStrictEqual(waits, [3000 + 1000, 3000 + 2000])
  })

  test('throws instead of waiting longer than waitMaxMs; the error has the wait', async () => {
    await using server = await serveScript({ ...refused, headers: { 'retry-after': '3600' } })
    const { client, waits } = clientOf(server)
    const error = await failureOf(client.markets.bySlug({ slug: 'a' }))
    assert.deepStrictEqual(
      [error.retryAfterMs, error.retryable, waits, server.requests.length],
      [3_600_000, true, [], 1],
    )
  })

  test('group A: retries after a rate limit error with HTTP 200', async () => {
    const limit = { status: '0', message: 'NOTOK', result: 'Max calls per sec rate limit reached (2/sec)' }
    const found = contract['explorer.fundedBy'].example.reply
    await using server = await serveScript({ headers: { 'retry-after': '1' }, body: limit }, { body: found })
    const { client, waits } = clientOf(server, { random: () => 0 })
    assert.deepStrictEqual(await client.explorer.fundedBy({ address: '0x' }), found)
    assert.deepStrictEqual(waits, [1000])
  })

  test('does not retry permanent errors', async () => {
    for (const status of [400, 401, 403, 404, 409, 413, 422]) {
      await using server = await serveScript({ status, body: { type: 'a', error: 'b' } })
      await failureOf(clientOf(server).client.markets.bySlug({ slug: 'a' }))
      assert.equal(server.requests.length, 1, String(status))
    }
  })

  test('retries a quote only if it was refused before any work, or has an idempotency key', async () => {
    const failures: [Scripted, number][] = [
      [busy, 3],
      [{ status: 429, body: { code: 429, message: 'a' } }, 3],
      [{ status: 500, body: { code: -1, message: 'a' } }, 1],
      [{ status: 504, body: { code: -1, message: 'a' } }, 1],
      [{ instead: 'drop' }, 1],
    ]
    for (const [step, tries] of failures) {
      await using server = await serveScript(step)
      await failureOf(clientOf(server).client.fx.createQuote(quoteInput))
      assert.equal(server.requests.length, tries, JSON.stringify(step))
      await failureOf(clientOf(server).client.fx.createQuote({ ...quoteInput, idempotencyKey: 'k' }))
      assert.equal(server.requests.length, tries + 3, JSON.stringify(step))
    }
  })

  test('aborting ends the wait', async () => {
    await using server = await serveScript(refused)
    const stop = new AbortController()
    const client = createClient({ baseUrl: server.url, signal: stop.signal, onResponse: () => stop.abort() })
    await assert.rejects(client.markets.bySlug({ slug: 'a' }), { name: 'AbortError' })
    assert.equal(server.requests.length, 1)
  })
})

describe('confidence', () => {
  test('onResponse gets the metadata of every response, including failed attempts', async () => {
    const headers = {
      'x-request-id': 'r-2',
      'x-tetrad-as-of': '489374',
      'x-tetrad-finality': 'finalized',
      'x-tetrad-coverage': 'complete',
      'retry-after': '3',
    }
    await using server = await serveScript({ status: 500 }, { headers, body: { data: [], next: null } })
    const seen: ResponseMeta[] = []
    const { client } = clientOf(server, { onResponse: (meta) => seen.push(meta) })
    await client.validators.aggregateEffectiveness({ indices: [1] })
    assert.deepStrictEqual(
      seen.map(({ headers: _, ...meta }) => meta),
      [
        {
          endpoint: 'validators.aggregateEffectiveness',
          status: 500,
          fault: undefined,
          requestId: undefined,
          asOf: undefined,
          finality: undefined,
          coverage: undefined,
          retryAfterMs: undefined,
          attempt: 1,
        },
        {
          endpoint: 'validators.aggregateEffectiveness',
          status: 200,
          fault: undefined,
          requestId: 'r-2',
          asOf: '489374',
          finality: 'finalized',
          coverage: 'complete',
          retryAfterMs: 3000,
          attempt: 2,
        },
      ],
    )
  })
})
