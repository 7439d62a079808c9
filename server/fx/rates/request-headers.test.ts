import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import { openContext, settingsWith, testNowMs } from '#test/context.ts'
import { readSource } from './poll-rates.ts'
import { readHeaders } from './request-headers.ts'
import { sourcesReport, writeStatus } from './source-health.ts'
import { openRateReader } from './sources.ts'

const secret = 'token-0f9e8d7c6b5a'
const pairs = ['EUR/USD', 'GBP/USD', 'AUD/USD', 'USD/JPY', 'USD/CHF']

/** Answers with one document that has all pairs, and keeps the requests. */
async function openProvider(reply = JSON.stringify(pairs.map((pair) => ({ name: pair, price: '1.25' })))) {
  const requests: { readonly request: IncomingMessage; readonly body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ request, body })
    if (request.headers.authorization !== `Bearer ${secret}`) response.writeHead(401)
    response.end(reply)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1?key=abc`
  return { url, requests, [Symbol.dispose]: () => void server.close() }
}

const settingsOf = (url: string, changes: object) =>
  settingsWith({
    fx: {
      sources: [
        {
          ...{
            id: 'a',
            kind: 'http-json',
            url,
            document: { list: '', name: 'name', rate: 'price', times: 'received' },
          },
          pairs: pairs.map((pair) => ({ name: pair, pair })),
          ...changes,
        },
      ],
    },
  })

function readerOf(url: string, changes: object, env: Readonly<Record<string, string>> = {}) {
  const { fx } = settingsOf(url, changes)
  const [source] = fx.sources
  assert.ok(source)
  const reader = openRateReader(source, fx, systemClock, env)
  assert.ok(reader)
  return { source, reader, read: () => reader(new AbortController().signal) }
}

const authorization = { name: 'Authorization', prefix: 'Bearer ' }
const fromVariable = { headers: [{ ...authorization, env: 'DESK_TOKEN' }] }

describe('request headers', () => {
  test('one request reads every pair of the document, with the header from a variable', async () => {
    using provider = await openProvider()
    const { rates, rejected } = await readerOf(provider.url, fromVariable, { DESK_TOKEN: `${secret}\n` }).read()
    assert.deepEqual(
      [rates.map(({ base, quote }) => `${base}/${quote}`), rejected, provider.requests.length],
      [pairs, [], 1],
    )
  })

  test('a value from a file is read with every request, so it can be replaced', async () => {
    using provider = await openProvider()
    await using context = await openContext()
    const file = join(context.dir, 'token')
    const { read } = readerOf(provider.url, { headers: [{ ...authorization, file }] })
    await writeFile(file, 'an-old-token')
    await assert.rejects(read, /returned status 401$/)
    await writeFile(file, `${secret}\n`)
    assert.equal((await read()).rates.length, pairs.length)
    await writeFile(file, ' \n')
    await assert.rejects(read, /the header Authorization has no value: the file .+token is empty/)
  })

  test('with a body, the request is a POST request with JSON', async () => {
    using provider = await openProvider()
    const body = '{"from":{"currency":"EURC","amount":"1000"}}'
    await readerOf(provider.url, { ...fromVariable, body }, { DESK_TOKEN: secret }).read()
    const [sent] = provider.requests
    assert.deepEqual(
      [sent?.request.method, sent?.request.headers['content-type'], sent?.body],
      ['POST', 'application/json', body],
    )
  })

  test('a missing variable, and a value that no header may have, are errors without the value', async () => {
    const headers = [{ ...authorization, env: 'DESK_TOKEN' }]
    await assert.rejects(readHeaders(headers, {}), /no value: the environment variable DESK_TOKEN is not set$/)
    for (const value of [`${secret}\r\nx: y`, `${secret}\u00e4`, `${secret}\u0000`]) {
      const error = await readHeaders(headers, { DESK_TOKEN: value }).catch((error: Error) => error)
      assert.ok(error instanceof Error)
      assert.match(error.message, /the header Authorization cannot be sent: the environment variable DESK_TOKEN has/)
      assert.doesNotMatch(error.message, new RegExp(secret))
    }
  })

  test('a document that repeats the value is refused, and neither log, status nor report have it', async () => {
    using provider = await openProvider(JSON.stringify([{ name: 'EUR/USD', price: `${secret} is not a price` }]))
    const lines: unknown[] = []
    const add = (...words: unknown[]) => void lines.push(words)
    await using bare = await openContext()
    const { source, reader } = readerOf(provider.url, fromVariable, { DESK_TOKEN: secret })
    const settings = settingsOf(provider.url, fromVariable)
    const context = { ...bare, settings, log: { warn: add, info: add, error: add, debug: add } as unknown as Log }
    const error = await readSource(context, source, reader, new AbortController().signal).catch((error: Error) => error)
    assert.ok(error instanceof Error)
    assert.match(error.message, /repeats the value of a header in its document, so the document is not used$/)
    await writeStatus(context.state, 'a', {
      ...{ triedMs: testNowMs, goodMs: null, failures: 1, tookMs: null, reason: error.message },
    })
    const shown = JSON.stringify([lines, await sourcesReport(context), settings, error.message])
    assert.doesNotMatch(shown, new RegExp(secret))
    assert.match(shown, /DESK_TOKEN/)
  })
})
