// The most expensive requests of each endpoint on the grown store, for bench/hostile.ts. An endpoint without one does not
// compile.
import type { AnyId } from '#api/contract/routes.ts'
import { addressOf, grownId, grownNetwork, grownSlug, grownToken, sizes } from './hostile-grown.ts'
import { type HostileRequest, json, request } from './hostile-list.ts'

/** What the server of the benchmark found in its store. */
export interface GrownWorld {
  readonly key: string
  readonly nowMs: number
  readonly quoteId: string
  /** How it was accepted. */
  readonly trade: { readonly quoteId: string; readonly address: string; readonly signature: string }
  readonly eventId: string
  readonly eventSlug: string
  readonly tagId: string
  readonly tagSlug: string
  readonly seriesId: string
  readonly pool: string
  readonly badDay: { readonly index: number }
}

interface ExpensiveCase {
  readonly path: string
  /** By POST. */
  readonly body?: object
  /** Default: mainnet, which has the data of the demo. */
  readonly network?: string
}

const numbers = (count: number): string => Array.from({ length: count }, (_, at) => at).join()
const explorerCall = (module: string, action: string, more = '') =>
  `/v2/api?chainid=1&module=${module}&action=${action}${more}`
const eachOf = (count: number, nameOf: (at: number) => string) => Array.from({ length: count }, (_, at) => nameOf(at))
const ratings = '/v0/eth/validators/effectiveness'
const fx = '/v1/exchange/fx'

