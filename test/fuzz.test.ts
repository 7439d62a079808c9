// Every parameter of every endpoint, given what a hostile or broken client would give it: never a 500, always the
// group's own shape. A failing seed is printed by fast-check and can be replayed.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { contract } from '#api/contract.ts'
import type { Endpoint, TSchema } from '#api/kit.ts'
import { type EndpointId, type Group, inputLocation } from '#api/routes.ts'
import { ExplorerFailure } from '#api/wire/explorer.ts'
import { FxFailure } from '#api/wire/fx.ts'
import { MarketsFailure } from '#api/wire/markets.ts'
import { ValidatorsFailure } from '#api/wire/validators.ts'
import { checker } from '#core/schema-check.ts'
import type { DemoSamples } from '#simulator/demo.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'

const runs = Number(process.env.FUZZ_RUNS ?? 300)

const failureShape: Record<Group, (value: unknown) => readonly unknown[]> = {
  explorer: checker(ExplorerFailure),
  fx: checker(FxFailure),
  validators: checker(ValidatorsFailure),
  markets: checker(MarketsFailure),
}

/** Texts that mean something to some endpoint of the demo world. */
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

/** Values that fit the schema, so that the fuzz gets past the first check now and then. */
function fitting(schema: TSchema): fc.Arbitrary<string> {
  const { type, enum: words, items } = schema as { type?: string; enum?: string[]; items?: TSchema }
  if (words) return fc.constantFrom(...words)
  if (type === 'array' && items)
    return fc.array(fitting(items), { minLength: 1, maxLength: 5 }).map((list) => list.join(','))
  if (type === 'integer')
    return fc.oneof(fc.nat({ max: 3000 }).map(String), fc.bigInt({ min: 0n, max: 2n ** 60n }).map(String))
  if (type === 'boolean') return fc.constantFrom('true', 'false')
  return fc.constantFrom(...known)
}

/** What to do to one parameter of a good call: mostly nothing, so that the others are reached. */
const change = (schema: TSchema): fc.Arbitrary<{ readonly to?: string | string[] | undefined } | undefined> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 3, arbitrary: fitting(schema).map((to) => ({ to })) },
    { weight: 2, arbitrary: hostileText.map((to) => ({ to })) },
    { weight: 1, arbitrary: fc.array(hostileText, { minLength: 2, maxLength: 4 }).map((to) => ({ to })) },
    { weight: 1, arbitrary: fc.constant({ to: undefined }) },
  )

/** A call of each endpoint that succeeds. */
const good = (samples: DemoSamples): Record<EndpointId, Record<string, string>> => ({
  'explorer.labelListV2': {},
  'explorer.labelListV1': {},
  'explorer.fundedBy': { address: samples.address },
  'fx.createQuote': {},
  'validators.aggregateEffectiveness': { indices: samples.indices.join(',') },
  'validators.effectiveness': { validator_index_or_pubkey: String(samples.indices[0]) },
  'validators.metadata': { validator_index_or_pubkey: String(samples.indices[0]) },
  'markets.bySlug': { slug: samples.slug },
})

