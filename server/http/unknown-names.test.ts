// Names that the contract does not have, for every endpoint of the contract and its extensions.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { allEndpoints } from '#api/contract/extensions.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import { inputLocation, namesWithoutEffect } from '#api/contract/routes.ts'
import type { Fault } from '#core/fault.ts'
import { silentLog } from '#runtime/log.ts'
import { everyone } from '#test/authorization.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { inject } from '#test/inject.ts'
import { createHandler } from './handler.ts'
import { startHttpServer } from './http-server.ts'
import { createApp } from './pipeline.ts'
import { ignoredHeader, nameCheck } from './unknown-names.ts'

const strict = settingsWith({})
const lenient = settingsWith({ server: { unknownParameters: 'report' } })
const all = Object.values(allEndpoints).filter(({ group }) => group !== 'explorer')
const queryNames = (endpoint: Endpoint): string[] =>
  Object.keys(endpoint.input.properties).filter((name) => inputLocation(endpoint, name) === 'query')

const check = (endpoint: Endpoint, name: string, settings = strict) =>
  nameCheck(endpoint, settings)?.({ query: { [name]: '1' }, headers: {} })

const refused = (name: string, nearest?: string) => (fault: Fault) => {
  assert.equal(fault.code, 'input.unknown')
  assert.deepEqual(fault.problems[0]?.at, ['query', name])
  if (nearest !== undefined) assert.equal(fault.problems[0]?.message, `is not known; did you mean ${nearest}?`)
  return true
}

describe('of the query', () => {
  test('group A ignores what it does not know', () => {
    for (const endpoint of Object.values(allEndpoints))
      assert.equal(nameCheck(endpoint, strict) === undefined, endpoint.group === 'explorer', endpoint.id)
  })

  test('lookups of one record ignore an unknown name and report it; all others refuse it, unless the setting says report', () => {
    const lookups = all.filter(({ lookup }) => lookup)
    // 4.7, 4.8, and those of the extensions.
    assert.ok(
      lookups.length >= 10 &&
        ['validators.metadata', 'markets.bySlug'].every((id) => lookups.some((one) => one.id === id)),
    )
    for (const endpoint of all) {
      if (endpoint.lookup) assert.deepEqual(check(endpoint, 'surprise'), ['surprise'], endpoint.id)
      else assert.throws(() => check(endpoint, 'surprise'), refused('surprise'), endpoint.id)
      assert.deepEqual(check(endpoint, 'surprise', lenient), ['surprise'], endpoint.id)
    }
  })

  test('known names are accepted; names of cache busters and campaigns, and those without effect, are reported', () => {
    for (const endpoint of all) {
      for (const name of queryNames(endpoint)) assert.deepEqual(check(endpoint, name), [], `${endpoint.id} ${name}`)
      for (const name of ['_', '_t', 'utm_source', ...namesWithoutEffect[endpoint.group]])
        assert.deepEqual(check(endpoint, name), [name], `${endpoint.id} ${name}`)
    }
  })

  test('another spelling of a known name is refused everywhere, and the known name is shown', () => {
    let count = 0
    for (const endpoint of all) {
      const known = new Set(queryNames(endpoint))
      for (const name of known) {
        const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
        for (const other of [name.toUpperCase(), `${name}[]`, `${name}[0]`, camel, name.toLowerCase()]) {
          if (known.has(other)) continue
          for (const settings of [strict, lenient])
            assert.throws(() => check(endpoint, other, settings), refused(other), `${endpoint.id} ${other}`)
          count += 1
        }
      }
    }
    assert.ok(count > 200, `${count} spellings`)
  })

  test('one letter off is a misspelling, of names with at least four letters', () => {
    const {
      'markets.bySlug': bySlug,
      'markets.list': list,
      'validators.aggregateEffectiveness': aggregate,
    } = allEndpoints
    for (const [endpoint, name, nearest] of [
      [bySlug, 'asof', 'asOf'],
      [bySlug, 'inclde_tag', 'include_tag'],
      [bySlug, 'include_tags', 'include_tag'],
      [list, 'LIMIT', 'limit'],
      [list, 'Closed', 'closed'],
      [list, 'slug[]', 'slug'],
      [list, 'lmiit', 'limit'],
      [list, 'tagId', 'tag_id'],
      [aggregate, 'groupby', 'groupBy'],
      [aggregate, 'form', 'from'],
      [allEndpoints['validators.effectiveness'], 'fromday', 'fromDay'],
    ] as [Endpoint, string, string][])
      for (const settings of [strict, lenient])
        assert.throws(() => check(endpoint, name, settings), refused(name, nearest), name)
    // Not misspellings: of the key `q`, and of nothing.
    assert.deepEqual(check(allEndpoints['markets.publicSearch'], 'p', lenient), ['p'])
    assert.deepEqual(check(bySlug, 'ref', lenient), ['ref'])
  })

  test('the message has no value, no control character and no long name; a similar name is shown', () => {
    const list = allEndpoints['markets.list'] as unknown as Endpoint
    assert.throws(() => check(list, 'order_by'), refused('order_by', 'order'))
    assert.throws(() => check(list, 'tags'), refused('tags', 'tag_slug'))
    assert.throws(() => check(list, 'a\u0000\nb€'), refused('a??b?'))
    assert.throws(() => check(list, 'x'.repeat(5000)), refused('x'.repeat(64)))
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`name${at}`, '']))
    assert.throws(
      () => nameCheck(list, strict)?.({ query: many, headers: {} }),
      (fault: Fault) => fault.problems.length === 20,
    )
    assert.equal(nameCheck(list, lenient)?.({ query: many, headers: {} }).length, 20)
  })

  test('the header is percent-encoded and contains no key', () => {
    assert.equal(ignoredHeader(['a b', 'ü,"']), 'a%20b,%C3%BC,%22')
    const key = `tetrad:0123456789abcdef:${'k'.repeat(43)}`
    assert.doesNotMatch(decodeURIComponent(ignoredHeader([key])), /k{10}/)
    assert.equal(ignoredHeader(['\ud800']), '%EF%BF%BD')
  })
})