function expensiveCases(world: GrownWorld): Readonly<Record<AnyId, readonly ExpensiveCase[]>> {
  const get = (...paths: readonly string[]) => paths.map((path) => ({ path }))
  const ofGrown = (...paths: readonly string[]) => paths.map((path) => ({ path, network: grownNetwork }))
  const address = addressOf(0)
  const pool = encodeURIComponent(world.pool)
  /** Far from the newest version and from a snapshot. */
  const past = new Date(world.nowMs - Math.floor(sizes.versions / 2) * 60_000 - 30_000).toISOString()
  /** A response has at most 20 000 points. */
  const fidelity = Math.ceil(sizes.versions / 19_000)
  const allDays = 'fromDate=2020-01-01&toDate=2030-01-01'
  return {
    'explorer.labelListV2': get(
      explorerCall('nametag', 'getlabelmasterlist'),
      explorerCall('nametag', 'getlabelmasterlist', '&format=json'),
    ),
    'explorer.labelListV1': get('/v1/api.ashx?module=nametag&action=getlabelmasterlist'),
    'explorer.fundedBy': get(explorerCall('account', 'fundedby', `&address=${address}`)),
    'explorer.trail': get(`/v2/trail?chainid=1&address=${address}&depth=100`),
    'explorer.fundings': get(`/v2/fundings?chainid=1&addresses=${eachOf(300, addressOf).join()}`),
    'explorer.labelSearch': get('/v2/labels/search?q=a&limit=50', '/v2/labels/search?q=wallet%20a%20e&limit=50'),
    'explorer.chainList': get('/v2/chainlist'),
    'explorer.apiLimit': get('/v2/api?module=getapilimit&action=getapilimit'),
    'explorer.addressTag': get(explorerCall('nametag', 'getaddresstag', `&address=${address}`)),
    'fx.createQuote': [
      {
        path: `${fx}/quotes`,
        body: {
          ...{ from: { currency: 'USDC', amount: '250' }, to: { currency: 'EURC' }, tenor: 'hourly' },
          recipientAddress: `0x${'11'.repeat(20)}`,
        },
      },
    ],
    'fx.currencies': get(`${fx}/currencies`),
    'fx.rates': get(`${fx}/rates?base=EUR`),
    'fx.quotes': get(`${fx}/quotes?limit=100`),
    'fx.quote': get(`${fx}/quotes/${world.quoteId}`),
    'fx.receipt': get(`${fx}/quotes/${world.quoteId}/receipt`),
    'fx.checkSignature': ['11'.repeat(65), '11'.repeat(16_000)].map((signature) => ({
      path: `${fx}/quotes/${world.quoteId}/check-signature`,
      body: { signature: `0x${signature}` },
    })),
    'fx.receiptKey': get(`${fx}/receipt-key`),
    'fx.setRate': [{ path: `${fx}/rates`, body: { pair: 'EUR/USD', rate: '1.1' } }],
    // The quote is accepted already, so the stored reply is returned.
    'fx.createTrade': [{ path: `${fx}/trades`, body: world.trade }],
    'fx.trades': get(`${fx}/trades?limit=100`),
    'fx.trade': get(`${fx}/trades/${world.quoteId}`),
    'fx.tradePermit': get(`${fx}/trades/${world.quoteId}/permit`),
    'fx.reportTrade': [
      {
        path: `${fx}/trades/${world.quoteId}/report`,
        body: { status: 'settled', settlementTransactionHash: `0x${'11'.repeat(32)}` },
      },
    ],
    'fx.rateHistory': get(`${fx}/rates/history?base=EUR&quote=USD&hours=168`),
    'validators.aggregateEffectiveness': ofGrown(
      `${ratings}?indices=${numbers(10_000)}&groupBy=validator&size=1000`,
      `${ratings}?indices=${numbers(10_000)}&groupBy=validator&granularity=all&size=1000`,
      `${ratings}?indices=${numbers(10_000)}&groupBy=timeWindow&size=1000`,
      `${ratings}?indices=${numbers(10_000)}&groupBy=validator&size=1`,
    ),
    'validators.effectiveness': [
      ...ofGrown('/v1/eth/validators/12/effectiveness?limit=1000'),
      ...get('/v1/eth/validators/12/effectiveness?limit=1000&granularity=hour&sortBy=uptime'),
    ],
    'validators.metadata': get('/v0/eth/validators/12'),
    'validators.effectivenessV0': [
      ...ofGrown('/v0/eth/validators/12/effectiveness?size=1000'),
      ...get('/v0/eth/validators/12/effectiveness?size=1000'),
    ],
    'validators.explain': get(`/v1/eth/validators/${world.badDay.index}/explain?limit=100`),
    'validators.duties': get('/v1/eth/validators/12/duties'),
    'validators.list': ofGrown('/v0/eth/validators?size=1000'),
    'validators.find': [
      ...ofGrown('/v1/eth/validators?limit=1000'),
      ...get(`/v1/eth/validators?pool=${pool}&limit=1000`),
    ],
    'validators.income': [
      ...ofGrown(`/v1/eth/validators/income?indices=${numbers(2500)}&${allDays}`),
      ...get(`/v1/eth/validators/income?pool=${pool}&${allDays}`),
    ],
    // The others need summaries of days, which only the demo has.
    'validators.comparison': get(
      `/v1/eth/validators/comparison?indices=${numbers(64)}&days=90`,
      `/v1/eth/validators/comparison?pool=${pool}&days=90`,
    ),
    'validators.operators': get('/v0/eth/operators?window=30d&size=1000&idType=nodeOperator'),
    'validators.operator': get(`/v0/eth/operators/${pool}`),
    'validators.operatorSummary': get(`/v0/eth/operators/${pool}/summary?window=30d`),
    'validators.operatorEffectiveness': get(`/v0/eth/operators/${pool}/effectiveness?size=1000`),
    'validators.networkStats': get('/v0/eth/network/stats'),
    'validators.networkOverview': get('/v0/eth/network/overview'),
    'validators.entities': get('/v1/eth/entities?limit=1000'),
    'markets.bySlug': get(`/markets/slug/${grownSlug}?asOf=${past}`, '/markets/slug/wide-0'),
    'markets.byId': get(`/markets/${grownId}?asOf=${past}`),
    'markets.list': get(
      '/markets?limit=500&order=volume',
      '/markets?limit=500&order=volume&offset=100000&tag_match=all',
    ),
    'markets.listKeyset': get('/markets/keyset?limit=500&order=volume'),
    'markets.events': get('/events?limit=500&order=volume'),
    'markets.eventsKeyset': get('/events/keyset?limit=500'),
    'markets.eventById': get(`/events/${world.eventId}`),
    'markets.eventBySlug': get(`/events/slug/${world.eventSlug}`),
    'markets.tags': get('/tags?limit=500'),
    'markets.tagById': get(`/tags/${world.tagId}`),
    'markets.tagBySlug': get(`/tags/slug/${world.tagSlug}`),
    'markets.marketTags': get('/markets/5000000/tags'),
    'markets.eventTags': get(`/events/${world.eventId}/tags`),
    'markets.series': get('/series?limit=500'),
    'markets.seriesById': get(`/series/${world.seriesId}`),
    'markets.search': get('/markets/search?q=a&limit=500', '/markets/search?q=harbour%20bridge%20w&limit=500'),
    'markets.publicSearch': get(
      '/public-search?q=a&limit_per_type=500',
      '/public-search?q=w&limit_per_type=500&page=20',
    ),
    'markets.pricesHistory': get(`/prices-history?market=${grownToken}&interval=max&fidelity=${fidelity}`),
    'markets.changesBySlug': get(
      `/markets/slug/${grownSlug}/changes?limit=1000&related=true`,
      `/markets/slug/${grownSlug}/changes?limit=1000&fields=question`,
    ),
    'markets.changes': get('/markets/changes?limit=1000', '/markets/changes?limit=1000&kinds=chat'),
    'markets.changeStream': get('/markets/changes/stream?after=0&kinds=chat', '/markets/changes/stream?after=0'),
  }
}

/** Each with a valid key. */
export const expensiveRequests = (world: GrownWorld): readonly (HostileRequest & { readonly id: AnyId })[] =>
  (Object.entries(expensiveCases(world)) as [AnyId, readonly ExpensiveCase[]][]).flatMap(([id, cases]) =>
    cases.map(({ path, body, network }, at) => {
      const auth = [`authorization: Bearer ${world.key}`, ...(network ? [`x-validator-network: ${network}`] : [])]
      const name = at === 0 ? id : `${id} (${at + 1})`
      if (body) return { id, ...request(name, `POST ${path}`, [...json, ...auth], JSON.stringify(body)) }
      const withKey = id.startsWith('explorer.') ? `${path}${path.includes('?') ? '&' : '?'}apikey=${world.key}` : path
      return { id, ...request(name, `GET ${withKey}`, auth) }
    }),
  )
