// The typed client against the real server over HTTP, for every endpoint. An endpoint without a trip does not compile.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Client, createClient } from '#api/client.ts'
import { contract } from '#api/contract.ts'
import type { EndpointId } from '#api/routes.ts'
import { checker } from '#core/schema-check.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { storedRows } from './stored-duties.ts'

let world: DemoServer
let client: Client

before(async () => {
  world = await openDemoServer()
  client = createClient({ baseUrl: world.url, key: world.key })
})
after(() => world[Symbol.asyncDispose]())

const trips: Record<EndpointId, () => Promise<unknown>> = {
  'explorer.labelListV2': () => client.explorer.labelListV2({ chainid: '1' }),
  'explorer.labelListV1': () => client.explorer.labelListV1({}),
  'explorer.fundedBy': () => client.explorer.fundedBy({ address: world.samples.address }),
  'fx.createQuote': () =>
    client.fx.createQuote({
      from: { currency: 'USDC', amount: '250' },
      to: { currency: 'EURC' },
      tenor: 'hourly',
      recipientAddress: `0x${'11'.repeat(20)}`,
    }),
  'validators.aggregateEffectiveness': () =>
    client.validators.aggregateEffectiveness({ indices: [...world.samples.indices], size: 3 }),
  'validators.effectiveness': () =>
    client.validators.effectiveness({ validator_index_or_pubkey: String(world.samples.indices[0]) }),
  'validators.metadata': () =>
    client.validators.metadata({ validator_index_or_pubkey: String(world.samples.indices[0]) }),
  'markets.bySlug': () => client.markets.bySlug({ slug: world.samples.slug }),
}

describe('round trip', () => {
  for (const [id, trip] of Object.entries(trips)) {
    test(`${id}: the reply fits the contract`, async () => {
      const reply = await trip()
      assert.deepEqual(checker(contract[id as EndpointId].reply)(reply), [])
    })
  }

  test('4.5: the iterator visits every record once, in order, whatever the page size', async () => {
    const indices = [...world.samples.indices]
    const input = { indices, granularity: 'week', groupBy: 'validator' } as const
    const whole = await client.validators.aggregateEffectiveness({ ...input, size: 1000 })
    assert.ok(whole.total > 5)
    const walked: unknown[] = []
    for await (const record of client.validators.aggregateEffectivenessAll({ ...input, size: 2 })) walked.push(record)
    assert.deepEqual(walked, whole.data)
    assert.equal(walked.length, whole.total)
  })

  test('4.6: the iterator visits every record once, in order, whatever the page size', async () => {
    const input = { validator_index_or_pubkey: String(world.samples.indices[0]) }
    const whole = await client.validators.effectiveness({ ...input, limit: 1000 })
    assert.equal(whole.pages, 1)
    const walked: unknown[] = []
    for await (const record of client.validators.effectivenessAll({ ...input, limit: 7 })) walked.push(record)
    assert.deepEqual(walked, whole.results)
    const stored = await storedRows(world.server.context, 'mainnet', 'days')
    const own = stored.filter(({ validator }) => validator === Number(input.validator_index_or_pubkey))
    assert.equal(walked.length, own.length)
    assert.ok(walked.length > 30)
  })

  test('a signed download link works as given, and not when changed', async () => {
    const { result } = await client.explorer.labelListV2({ chainid: '1', format: 'csv' })
    assert.equal(typeof result, 'string')
    const link = String(result)
    const good = await fetch(link)
    assert.equal(good.status, 200)
    assert.match(await good.text(), /^labelname,labelslug,shortdescription,notes,lastupdatedtimestamp\r\n/)
    assert.equal((await fetch(link.replace(/expires=\d/, 'expires=9'))).status, 403)
    assert.equal((await fetch(link.split('?')[0] ?? '')).status, 403)
  })

  test('each group fails with its own typed error', async () => {
    const stranger = createClient({ baseUrl: world.url, key: 'tetrad:nobody:nothing', retries: 0 })
    await assert.rejects(stranger.explorer.fundedBy({ address: world.samples.address }), { name: 'ExplorerError' })
    await assert.rejects(
      stranger.fx.createQuote({ from: { currency: 'USDC', amount: '1' }, to: { currency: 'EURC' }, tenor: 'daily' }),
      { name: 'FxError', status: 401 },
    )
    await assert.rejects(stranger.validators.metadata({ validator_index_or_pubkey: '1' }), {
      name: 'ValidatorsError',
      status: 401,
    })
    await assert.rejects(client.markets.bySlug({ slug: 'there-is-no-such-market' }), {
      name: 'MarketsError',
      status: 404,
    })
  })

  test('tiers: the label list needs enterprise, the funding lookup standard', async () => {
    const free = createClient({ baseUrl: world.url, key: await world.keyFor('free'), retries: 0 })
    const standard = createClient({ baseUrl: world.url, key: await world.keyFor('standard'), retries: 0 })
    await assert.rejects(free.explorer.fundedBy({ address: world.samples.address }), /standard/i)
    await assert.rejects(standard.explorer.labelListV1({}), /enterprise/i)
    assert.equal((await standard.explorer.fundedBy({ address: world.samples.address })).status, '1')
  })

  test('4.3: two calls a second and no third, whatever the plan', async () => {
    const eager = createClient({ baseUrl: world.url, key: await world.keyFor('enterprise'), retries: 0 })
    const ask = () => eager.explorer.fundedBy({ address: world.samples.address })
    await ask()
    await ask()
    await assert.rejects(ask(), /Max calls per sec rate limit reached \(2\/sec\)/)
  })
})
