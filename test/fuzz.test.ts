// Calls every endpoint with random and hostile parameters: never a 500, always the group's error format. fast-check
// prints the seed of a failure, which can be replayed.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { contract } from '#api/contract/contract.ts'
import type { Endpoint, TSchema } from '#api/contract/kit.ts'
import { type EndpointId, type Group, inputLocation } from '#api/contract/routes.ts'
import { ExplorerFailure } from '#api/contract/wire/explorer.ts'
import { FxFailure } from '#api/contract/wire/fx.ts'
import { MarketsFailure } from '#api/contract/wire/markets.ts'
import { ValidatorsFailure } from '#api/contract/wire/validators.ts'
import { checker } from '#core/schema-check.ts'
import type { DemoSamples } from '#simulator/demo.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { inject } from './inject.ts'
import { isLongRun } from './long.ts'

const manyRuns = 300
/** Every run draws other requests. */
const runs = Number(process.env.FUZZ_RUNS ?? (isLongRun ? manyRuns : 150))

const failureProblems: Record<Group, (value: unknown) => readonly unknown[]> = {
  explorer: checker(ExplorerFailure),
  fx: checker(FxFailure),
  validators: checker(ValidatorsFailure),
  markets: checker(MarketsFailure),
}

/** Values that some endpoint accepts. */
const known = ['1', '12', '2150', '2026-10-01', '2026-10-01T10:00:00Z', `0x${'ab'.repeat(48)}`, `0x${'12'.repeat(20)}`]

const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e9',
    '0x',
    '9007199254740993',
    '99999999999999999999999999',
    'NaN',
    'null',
    'undefined',
    '[]',
    '{}',
    '\0',
    'a\0b',
    '💥',
    '%00',
    '../../etc/passwd',
    "'; drop table keys; --",
    '2026-02-30',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '+010000-01-01T00:00:00Z',
    '-000001-01-01',
    'a'.repeat(5000),
    ','.repeat(500),
    '__proto__',
    'constructor',
    `0x${'f'.repeat(40)}`,
    `0x${'F'.repeat(96)}`,
  ),
)

/** Values that match the schema, so that some calls get past validation. */
function validText(schema: TSchema): fc.Arbitrary<string> {
  const { type, enum: choices, items } = schema as { type?: string; enum?: string[]; items?: TSchema }
  if (choices) return fc.constantFrom(...choices)
  if (type === 'array' && items)
    return fc.array(validText(items), { minLength: 1, maxLength: 5 }).map((list) => list.join(','))
  if (type === 'integer')
    return fc.oneof(fc.nat({ max: 3000 }).map(String), fc.bigInt({ min: 0n, max: 2n ** 60n }).map(String))
  if (type === 'boolean') return fc.constantFrom('true', 'false')
  return fc.constantFrom(...known)
}

interface Change {
  readonly to?: string | string[] | undefined
}

/** A change to one parameter of a valid call: mostly none, so that the other parameters are tested. */
const change = (schema: TSchema): fc.Arbitrary<Change | undefined> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 3, arbitrary: validText(schema).map((to) => ({ to })) },
    { weight: 2, arbitrary: hostileText.map((to) => ({ to })) },
    { weight: 1, arbitrary: fc.array(hostileText, { minLength: 2, maxLength: 4 }).map((to) => ({ to })) },
    { weight: 1, arbitrary: fc.constant({ to: undefined }) },
  )

/** A successful call of each endpoint. */
const validInputs = (samples: DemoSamples): Record<EndpointId, Record<string, string>> => ({
  'explorer.labelListV2': {},
  'explorer.labelListV1': {},
  'explorer.fundedBy': { address: samples.address },
  'fx.createQuote': {},
  'validators.aggregateEffectiveness': { indices: samples.indices.join(',') },
  'validators.effectiveness': { validator_index_or_pubkey: String(samples.indices[0]) },
  'validators.metadata': { validator_index_or_pubkey: String(samples.indices[0]) },
  'markets.bySlug': { slug: samples.slug },
})

const validBody = JSON.stringify(contract['fx.createQuote'].example.input)

const hostileJson = fc.oneof(
  { weight: 1, arbitrary: fc.constant(validBody) },
  { weight: 2, arbitrary: fc.json() },
  { weight: 1, arbitrary: hostileText },
  {
    weight: 4,
    arbitrary: fc
      .record(
        {
          from: fc.oneof(amount(), fc.jsonValue()),
          to: fc.oneof(amount(), fc.jsonValue()),
          tenor: fc.oneof(fc.constantFrom('instant', 'hourly', 'daily'), fc.jsonValue()),
          type: fc.oneof(fc.constantFrom('reference', 'tradable'), fc.jsonValue()),
          recipientAddress: fc.oneof(fc.constant(`0x${'11'.repeat(20)}`), fc.jsonValue()),
        },
        { requiredKeys: [] },
      )
      .map((body) => JSON.stringify(body)),
  },
)

function amount() {
  return fc.record(
    {
      currency: fc.oneof(fc.constantFrom('USDC', 'EURC'), hostileText),
      amount: fc.oneof(
        fc.constantFrom('1', '0', '0.0000001', '1.000001', '123456789012345678901234567890', '1e5', '-1', '.5', '1.'),
        fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String),
        hostileText,
        fc.double(),
      ),
    },
    { requiredKeys: [] },
  )
}

