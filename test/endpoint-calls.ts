// One call of each endpoint that the demo answers with data. An endpoint without a call here does not compile.
import { strict as assert } from 'node:assert'
import { privateKeyToAccount } from 'viem/accounts'
import type { Client } from '#api/client/client.ts'
import type { AnyId } from '#api/contract/routes.ts'
import type { Tag } from '#api/contract/wire/markets.ts'
import type { DemoServer } from './demo-server.ts'

/** `fx.setRate` needs a source that accepts rates, and the demo has none. */
export function withPushSource(settings: object): object {
  const { fx } = settings as { fx: { sources: object[] } }
  return { fx: { ...fx, sources: [...fx.sources, { id: 'desk', kind: 'push' }] } }
}

export const createDemoQuote = (client: Client) =>
  client.fx.createQuote({
    from: { currency: 'USDC', amount: '250' },
    to: { currency: 'EURC' },
    tenor: 'hourly',
    recipientAddress: `0x${'11'.repeat(20)}`,
  })

export function createCalls(client: Client, world: DemoServer): Readonly<Record<AnyId, () => Promise<unknown>>> {
  const createQuote = () => createDemoQuote(client)

  async function checkOwnSignature(): Promise<unknown> {
    const quote = await createQuote()
    const signer = privateKeyToAccount(`0x${'42'.repeat(32)}`)
    const signature = await client.fx.signQuote(quote, signer)
    return client.fx.checkSignature({ id: quote.id, signature, signer: signer.address })
  }

  async function acceptQuote(): Promise<{ readonly id: string }> {
    const quote = await createQuote()
    const signer = privateKeyToAccount(`0x${'42'.repeat(32)}`)
    const signature = await client.fx.signQuote(quote, signer)
    return client.fx.createTrade({ quoteId: quote.id, address: signer.address, signature })
  }

  async function readFirstChange(): Promise<unknown> {
    const { changes } = await client.markets.changes({ limit: 1 })
    const stop = new AbortController()
    const watched = client.markets.watchChanges({ after: changes[0]?.cursor }, { signal: stop.signal })
    const { value } = await watched.next()
    stop.abort()
    await watched.return(undefined)
    return value
  }

  /** An event of the sample market, and its series. */
  async function findEvent(): Promise<{ id: string; slug: string; seriesId: string }> {
    const { events = [] } = await client.markets.bySlug({ slug: world.samples.slug })
    const { id = '', slug = '', series = [] } = events[0] ?? {}
    return { id, slug, seriesId: series[0]?.id ?? '' }
  }

  async function findTag(): Promise<Tag> {
    const [tag] = await client.markets.tags({ limit: 1 })
    assert.ok(tag)
    return tag
  }

  return {
    'explorer.labelListV2': () => client.explorer.labelListV2({ chainid: '1' }),
    'explorer.labelListV1': () => client.explorer.labelListV1({}),
    'explorer.fundedBy': () => client.explorer.fundedBy({ address: world.samples.address }),
    'fx.createQuote': createQuote,
    'validators.aggregateEffectiveness': () =>
      client.validators.aggregateEffectiveness({ indices: [...world.samples.indices], size: 3 }),
    'validators.effectiveness': () =>
      client.validators.effectiveness({ validator_index_or_pubkey: String(world.samples.indices[0]) }),
    'validators.metadata': () =>
      client.validators.metadata({ validator_index_or_pubkey: String(world.samples.indices[0]) }),
    'markets.bySlug': () => client.markets.bySlug({ slug: world.samples.slug }),
    'explorer.trail': () => client.explorer.trail({ address: world.samples.address }),
    'explorer.fundings': () => client.explorer.fundings({ addresses: [world.samples.address] }),
    'explorer.labelSearch': () => client.explorer.labelSearch({ q: 'exchange' }),
    'explorer.chainList': () => client.explorer.chainList(),
    'explorer.apiLimit': () => client.explorer.apiLimit(),
    'explorer.addressTag': async () => {
      const { result } = await client.explorer.labelSearch({ q: 'exchange', chainid: '1', limit: 50 })
      const { address = '' } = result.find(({ kind }) => kind === 'address') ?? {}
      return client.explorer.addressTag({ address })
    },
    'fx.currencies': () => client.fx.currencies(),
    'fx.rates': () => client.fx.rates({ base: 'EUR' }),
    'fx.quotes': async () => {
      const { id } = await createQuote()
      const page = await client.fx.quotes({ limit: 1 })
      assert.equal(page.quotes[0]?.id, id)
      return page
    },
    'fx.quote': async () => client.fx.quote({ id: (await createQuote()).id }),
    'fx.receipt': async () => client.fx.receipt({ id: (await createQuote()).id }),
    'fx.checkSignature': checkOwnSignature,
    'fx.receiptKey': () => client.fx.receiptKey(),
    'fx.setRate': () => client.fx.setRate({ pair: 'NZD/USD', rate: '0.6' }),
    'fx.createTrade': acceptQuote,
    'fx.trades': async () => {
      await Promise.all([acceptQuote(), acceptQuote()])
      const page = await client.fx.trades({ limit: 1 })
      return client.fx.trades({ limit: 1, before: page.next ?? undefined })
    },
    'fx.trade': async () => client.fx.trade({ id: (await acceptQuote()).id }),
    'fx.tradePermit': async () => client.fx.tradePermit({ id: (await acceptQuote()).id }),
    'fx.reportTrade': async () => {
      const { id } = await acceptQuote()
      return client.fx.reportTrade({ id, status: 'settled', settlementTransactionHash: `0x${'a7'.repeat(32)}` })
    },
    'fx.rateHistory': () => client.fx.rateHistory({ base: 'EUR', quote: 'USD' }),
    'validators.duties': () => client.validators.duties({ validator_index_or_pubkey: 12 }),
    'validators.explain': () =>
      client.validators.explain({
        validator_index_or_pubkey: world.samples.badDay.index,
        fromDay: world.samples.badDay.day,
        toDay: world.samples.badDay.day,
      }),
    'validators.find': () => client.validators.find({ pool: world.samples.pools[0] }),
    'validators.comparison': () => client.validators.comparison({ pool: world.samples.pools[0] ?? '' }),
    'validators.income': () => client.validators.income({ pool: world.samples.pools[0] ?? '' }),
    'validators.list': () =>
      client.validators.list({ operatorsIds: [world.samples.pools[0] ?? ''], idType: 'pool', size: 2 }),
    'validators.effectivenessV0': () =>
      client.validators.effectivenessV0({ validator_index_or_pubkey: world.samples.indices[0] ?? 0 }),
    'validators.operators': () => client.validators.operators({ window: '7d' }),
    'validators.operator': () => client.validators.operator({ operator_id: world.samples.pools[0] ?? '' }),
    'validators.operatorSummary': () =>
      client.validators.operatorSummary({ operator_id: world.samples.pools[0] ?? '' }),
    'validators.operatorEffectiveness': () =>
      client.validators.operatorEffectiveness({ operator_id: world.samples.pools[0] ?? '' }),
    'validators.networkStats': () => client.validators.networkStats(),
    'validators.networkOverview': () => client.validators.networkOverview(),
    'validators.entities': () => client.validators.entities({}),
    'markets.byId': async () => {
      const { id = '' } = await client.markets.bySlug({ slug: world.samples.slug })
      return client.markets.byId({ id })
    },
    'markets.list': () => client.markets.list({ order: 'volume', ascending: false }),
    'markets.listKeyset': () => client.markets.listKeyset({ limit: 2 }),
    'markets.events': () => client.markets.events({ closed: false, limit: 3 }),
    'markets.eventsKeyset': () => client.markets.eventsKeyset({ limit: 2 }),
    'markets.eventById': async () => client.markets.eventById({ id: (await findEvent()).id }),
    'markets.eventBySlug': async () => client.markets.eventBySlug({ slug: (await findEvent()).slug }),
    'markets.tags': () => client.markets.tags(),
    'markets.tagById': async () => client.markets.tagById({ id: (await findTag()).id ?? '' }),
    'markets.tagBySlug': async () => client.markets.tagBySlug({ slug: (await findTag()).slug ?? '' }),
    'markets.marketTags': async () => {
      const { id = '' } = await client.markets.bySlug({ slug: world.samples.slug })
      return client.markets.marketTags({ id })
    },
    'markets.eventTags': async () => client.markets.eventTags({ id: (await findEvent()).id }),
    'markets.series': () => client.markets.series({ limit: 2 }),
    'markets.publicSearch': () => client.markets.publicSearch({ q: 'harbour bridge' }),
    'markets.seriesById': async () => client.markets.seriesById({ id: (await findEvent()).seriesId }),
    'markets.pricesHistory': async () => {
      const [{ id = '' } = {}] = await client.markets.list({ limit: 1 })
      return client.markets.pricesHistory({ market: id })
    },
    'markets.search': () => client.markets.search({ q: 'harbour bridge' }),
    'markets.changesBySlug': () => client.markets.changesBySlug({ slug: world.samples.slug }),
    'markets.changes': () => client.markets.changes(),
    'markets.changeStream': readFirstChange,
  }
}