describe('of headers', () => {
  const metadata = allEndpoints['validators.metadata'] as unknown as Endpoint
  const send = (endpoint: Endpoint, header: string, settings = strict) =>
    nameCheck(endpoint, settings)?.({ query: {}, headers: { [header]: 'holesky' } })

  test('a header that means the network is refused, unless it is an alias', () => {
    for (const name of [
      'x-other-network',
      'x-network',
      'validator-network',
      'x_validator_network',
      'x-validators-network',
    ])
      assert.throws(
        () => send(metadata, name),
        (fault: Fault) =>
          fault.code === 'input.unknown' &&
          fault.problems[0]?.message === 'is not known; did you mean x-validator-network?',
        name,
      )
    // The value that the absent header stands for changes nothing.
    const standing = { query: {}, headers: { 'x-other-network': 'mainnet' } }
    assert.deepEqual(nameCheck(metadata, strict)?.(standing), ['x-other-network'])
    const aliases = { requestHeaders: { 'X-Other-Network': 'X-Validator-Network' } }
    assert.deepEqual(send(metadata, 'x-other-network', settingsWith({ aliases })), [])
  })

  test('other headers are accepted', () => {
    for (const name of [
      'x-validator-network',
      'x-forwarded-for',
      'accept',
      'sec-fetch-mode',
      'x-corporate-proxy-network',
    ])
      assert.deepEqual(send(metadata, name), [], name)
    // Twice, because what was examined is remembered.
    const examined = nameCheck(metadata, strict)
    for (const _ of [1, 2]) {
      assert.deepEqual(examined?.({ query: {}, headers: { accept: '*' } }), [])
      assert.throws(() => examined?.({ query: {}, headers: { 'x-network': 'hoodi' } }), { code: 'input.unknown' })
    }
  })

  test('a misspelled idempotency key is refused', () => {
    const quote = allEndpoints['fx.createQuote'] as unknown as Endpoint
    for (const name of ['x-idempotency-key', 'idempotencykey', 'idempotency-keys'])
      assert.throws(() => send(quote, name), { code: 'input.unknown' }, name)
    assert.deepEqual(send(quote, 'x-api-key'), [])
  })
})