const hostileJson = fc.oneof(
  { weight: 1, arbitrary: fc.constant(JSON.stringify(contract['fx.createQuote'].example.input)) },
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

interface Shot {
  readonly method: 'GET' | 'POST' | 'HEAD' | 'PUT'
  readonly url: string
  readonly headers: Record<string, string>
  readonly payload?: string
}

function shots(endpoint: Endpoint, samples: DemoSamples, keys: readonly string[]): fc.Arbitrary<Shot> {
  let turn = 0
  const inputs = Object.entries(endpoint.input.properties as Record<string, TSchema>).filter(
    ([name]) => inputLocation(endpoint, name) !== 'body',
  )
  return fc
    .record({
      changes: fc.record(Object.fromEntries(inputs.map(([name, schema]) => [name, change(schema)]))),
      extra: fc.option(fc.tuple(hostileText, hostileText), { nil: undefined }),
      withKey: fc.oneof({ weight: 12, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
      body: hostileJson,
      contentType: fc.constantFrom('application/json', 'application/json', 'application/json', 'text/plain', ''),
    })
    .map(({ changes, extra, withKey, body, contentType }) => {
      turn += 1
      const shownKey = withKey ? (keys[turn % keys.length] ?? '') : ''
      let path = endpoint.path
      const query = new URLSearchParams(endpoint.select ?? {})
      const headers: Record<string, string> = {}
      for (const [name] of inputs) {
        const changed = changes[name]
        const value = changed ? changed.to : good(samples)[endpoint.id as EndpointId][name]
        const place = inputLocation(endpoint, name)
        if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent([value ?? '1'].flat().join('')))
        else if (value === undefined) continue
        else if (place === 'header') headers[endpoint.headers?.[name] ?? name] = headerSafe([value].flat().join(','))
        else for (const one of [value].flat()) query.append(name, one)
      }
      if (extra) query.append(extra[0], extra[1])
      if (endpoint.auth === 'apikey') query.append('apikey', shownKey)
      if (endpoint.auth === 'bearer' && shownKey) headers.authorization = `Bearer ${shownKey}`
      const post = endpoint.method === 'POST'
      if (post && contentType) headers['content-type'] = contentType
      return { method: endpoint.method, url: `${path}?${query}`, headers, ...(post && { payload: body }) }
    })
}

const headerSafe = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 1000)

describe('fuzz', () => {
  let world: DemoServer
  before(async () => {
    world = await openDemoServer({ keys: { badMax: 1_000_000 }, server: { port: 0, anonymousPerSecond: 0 } })
  })
  after(() => world[Symbol.asyncDispose]())

  for (const endpoint of Object.values(contract) as unknown as Endpoint[]) {
    test(`${endpoint.id}: never a 500, always the group's own shape`, async () => {
      const fits = checker(endpoint.reply)
      // 4.3's two calls a second are per key: enough keys that the limit does not hide the parameters.
      const keyCount = endpoint.perSecond ? Math.ceil(runs / endpoint.perSecond) : 1
      const keys = await Promise.all(Array.from({ length: keyCount }, () => world.keyFor('enterprise')))
      let succeeded = 0
      await fc.assert(
        fc.asyncProperty(shots(endpoint, world.samples, keys), async (shot) => {
          const response = await world.server.inject(shot)
          const status = response.statusCode
          assert.ok(status < 500 || (status === 503 && endpoint.group === 'fx'), `${status} ${response.body}`)
          if (status === 304) return
          const body: unknown = JSON.parse(response.body)
          const failed = status !== 200 || (body as { status?: string }).status === '0'
          const problems = failed ? failureShape[endpoint.group](body) : fits(body)
          assert.deepEqual(problems, [], `${status} ${response.body.slice(0, 500)}`)
          if (!failed) succeeded += 1
        }),
        { numRuns: runs },
      )
      assert.ok(succeeded > 0, 'no shot got past the checks: the fuzz proves nothing')
      assert.equal(world.lines.filter((line) => line.includes('unexpected failure')).length, 0)
    })
  }

  test('10 000 indices, 10 001 indices, and 10 000 garbage words', async () => {
    const ask = async (indices: string) => {
      const url = `${world.url}/v0/eth/validators/effectiveness?size=1&indices=${indices}`
      const response = await fetch(url, { headers: { authorization: `Bearer ${world.key}` } })
      return { status: response.status, problems: failureShape.validators(await response.json()) }
    }
    const count = (n: number) => Array.from({ length: n }, (_, at) => at).join(',')
    assert.equal((await ask(count(10_000))).status, 200)
    assert.deepEqual(await ask(count(10_001)), { status: 400, problems: [] })
    assert.deepEqual(await ask(Array.from({ length: 10_000 }, () => 'x').join(',')), { status: 400, problems: [] })
  })
})