/** What a request is made of. */
interface Drawn {
  readonly changes: Readonly<Record<string, Change | undefined>>
  readonly extra: readonly [string, string] | undefined
  readonly withKey: boolean
  readonly body: string
  readonly contentType: string
}

interface FuzzedRequest {
  readonly method: 'GET' | 'POST' | 'HEAD' | 'PUT'
  readonly url: string
  readonly headers: Record<string, string>
  readonly payload?: string
}

/** Returns a successful request, and changed ones. */
function requestsOf(
  endpoint: Endpoint,
  samples: DemoSamples,
  keys: readonly string[],
): { readonly valid: FuzzedRequest; readonly fuzzed: fc.Arbitrary<FuzzedRequest> } {
  let count = 0
  const inputs = Object.entries(endpoint.input.properties as Record<string, TSchema>).filter(
    ([name]) => inputLocation(endpoint, name) !== 'body',
  )
  const requestWith = ({ changes, extra, withKey, body, contentType }: Drawn): FuzzedRequest => {
    count += 1
    const key = withKey ? (keys[count % keys.length] ?? '') : ''
    let path = endpoint.path
    const query = new URLSearchParams(endpoint.selectedBy ?? {})
    const headers: Record<string, string> = {}
    for (const [name] of inputs) {
      const changed = changes[name]
      const value = changed ? changed.to : validInputs(samples)[endpoint.id as EndpointId][name]
      const location = inputLocation(endpoint, name)
      if (location === 'path') path = path.replace(`{${name}}`, encodeURIComponent([value ?? '1'].flat().join('')))
      else if (value === undefined) continue
      else if (location === 'header') headers[endpoint.headers?.[name] ?? name] = headerSafe([value].flat().join(','))
      else for (const item of [value].flat()) query.append(name, item)
    }
    if (extra) query.append(extra[0], extra[1])
    if (endpoint.auth === 'apikey') query.append('apikey', key)
    if (endpoint.auth === 'bearer' && key) headers.authorization = `Bearer ${key}`
    const post = endpoint.method === 'POST'
    if (post && contentType) headers['content-type'] = contentType
    return { method: endpoint.method, url: `${path}?${query}`, headers, ...(post && { payload: body }) }
  }
  const contentType = 'application/json'
  return {
    valid: requestWith({ changes: {}, extra: undefined, withKey: true, body: validBody, contentType }),
    fuzzed: fc
      .record({
        changes: fc.record(Object.fromEntries(inputs.map(([name, schema]) => [name, change(schema)]))),
        extra: fc.option(fc.tuple(hostileText, hostileText), { nil: undefined }),
        withKey: fc.oneof({ weight: 12, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
        body: hostileJson,
        contentType: fc.constantFrom(contentType, contentType, contentType, 'text/plain', ''),
      })
      .map(requestWith),
  }
}

const headerSafe = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 1000)

describe('fuzz', () => {
  let demo: DemoServer
  before(async () => {
    demo = await openDemoServer({ keys: { badKeysMax: 1_000_000 }, server: { port: 0, anonymousPerSecond: 0 } })
  })
  after(() => demo[Symbol.asyncDispose]())

  for (const endpoint of Object.values(contract) as unknown as Endpoint[]) {
    test(`${endpoint.id}: never a 500, always the error format of the group`, async () => {
      const fits = checker(endpoint.reply)
      // The rate limit of 4.3 is per key. Use enough keys that it is never reached.
      const keyCount = endpoint.perSecond ? Math.ceil(runs / endpoint.perSecond) : 1
      const keys = await Promise.all(Array.from({ length: keyCount }, () => demo.keyFor('enterprise')))
      let succeeded = 0
      const check = async (request: FuzzedRequest): Promise<void> => {
        const response = await inject(demo.server, request)
        const status = response.statusCode
        assert.ok(status < 500 || (status === 503 && endpoint.group === 'fx'), `${status} ${response.body}`)
        if (status === 304) return
        const body: unknown = JSON.parse(response.body)
        const failed = status !== 200 || (body as { status?: string }).status === '0'
        const problems = failed ? failureProblems[endpoint.group](body) : fits(body)
        assert.deepEqual(problems, [], `${status} ${response.body.slice(0, 500)}`)
        if (!failed) succeeded += 1
      }
      const { valid, fuzzed } = requestsOf(endpoint, demo.samples, keys)
      await check(valid)
      assert.equal(succeeded, 1, 'the request without changes fails')
      await fc.assert(fc.asyncProperty(fuzzed, check), { numRuns: runs })
      // Few requests may all be refused.
      if (runs >= manyRuns) assert.ok(succeeded > 1, 'no changed request got past validation')
      assert.equal(demo.lines.filter((line) => line.includes('unexpected failure')).length, 0)
    })
  }

  test('10 000 indices are accepted; 10 001 indices and 10 000 invalid ones are refused', async () => {
    const call = async (indices: string) => {
      const url = `${demo.url}/v0/eth/validators/effectiveness?size=1&indices=${indices}`
      const response = await fetch(url, { headers: { authorization: `Bearer ${demo.key}` } })
      return { status: response.status, problems: failureProblems.validators(await response.json()) }
    }
    const count = (n: number) => Array.from({ length: n }, (_, at) => at).join(',')
    assert.equal((await call(count(10_000))).status, 200)
    assert.deepEqual(await call(count(10_001)), { status: 400, problems: [] })
    assert.deepEqual(await call(Array.from({ length: 10_000 }, () => 'x').join(',')), { status: 400, problems: [] })
  })
})
