import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { allEndpoints, extensions } from '#api/contract/extensions.ts'
import { networks } from '#api/contract/wire/networks.ts'
import { aggregateFields } from '#api/contract/wire/validators.ts'
import { withNetworks } from '#api/contract/with-networks.ts'
import { Fault } from '#core/fault.ts'
import { parser, type RequestParts } from './parse.ts'

const requestWith = (changes: Partial<RequestParts>): RequestParts => ({
  params: {},
  query: {},
  headers: {},
  contentType: '',
  body: undefined,
  ...changes,
})

/** `location.name message` of every problem. */
function problemsOf(work: () => unknown): string[] {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Fault, String(error))
    return error.problems.map((problem) => `${problem.at.join('.')} ${problem.message}`)
  }
  return []
}

describe('query', () => {
  const parse = parser(withNetworks(contract['validators.aggregateEffectiveness'], networks))

  test('defaults are filled in; other inputs are absent', () => {
    assert.deepEqual(parse(requestWith({ query: { indices: '7' } })), {
      network: 'mainnet',
      indices: [7],
      filterType: 'day',
      size: 10,
      groupBy: 'validator',
    })
  })

  test('a list accepts repeated and comma-separated values, also mixed', () => {
    assert.deepEqual(parse(requestWith({ query: { indices: ['1', '2,3'] } })).indices, [1, 2, 3])
  })

  test('a list has a maximum, and further items are not parsed', () => {
    const fields = ['validatorIndex', ...aggregateFields].length
    const include = (count: number) =>
      problemsOf(() => parse(requestWith({ query: { indices: '7', include: Array(count).fill('earnings') } })))
    assert.deepEqual(include(fields), [])
    assert.deepEqual(include(fields + 1), [`query.include must have at most ${fields} items`])
    // The error stays short for long lists with many problems.
    const indices = `${'1,'.repeat(10_001)}${'x,'.repeat(100_000)}`
    assert.deepEqual(
      problemsOf(() => parse(requestWith({ query: { indices } }))),
      ['query.indices must have at most 10000 items'],
    )
  })

  test('an empty value is refused, unless the text may be empty; in group A it counts as absent', () => {
    for (const name of ['from', 'pubkeys', 'size', 'groupBy'])
      assert.deepEqual(
        problemsOf(() => parse(requestWith({ query: { indices: '7', [name]: '' } }))),
        [`query.${name} must not be empty`],
      )
    for (const [id, name] of [
      ['markets.bySlug', 'asOf'],
      ['validators.effectiveness', 'toDate'],
      ['fx.quotes', 'before'],
      ['markets.list', 'id'],
    ] as const) {
      const params = { slug: 'a', validator_index_or_pubkey: '1' }
      const problems = problemsOf(() => parser(allEndpoints[id])(requestWith({ params, query: { [name]: '' } })))
      assert.deepEqual(problems, [`query.${name} must not be empty`])
    }
    assert.equal(parser(extensions['markets.search'])(requestWith({ query: { q: '' } })).q, '')
    const labels = parser(contract['explorer.labelListV2'])
    assert.equal(labels(requestWith({ query: { format: '', chainid: '' } })).format, undefined)
  })

  for (const text of ['0x10', '1e3', ' 7', '7.0', '+7', '99999999999999999999', 'NaN', '٧']) {
    test(`"${text}" is not an integer`, () => {
      assert.deepEqual(
        problemsOf(() => parse(requestWith({ query: { indices: text } }))),
        ['query.indices.0 must be integer'],
      )
    })
  }

  test('all problems are reported, with location and wire name', () => {
    assert.deepEqual(
      problemsOf(() =>
        parse(requestWith({ query: { size: '1001', groupBy: 'pool' }, headers: { 'x-validator-network': 'moon' } })),
      ).sort(),
      [
        'header.x-validator-network must be one of mainnet, hoodi, holesky',
        'query.groupBy must be one of timeWindow, validator',
        'query.size must be at most 1000',
      ],
    )
  })

  test('a single value that is repeated is refused', () => {
    assert.deepEqual(
      problemsOf(() => parse(requestWith({ query: { indices: '1', size: ['1', '2'] } }))),
      ['query.size must be given once'],
    )
  })

  test('a list of 10 000 bad values gets a short error', () => {
    const indices = Array.from({ length: 10_000 }, () => 'x').join(',')
    assert.equal(problemsOf(() => parse(requestWith({ query: { indices } }))).length, 20)
  })
})

describe('path and booleans', () => {
  test('path values and both spellings of booleans are parsed', () => {
    const parse = parser(contract['markets.bySlug'])
    assert.deepEqual(parse(requestWith({ params: { slug: 'a-b' }, query: { include_tag: '0' } })), {
      slug: 'a-b',
      include_tag: false,
    })
    assert.deepEqual(
      problemsOf(() => parse(requestWith({ params: { slug: 'a b' }, query: { include_tag: 'maybe' } }))).sort(),
      ['path.slug must be 1 to 256 letters, digits, points, hyphens, _ and ~', 'query.include_tag must be boolean'],
    )
  })
})

