import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { errorFormatOf } from '#api/contract/error-formats.ts'
import { Fault, invalid } from '#core/fault.ts'
import { defaultErrorFormat } from './default-error-format.ts'
import { render, renderFault, serializer } from './render.ts'

test('every example of the contract is serialized unchanged', () => {
  for (const endpoint of Object.values(contract)) {
    const text = serializer(endpoint)(endpoint.example.reply)
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(endpoint.example.reply)), endpoint.id)
  }
})

test('integers beyond 2^53 are serialized exactly', () => {
  const serialize = serializer(contract['validators.aggregateEffectiveness'])
  const page = { filterType: 'day', granularity: 'day', size: 1 }
  const text = serialize({ data: [{ earnings: 2n ** 70n, day: 7 }], next: null, page, total: 1 })
  assert.match(text, /"earnings":1180591620717411303424\b/)
  assert.match(text, /"day":7/)

  const quote = structuredClone(contract['fx.createQuote'].example.reply)
  assert.ok(quote.typedData)
  quote.typedData.message.permitted.amount = 10n ** 30n
  assert.match(serializer(contract['fx.createQuote'])(quote), /"amount":1000000000000000000000000000000\b/)
})

test('an error does not repeat a key that was sent in another parameter', () => {
  const secret = 's'.repeat(43)
  for (const sent of [`tetrad:demo:${secret}`, `x tetrad%3Ademo%3A${secret}`, `"\\TETRAD:demo:${secret}`]) {
    const fault = invalid(['query', sent], `must be known, unlike ${sent}`, sent)
    const { body } = renderFault(
      { ...defaultErrorFormat, renderFault: ({ problems }) => ({ status: 400, body: problems }) },
      fault,
      'open',
    )
    assert.doesNotMatch(String(body), /ssss/)
    assert.match(String(body), /tetrad:demo:…/i)
    assert.ok(JSON.parse(String(body)))
  }
})

test('fields that are not in the contract are not sent', () => {
  const record = { ...contract['validators.metadata'].example.reply, secret: 'x' }
  assert.doesNotMatch(serializer(contract['validators.metadata'])(record), /secret/)
})

test('behaviour/http.md#errors: every error has its code in a header, also "not found" and group A with status 200', () => {
  for (const format of [defaultErrorFormat, ...Object.values(contract).map(errorFormatOf)])
    assert.equal(renderFault(format, new Fault('limit.day'), 'x').headers['x-tetrad-fault'], 'limit.day')
  for (const endpoint of Object.values(contract)) {
    const handler = { endpoint, errorFormat: errorFormatOf(endpoint), handle: () => Promise.reject() }
    const { headers } = render(handler, { serialize: () => '{}', requiresKey: false }, { is: 'nothing' })
    assert.equal(headers['x-tetrad-fault'], 'record.not_found', endpoint.id)
  }
})

test('temporary errors have retry-after in whole seconds, at least 1', () => {
  const shown = renderFault(defaultErrorFormat, new Fault('limit.second', { retryAfterMs: 12 }), 'bearer')
  assert.equal(shown.status, 429)
  assert.equal(shown.headers['retry-after'], '1')
  assert.equal(
    renderFault(defaultErrorFormat, new Fault('limit.day', { retryAfterMs: 60_001 }), 'x').headers['retry-after'],
    '61',
  )
})

test('incomplete responses have retry-after', () => {
  const handler = {
    endpoint: contract['explorer.fundedBy'],
    errorFormat: defaultErrorFormat,
    handle: () => Promise.reject(),
  }
  const headersOf = (more: object) =>
    render(handler, { serialize: () => '{}', requiresKey: false }, { is: 'body', body: {}, ...more }).headers
  assert.equal(headersOf({ retryAfterMs: 39_001 })['retry-after'], '40')
  assert.equal('retry-after' in headersOf({}), false)
})

test('a 401 of a bearer endpoint has www-authenticate', () => {
  assert.equal(
    renderFault(defaultErrorFormat, new Fault('key.missing'), 'bearer').headers['www-authenticate'],
    'Bearer',
  )
})
