// Documents of known providers of exchange rates, with the settings that read them. The values are our own; the shape is
// the documented one. All have the same two prices: EUR/USD from 1.0841 to 1.0843, and USD/JPY from 151.36 to 151.38, as
// far as the provider has both.

export interface RateProvider {
  readonly name: string
  /** The page that documents the reply. */
  readonly page: string
  /** The settings of a source, without id, kind and URL. */
  readonly settings: object
  readonly document: (atMs: number) => unknown
  /** Paths to what the settings read, in the first entry or at the top. */
  readonly used: readonly (readonly (string | number)[])[]
  /** What is read, at `atMs` rounded down to whole seconds. */
  readonly rates: readonly string[]
}

const iso = (atMs: number): string => new Date(Math.floor(atMs / 1000) * 1000).toISOString()
const seconds = (atMs: number): number => Math.floor(atMs / 1000)
const pythEurUsd = 'a995d00bb36a63cef7fd2c287dc105fc8f3d93779f062f09551b0af3e81ec30b'
const pythUsdJpy = 'ef2c98c804ba503c6a707e38be4dfbb16683775f195b091252bf24693042fd52'

export const rateProviders: readonly RateProvider[] = [
  {
    name: 'OANDA',
    page: 'https://developer.oanda.com/rest-live-v20/pricing-ep/',
    settings: {
      document: {
        ...{ list: 'prices', name: 'instrument', time: 'time' },
        ...{ bid: 'bids.0.price', ask: 'asks.0.price', sides: 'each' },
      },
      pairs: [
        { name: 'EUR_USD', pair: 'EUR/USD' },
        { name: 'USD_JPY', pair: 'USD/JPY' },
      ],
    },
    document: (atMs) => ({
      time: iso(atMs).replace('.000Z', '.412987001Z'),
      prices: [
        ['EUR_USD', '1.0841', '1.0843'],
        ['USD_JPY', '151.36', '151.38'],
      ].map(([instrument, bid, ask]) => ({
        type: 'PRICE',
        time: iso(atMs).replace('.000Z', '.000000000Z'),
        bids: [{ price: bid, liquidity: 1_000_000 }],
        asks: [{ price: ask, liquidity: 1_000_000 }],
        closeoutBid: bid,
        closeoutAsk: ask,
        status: 'tradeable',
        tradeable: true,
        instrument,
      })),
    }),
    used: [
      ['prices'],
      ['prices', 0, 'instrument'],
      ['prices', 0, 'time'],
      ...(['bids', 'asks'] as const).flatMap((side) => [
        ['prices', 0, side],
        ['prices', 0, side, 0, 'price'],
      ]),
    ],
    rates: ['EUR/USD 1.0842 (1.0841 to 1.0843)', 'USD/JPY 151.37 (151.36 to 151.38)'],
  },
  {
    name: 'Circle',
    page: 'https://developers.circle.com/stablefx/quickstarts/fx-trade-taker',
    settings: {
      body: JSON.stringify({
        ...{ from: { currency: 'EURC', amount: '1000.00' }, to: { currency: 'USDC' } },
        ...{ tenor: 'instant', type: 'reference' },
      }),
      pair: 'EUR/USD',
      document: { list: '', rate: 'rate', time: 'timestamp' },
    },
    document: (atMs) => ({
      id: '6f1c1f0e-6f5b-4a56-8b2b-1f7f0c6c2a11',
      rate: '1.0842',
      from: { currency: 'EURC', amount: '1000.00' },
      to: { currency: 'USDC', amount: '1084.20' },
      timestamp: iso(atMs),
      expiry: iso(atMs + 300_000),
      fee: { currency: 'EURC', amount: '1.50' },
    }),
    used: [['rate'], ['timestamp']],
    rates: ['EUR/USD 1.0842'],
  },
  {
    name: 'Kraken',
    page: 'https://docs.kraken.com/api/docs/rest-api/get-ticker-information',
    settings: {
      document: { list: 'result', name: '$key', bid: 'b.0', ask: 'a.0', times: 'received' },
      pairs: [
        { name: 'ZEURZUSD', pair: 'EUR/USD' },
        { name: 'ZUSDZJPY', pair: 'USD/JPY' },
      ],
    },
    document: () => ({
      error: [],
      result: Object.fromEntries(
        [
          ['ZEURZUSD', '1.08410', '1.08430'],
          ['ZUSDZJPY', '151.360', '151.380'],
        ].map(([name, bid, ask]) => [
          name,
          {
            ...{ a: [ask, '1', '1.000'], b: [bid, '1', '1.000'], c: [bid, '4.20000000'], o: bid },
            ...{ v: ['900.1', '1200.2'], p: [bid, ask], t: [40, 90], l: [bid, bid], h: [ask, ask] },
          },
        ]),
      ),
    }),
    used: [
      ['result'],
      ['result', 'ZEURZUSD'],
      ['result', 'ZEURZUSD', 'a'],
      ['result', 'ZEURZUSD', 'b'],
      ['result', 'ZEURZUSD', 'a', 0],
      ['result', 'ZEURZUSD', 'b', 0],
    ],
    rates: ['EUR/USD 1.0842', 'USD/JPY 151.37'],
  },
  {
    name: 'Coinbase',
    page: 'https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-ticker',
    settings: { pair: 'EUR/USD', document: { list: '', bid: 'bid', ask: 'ask', time: 'time' } },
    document: (atMs) => ({
      ...{ ask: '1.0843', bid: '1.0841', volume: '120345.5', trade_id: 7_345_123, price: '1.0842' },
      ...{ size: '250', time: iso(atMs).replace('.000Z', '.000000Z'), rfq_volume: '0' },
    }),
    used: [['ask'], ['bid'], ['time']],
    rates: ['EUR/USD 1.0842'],
  },
  {
    name: 'Binance',
    page: 'https://developers.binance.com/docs/binance-spot-api-docs/rest-api/market-data-endpoints',
    settings: {
      document: { list: '', name: 'symbol', bid: 'bidPrice', ask: 'askPrice', times: 'received' },
      pairs: [{ name: 'EURUSDT', pair: 'EUR/USD' }],
    },
    document: () => [
      { symbol: 'EURUSDT', bidPrice: '1.08410000', bidQty: '900.1', askPrice: '1.08430000', askQty: '800.2' },
      { symbol: 'ETHBTC', bidPrice: '0.05000000', bidQty: '1', askPrice: '0.05000100', askQty: '1' },
    ],
    used: [
      [0, 'symbol'],
      [0, 'bidPrice'],
      [0, 'askPrice'],
    ],
    rates: ['EUR/USD 1.0842'],
  },
  {
    name: 'Pyth',
    page: 'https://docs.pyth.network/api-reference/pyth-core/hermes/latest_price_updates',
    settings: {
      document: {
        ...{ list: 'parsed', name: 'id', rate: 'price.price' },
        ...{ exponent: 'price.expo', time: 'price.publish_time' },
      },
      pairs: [
        { name: pythEurUsd, pair: 'EUR/USD' },
        { name: pythUsdJpy, pair: 'USD/JPY' },
      ],
    },
    document: (atMs) => ({
      binary: { encoding: 'hex', data: ['504e4155'] },
      parsed: [
        [pythEurUsd, '108420', -5],
        [pythUsdJpy, '151370', -3],
      ].map(([id, price, expo]) => {
        const one = { price, conf: '12', expo, publish_time: seconds(atMs) }
        const metadata = { slot: 85_480_034, proof_available_time: seconds(atMs), prev_publish_time: seconds(atMs) - 1 }
        return { id, price: one, ema_price: one, metadata }
      }),
    }),
    used: [
      ['parsed'],
      ['parsed', 0, 'id'],
      ['parsed', 0, 'price'],
      ['parsed', 0, 'price', 'price'],
      ['parsed', 0, 'price', 'expo'],
      ['parsed', 0, 'price', 'publish_time'],
    ],
    rates: ['EUR/USD 1.08420', 'USD/JPY 151.370'],
  },
  {
    name: 'Alpha Vantage',
    page: 'https://www.alphavantage.co/documentation/#currency-exchange',
    settings: {
      document: {
        list: 'Realtime Currency Exchange Rate',
        ...{ base: ['1. From_Currency Code'], quote: ['3. To_Currency Code'] },
        ...{ bid: ['8. Bid Price'], ask: ['9. Ask Price'], time: ['6. Last Refreshed'], times: 'utc' },
      },
    },
    document: (atMs) => ({
      'Realtime Currency Exchange Rate': {
        '1. From_Currency Code': 'EUR',
        '2. From_Currency Name': 'Euro',
        '3. To_Currency Code': 'USD',
        '4. To_Currency Name': 'United States Dollar',
        '5. Exchange Rate': '1.08420000',
        '6. Last Refreshed': iso(atMs).slice(0, 19).replace('T', ' '),
        '7. Time Zone': 'UTC',
        '8. Bid Price': '1.08410000',
        '9. Ask Price': '1.08430000',
      },
    }),
    used: [
      ['Realtime Currency Exchange Rate'],
      ...['1. From_Currency Code', '3. To_Currency Code', '6. Last Refreshed', '8. Bid Price', '9. Ask Price'].map(
        (name) => ['Realtime Currency Exchange Rate', name],
      ),
    ],
    rates: ['EUR/USD 1.0842'],
  },
  {
    name: 'Open Exchange Rates',
    page: 'https://docs.openexchangerates.org/reference/bid-ask-prices',
    settings: {
      document: {
        ...{ list: 'rates', base: '$.base', quote: '$key', time: '$.timestamp' },
        ...{ bid: 'bid', ask: 'ask', sides: 'each' },
      },
    },
    document: (atMs) => ({
      disclaimer: 'Usage subject to terms',
      license: 'https://openexchangerates.org/license',
      timestamp: seconds(atMs),
      base: 'USD',
      rates: {
        JPY: { bid: 151.36, ask: 151.38, mid: 151.37 },
        USD: { bid: 1, ask: 1, mid: 1 },
      },
    }),
    used: [['timestamp'], ['base'], ['rates'], ['rates', 'JPY', 'bid'], ['rates', 'JPY', 'ask']],
    rates: ['USD/JPY 151.37 (151.36 to 151.38)'],
  },
]

/** https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html */
export const ecbDocument = (date: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
	<gesmes:subject>Reference rates</gesmes:subject>
	<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
	<Cube><Cube time='${date}'><Cube currency='USD' rate='1.0842'/><Cube currency='JPY' rate='164.12'/></Cube></Cube>
</gesmes:Envelope>`
