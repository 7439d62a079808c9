import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '#api/client/client.ts'
import { type FailureContext, toGroupError } from '#api/client/errors.ts'
import { contract } from '#api/contract/contract.ts'
import { failureExample } from '#api/contract/failures.ts'
import type { FaultCode } from '#api/contract/faults.ts'
import { adviceOf, formatFailure } from './failures.ts'

const endpoints = ['explorer.fundedBy', 'fx.createQuote', 'validators.metadata', 'markets.bySlug'] as const

/** The error that the client throws for a fault. */
function errorOf(id: (typeof endpoints)[number], code: FaultCode): unknown {
  const endpoint = contract[id]
  const { status, body } = failureExample(endpoint, code)
  const at: FailureContext = {
    endpoint: id,
    group: endpoint.group,
    status,
    fault: undefined,
    requestId: undefined,
    retryAfterMs: undefined,
  }
  return toGroupError(at, body)
}

for (const id of endpoints) {
  test(`${id}: a missing key and a rejected key have different messages, both with advice`, () => {
    const [missing, refused] = [errorOf(id, 'key.missing'), errorOf(id, 'key.invalid')]
    assert.equal(formatFailure(missing), 'This needs an API key, and none is set.')
    assert.match(formatFailure(refused), /^The server rejected the API key/)
    for (const error of [missing, refused]) assert.match(adviceOf(error), /^Set a key with the key button/)
  })
}

test('the error page of a proxy is named as such', async () => {
  const client = createClient({
    baseUrl: 'http://server.test',
    key: 'tetrad:a:b',
    retries: 0,
    fetch: async () => new Response('<h1>Bad Gateway</h1>', { status: 502 }),
  })
  const error = await client.markets.bySlug({ slug: 'x' }).catch((thrown: unknown) => thrown)
  assert.equal(formatFailure(error), 'The server, or a proxy in front of it, failed with status 502.')
  assert.match(adviceOf(error), /^Try again in a moment\./)
})

test('parameters are named in words', () => {
  const context = {
    endpoint: 'validators.metadata',
    status: 422,
    fault: undefined,
    requestId: undefined,
    retryAfterMs: undefined,
  } as const
  const problem = { loc: ['path', 'validator_index_or_pubkey'], msg: 'must be an index', type: 'value_error' }
  const ofValidators = toGroupError({ ...context, group: 'validators' }, { detail: [problem] })
  assert.equal(formatFailure(ofValidators), 'The validator index or public key must be an index.')
  const errors = [
    { error: 'invalid', message: 'body.recipientAddress must be an address', location: 'body.recipientAddress' },
    { error: 'invalid', message: 'body.from.amount is required', location: 'body.from.amount' },
  ]
  const ofQuotes = toGroupError(
    { ...context, endpoint: 'fx.createQuote', group: 'fx', status: 400 },
    { code: 2, message: 'Invalid request', errors },
  )
  assert.equal(
    formatFailure(ofQuotes),
    'Invalid request; The recipient address must be an address; The from amount is required.',
  )
})
