import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientOf, failureOf, key } from '../../test/scripted-client.ts'
import { serveScript } from '../../test/scripted-server.ts'
import { contract } from '../contract/contract.ts'
import type { EndpointId } from '../contract/routes.ts'
import {
  createClient,
  ExplorerError,
  FxError,
  type InputOf,
  MarketsError,
  TransportError,
  ValidatorsError,
} from './client.ts'

const quoteInput = contract['fx.createQuote'].example.input as InputOf<'fx.createQuote'>

describe('requests', () => {
  for (const id of Object.keys(contract) as EndpointId[]) {
    test(`${id}: sends the example input as the contract describes and returns the reply`, async () => {
      const { example, path, method, auth, selectedBy } = contract[id] as (typeof contract)['explorer.fundedBy']
      await using server = await serveScript({ body: example.reply })
      const { client } = clientOf(server)
      const reply = await client.call(id, example.input as never)
      assert.deepStrictEqual(reply, example.reply)
      const [request] = server.requests
      const url = new URL(request?.url ?? '', server.url)
      const inputs: Record<string, unknown> = { ...example.input }
      assert.equal(
        url.pathname,
        path.replace(/\{(\w+)\}/, (_, name) => String(inputs[name])),
      )
      assert.equal(request?.method, method)
      assert.equal(url.searchParams.get('apikey'), auth === 'apikey' ? key : null)
      assert.equal(request?.headers.authorization, auth === 'apikey' ? undefined : `Bearer ${key}`)
      assert.equal(url.searchParams.get('module'), selectedBy?.module ?? null)
      assert.equal(url.searchParams.get('action'), selectedBy?.action ?? null)
    })
  }

  test('joins lists with commas, sends the network as a header and omits absent inputs', async () => {
    await using server = await serveScript({ body: contract['validators.aggregateEffectiveness'].example.reply })
    const { client } = clientOf(server)
    await client.validators.aggregateEffectiveness({
      indices: [1, 2, 3],
      network: 'hoodi',
      include: ['earnings', 'uptime'],
      from: 2174,
    })
    assert.equal(
      server.requests[0]?.url,
      '/v0/eth/validators/effectiveness?indices=1,2,3&include=earnings,uptime&from=2174',
    )
    assert.equal(server.requests[0]?.headers['x-validator-network'], 'hoodi')
  })

  test('posts a quote as JSON and sends the idempotency key as a header', async () => {
    await using server = await serveScript({ body: contract['fx.createQuote'].example.reply })
    const { client } = clientOf(server)
    await client.fx.createQuote({ ...quoteInput, idempotencyKey: 'abc' })
    assert.deepStrictEqual(JSON.parse(server.requests[0]?.body ?? ''), quoteInput)
    assert.equal(server.requests[0]?.headers['idempotency-key'], 'abc')
    assert.equal(server.requests[0]?.headers['content-type'], 'application/json')
  })

  test('each group, and the label lists, can have their own base URL with a path', async () => {
    await using one = await serveScript({ body: { status: '1', message: 'OK', result: [] } })
    await using two = await serveScript({ body: { status: '1', message: 'OK', result: {} } })
    const { client } = clientOf(one, { baseUrls: { explorerMetadata: `${one.url}/labels/`, explorer: two.url } })
    await client.explorer.labelListV1()
    await client.explorer.fundedBy({ address: `0x${'1'.repeat(40)}`, chainid: 137 })
    assert.match(
      one.requests[0]?.url ?? '',
      /^\/labels\/v1\/api\.ashx\?module=nametag&action=getlabelmasterlist&apikey=/,
    )
    assert.match(
      two.requests[0]?.url ?? '',
      /^\/v2\/api\?module=account&action=fundedby&address=0x1+&chainid=137&apikey=/,
    )
  })

  test('refuses values that cannot be path segments before it sends anything', async () => {
    await using server = await serveScript({})
    const { client } = clientOf(server)
    for (const slug of ['', '.', '..']) await assert.rejects(client.markets.bySlug({ slug }), TypeError)
    await client.markets.bySlug({ slug: 'a/../b?c#d' })
    assert.deepStrictEqual(
      server.requests.map(({ url }) => url),
      ['/markets/slug/a%2F..%2Fb%3Fc%23d'],
    )
  })

  test('refuses a missing or malformed base URL without repeating it in the error', async () => {
    for (const baseUrl of ['nowhere', 'ftp://host', 'https://user:pass@host', 'https://host/?apikey=1']) {
      const call = createClient({ baseUrl }).markets.bySlug({ slug: 'a' })
      await assert.rejects(call, (error) => error instanceof TypeError && !error.message.includes(baseUrl))
    }
    await assert.rejects(createClient({}).markets.bySlug({ slug: 'a' }), /no base URL: set baseUrl/)
  })

  test('keeps integers beyond 2^53 exact', async () => {
    await using server = await serveScript({ body: '{"data":[{"earnings":12345678901234567890}],"next":null}' })
    const { client } = clientOf(server)
    const { data } = await client.validators.aggregateEffectiveness({ indices: [1] })
    assert.equal(data[0]?.earnings, 12345678901234567890n)
  })
})