describe('over HTTP', () => {
  async function openTestServer(settings: object = {}) {
    const context = await openContext({ ...settings, server: { port: 0 } })
    const handlers = Object.values(allEndpoints).map((endpoint) =>
      createHandler(endpoint as unknown as Endpoint, async () => ({ is: 'bytes', bytes: Buffer.from('{}') })),
    )
    const app = createApp({ ...context, log: silentLog }, handlers, everyone, { request: () => {} })
    const server = await startHttpServer(app, [])
    return {
      server,
      async [Symbol.asyncDispose]() {
        await server.close()
        await context[Symbol.asyncDispose]()
      },
    }
  }

  test('400 in the format of the group, and the header on lookups, also with aliases of fields', async () => {
    for (const aliases of [{}, { responseFields: { question: 'title' } }]) {
      await using opened = await openTestServer({ aliases })
      const get = async (url: string, headers = {}) => {
        const response = await inject(opened.server, { url, headers })
        return { status: response.statusCode, body: response.json(), headers: response.headers }
      }
      const list = await get('/markets?Limit=3')
      assert.deepEqual(
        [list.status, list.body],
        [400, { type: 'request error', error: 'Limit is not known; did you mean limit?' }],
      )
      assert.equal(list.headers['x-tetrad-fault'], 'input.unknown')
      const page = await get('/v1/eth/validators/12/effectiveness?fromday=3')
      assert.deepEqual(
        [page.status, page.body],
        [
          400,
          { detail: [{ loc: ['query', 'fromday'], msg: 'is not known; did you mean fromDay?', type: 'value_error' }] },
        ],
      )
      const rates = await get('/v1/exchange/fx/rates?bsae=EUR')
      assert.deepEqual([rates.status, rates.body.code, rates.body.errors[0].location], [400, 2, 'query.bsae'])
      const market = await get('/markets/slug/a?ref=x&utm_source=y&include_tag=false')
      assert.deepEqual([market.status, market.headers['x-tetrad-ignored']], [200, 'ref,utm_source'])
      assert.match(String(market.headers['access-control-expose-headers']), /x-tetrad-ignored/)
      assert.equal((await get('/markets/slug/a')).headers['x-tetrad-ignored'], undefined)
      const network = await get('/v0/eth/validators/12', { 'x-some-network': 'holesky' })
      assert.deepEqual([network.status, network.body.detail[0].loc], [400, ['header', 'x-some-network']])
      // Group A.
      assert.equal(
        (await get(`/v2/api?module=account&action=fundedby&address=0x${'1'.repeat(40)}&surprise=1`)).status,
        200,
      )
    }
  })

  test('a body refuses unknown members at any depth, and a query beside it', async () => {
    await using opened = await openTestServer()
    const quote = { from: { currency: 'USDC', amount: '1' }, to: { currency: 'EURC' }, tenor: 'instant' }
    const post = async (body: object, query = '') => {
      const response = await inject(opened.server, {
        ...{ method: 'POST', url: `/v1/exchange/fx/quotes${query}`, payload: JSON.stringify(body) },
        headers: { 'content-type': 'application/json' },
      })
      const { errors } = response.json() as { errors?: { message: string }[] }
      return [response.statusCode, errors?.map(({ message }) => message)]
    }
    assert.deepEqual(await post(quote), [200, undefined])
    assert.deepEqual(await post({ ...quote, Type: 'reference' }), [400, ['body.Type is not known; did you mean type?']])
    assert.deepEqual(await post({ ...quote, from: { ...quote.from, ammount: '2' } }), [
      400,
      ['body.from.ammount is not known; did you mean amount?'],
    ])
    assert.deepEqual(await post({ ...quote, orderId: '7' }), [400, ['body.orderId is not known']])
    assert.deepEqual(await post(quote, '?type=reference'), [400, ['query.type is not known']])
  })
})