describe('body', () => {
  const parse = parser(contract['fx.createQuote'])
  const send = (text: string, contentType = 'application/json') =>
    parse(requestWith({ body: new TextEncoder().encode(text), contentType, headers: { 'idempotency-key': 'k1' } }))
  const good = '{"from":{"currency":"USDC","amount":"1"},"to":{"currency":"EURC"},"tenor":"instant"}'

  test('body, headers and defaults form one input', () => {
    const input = send(good, 'application/json; charset=utf-8')
    assert.equal(input.type, 'tradable')
    assert.equal(input.idempotencyKey, 'k1')
    assert.deepEqual(input.from, { currency: 'USDC', amount: '1' })
  })

  test('an empty idempotency key is refused; an empty cursor counts as absent', () => {
    const body = new TextEncoder().encode(good)
    const empty = requestWith({ body, contentType: 'application/json', headers: { 'idempotency-key': '' } })
    assert.deepEqual(
      problemsOf(() => parse(empty)),
      ['header.idempotency-key must not be empty'],
    )
    const stream = parser(extensions['markets.changeStream'])
    assert.equal(stream(requestWith({ headers: { 'last-event-id': '' } })).lastEventId, undefined)
  })

  test('another content type is body.type', () => {
    assert.throws(() => send(good, 'text/plain'), { code: 'body.type' })
    assert.throws(() => send(good, 'application/jsonp'), { code: 'body.type' })
  })

  test('broken JSON and broken UTF-8 are body.invalid_json', () => {
    assert.throws(() => send('{'), { code: 'body.invalid_json' })
    assert.throws(
      () => parse(requestWith({ body: Uint8Array.of(0x22, 0xff, 0x22), contentType: 'application/json' })),
      {
        code: 'body.invalid_json',
      },
    )
    assert.throws(() => parse(requestWith({ contentType: 'application/json' })), { code: 'body.invalid_json' })
  })

  test('bodies that are not objects and fields of the wrong type are refused', () => {
    assert.deepEqual(
      problemsOf(() => send('[1]')),
      ['body must be an object'],
    )
    assert.deepEqual(problemsOf(() => send('{"from":{"currency":"USDC","amount":1},"to":7}')).sort(), [
      'body.from.amount must be string',
      'body.tenor is required',
      'body.to must be object',
    ])
  })

  test('null counts as absent in the body and in its members, except where absence means a default', () => {
    const input = send(
      '{"from":{"currency":"USDC","amount":"1"},"to":{"currency":"EURC","amount":null},"tenor":"daily","recipientAddress":null}',
    )
    assert.deepEqual(input, {
      ...{ from: { currency: 'USDC', amount: '1' }, to: { currency: 'EURC' }, tenor: 'daily' },
      ...{ type: 'tradable', idempotencyKey: 'k1' },
    })
    assert.throws(() => send(`{"type":null,${good.slice(1)}`), { code: 'input.invalid' })
    assert.deepEqual(problemsOf(() => send('{"from":null,"to":{"currency":null},"tenor":null}')).sort(), [
      'body.from is required',
      'body.tenor is required',
      'body.to.currency is required',
    ])
  })

  test('a required format is described in words, not as a pattern', () => {
    const body =
      '{"from":{"currency":"USDC","amount":"1,5"},"to":{"currency":"EURC"},"tenor":"daily","recipientAddress":"0x1"}'
    assert.deepEqual(problemsOf(() => send(body)).sort(), [
      'body.from.amount must be a decimal text with at most six decimals, such as "1000.5"',
      'body.recipientAddress must be 0x and 40 hexadecimal digits',
    ])
  })

  test('a header in the body is refused under both names, unless it is null', () => {
    const refusal = (name: string) => [`body.${name} must not be in the body: send it as the header idempotency-key`]
    for (const name of ['idempotencyKey', 'idempotency-key', 'Idempotency-Key']) {
      const given = (value: string) => send(`{"${name}":${value},${good.slice(1)}`)
      assert.deepEqual(
        problemsOf(() => given('"order-7"')),
        refusal(name),
      )
      assert.deepEqual(given('null'), send(good))
    }
  })

  test('unknown members are refused, also one named __proto__', () => {
    for (const name of ['orderId', 'Type', '__proto__'])
      assert.throws(() => send(`{"${name}":{"type":"reference"},${good.slice(1)}`), { code: 'input.unknown' }, name)
    const inside = good.replace('"USDC"', '"USDC","note":""')
    assert.deepEqual(
      problemsOf(() => send(inside)),
      ['body.from.note is not known'],
    )
  })
})

test('a network is one that the server has', () => {
  const parse = parser(withNetworks(contract['validators.metadata'], [...networks, 'devnet']))
  const networkOf = (name: string) =>
    parse(requestWith({ params: { validator_index_or_pubkey: '1' }, headers: { 'x-validator-network': name } })).network
  assert.deepEqual([networkOf('devnet'), networkOf('hoodi')], ['devnet', 'hoodi'])
  assert.deepEqual(
    problemsOf(() => networkOf('moon')),
    ['header.x-validator-network must be one of mainnet, hoodi, holesky, devnet'],
  )
})