describe('errors', () => {
  const at = { 'x-request-id': 'r-1', 'x-tetrad-fault': 'input.invalid' }

  test('group A: status 0 is an ExplorerError although the HTTP status is 200', async () => {
    const body = { status: '0', message: 'NOTOK', result: 'Error! Invalid address format' }
    await using server = await serveScript({ headers: at, body })
    const error = await failureOf(clientOf(server).client.explorer.fundedBy({ address: '0x' }))
    assert.ok(error instanceof ExplorerError)
    const { result, group, endpoint, status, fault, requestId, retryable, notFound } = error
    assert.deepStrictEqual(
      { result, group, endpoint, status, fault, requestId, retryable, notFound },
      {
        result: 'Error! Invalid address format',
        group: 'explorer',
        endpoint: 'explorer.fundedBy',
        status: 200,
        fault: 'input.invalid',
        requestId: 'r-1',
        retryable: false,
        notFound: false,
      },
    )
    assert.equal(error.message, 'explorer.fundedBy: Error! Invalid address format')
  })

  test('group A: a text that asks to try again is retryable, also without retry-after', async () => {
    const result = 'Too many searches are running; try again in a moment.'
    await using server = await serveScript({ body: { status: '0', message: 'NOTOK', result } })
    const { client } = clientOf(server)
    const error = await failureOf(client.explorer.fundedBy({ address: '0x' }, { retries: 0 }))
    assert.equal(error.retryable, true)
  })

  test('group A: "No data found" is an error for a lookup and an empty list for a list', async () => {
    await using server = await serveScript({ body: { status: '0', message: 'No data found', result: [] } })
    const { client } = clientOf(server)
    const error = await failureOf(client.explorer.fundedBy({ address: '0x' }))
    assert.ok(error instanceof ExplorerError && error.notFound && !error.retryable)
    assert.deepStrictEqual((await client.explorer.labelListV1()).result, [])
    assert.deepStrictEqual((await client.explorer.labelListV2()).result, [])
  })

  test('group B: the error has the code and the parameter problems', async () => {
    const problem = { error: 'invalid', message: 'body.from.amount is odd', location: 'body.from.amount' }
    await using server = await serveScript({
      status: 400,
      headers: at,
      body: { code: 2, message: 'Invalid parameters.', errors: [problem] },
    })
    const error = await failureOf(clientOf(server).client.fx.createQuote(quoteInput))
    assert.ok(error instanceof FxError)
    assert.deepStrictEqual([error.code, error.errors, error.status, error.retryable], [2, [problem], 400, false])
    assert.match(error.message, /^fx\.createQuote: Invalid parameters\.; body\.from\.amount is odd \(code 2\)$/)
  })

  test('group B: an unknown quote is notFound, a disabled interface is not', async () => {
    await using server = await serveScript(
      { status: 404, body: { code: 404, message: 'Not found.' } },
      { status: 404, body: { code: 404, message: 'This interface is disabled on this server.' } },
    )
    const { client } = clientOf(server)
    const id = '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'
    for (const notFound of [true, false]) {
      const error = await failureOf(client.fx.quote({ id }))
      assert.ok(error instanceof FxError && error.notFound === notFound && error.code === 404)
    }
  })

  test('an undefined option of a call falls back to that of the client', async () => {
    await using server = await serveScript({ status: 503 }, { body: {} })
    const { client } = clientOf(server, { retries: 0 })
    const error = await failureOf(client.markets.bySlug({ slug: 'a' }, { retries: undefined }))
    assert.equal(error.status, 503)
  })

  test('group C: the error has one text, or one entry per parameter', async () => {
    const detail = [{ loc: ['query', 'size'], msg: 'must be at most 1000', type: 'value_error' }]
    await using server = await serveScript(
      { status: 404, body: { detail: 'Not found.' } },
      { status: 400, body: { detail } },
    )
    const { client } = clientOf(server)
    const missing = await failureOf(client.validators.metadata({ validator_index_or_pubkey: 12 }))
    assert.ok(missing instanceof ValidatorsError && missing.notFound && missing.detail === 'Not found.')
    const wrong = await failureOf(client.validators.aggregateEffectiveness({ indices: [1], size: 5000 }))
    assert.ok(wrong instanceof ValidatorsError)
    assert.deepStrictEqual(wrong.detail, detail)
    assert.match(wrong.message, /query\.size: must be at most 1000/)
  })

  test('group D: the error has type and text', async () => {
    await using server = await serveScript({ status: 404, body: { type: 'not found error', error: 'slug not found' } })
    const error = await failureOf(clientOf(server).client.markets.bySlug({ slug: 'a' }))
    assert.ok(error instanceof MarketsError && error.notFound)
    assert.deepStrictEqual([error.type, error.error], ['not found error', 'slug not found'])
  })

  test('a response of another interface is an error that mentions the base URL', async () => {
    await using server = await serveScript({ status: 404, body: '<html>' }, { body: '<html>' }, { body: '"text"' })
    const { client } = clientOf(server)
    for (const status of [404, 200, 200]) {
      const error = await failureOf(client.markets.bySlug({ slug: 'a' }))
      assert.ok(error instanceof TransportError && error.reason === 'unreadable')
      assert.deepStrictEqual([error.status, error.retryable, error.notFound], [status, false, false])
      assert.match(error.message, /check the base URL/)
    }
  })

  test('a refused connection, a broken connection and a redirect are TransportErrors', async () => {
    await using server = await serveScript({ instead: 'drop' }, { status: 302, headers: { location: '/x' } })
    const { client } = clientOf(server, { retries: 0 })
    for (let round = 0; round < 2; round++) {
      const error = await failureOf(client.explorer.labelListV1())
      assert.ok(error instanceof TransportError && error.reason === 'network' && error.retryable)
    }
    assert.equal(server.requests.length, 2)
  })

  test('a timeout is a TransportError; an aborted call rejects with the reason', async () => {
    await using server = await serveScript({ instead: 'hang' })
    const { client } = clientOf(server, { retries: 0 })
    const error = await failureOf(client.markets.bySlug({ slug: 'a' }, { timeoutMs: 20 }))
    assert.ok(error instanceof TransportError && error.reason === 'timeout')
    const stop = new AbortController()
    const call = client.markets.bySlug({ slug: 'a' }, { signal: stop.signal })
    stop.abort(new Error('enough'))
    await assert.rejects(call, /^Error: enough$/)
    await assert.rejects(client.markets.bySlug({ slug: 'a' }, { signal: stop.signal }), /^Error: enough$/)
  })

  test('no error contains the key', async () => {
    const leaky = async (url: string | URL | Request) => {
      throw new Error(`request to ${url} failed`, { cause: new Error(`authorization was Bearer ${key}`) })
    }
    const echo = { status: '0', message: 'NOTOK', result: `${key} is wrong` }
    const talkative = async () => new Response(JSON.stringify(echo))
    for (const fetch of [leaky, talkative]) {
      const client = createClient({ baseUrl: 'http://127.0.0.1:1', key, retries: 0, fetch })
      const error = await failureOf(client.explorer.labelListV1())
      const everything = `${error.stack} ${JSON.stringify({ ...error })} ${JSON.stringify(error.cause)}`
      assert.ok(!everything.includes('s3cr3t'), everything)
      assert.match(error.message, /\[key\]/)
    }
  })
})
