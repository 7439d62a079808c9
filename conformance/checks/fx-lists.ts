// Quotes of the key, currencies and current rates: extensions of group B. A server without them is not checked.
import { type Checks, expect, expectSame, Skipped, toList } from '../check.ts'
import { expectSamePages } from '../expect-same-pages.ts'
import { pairOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'
import { createQuote } from './quotes.ts'

const rates = 'fx.rates'
/** Created until two have different times. */
const quotesMax = 20
/** Rates are rounded to 15 digits. */
const relativeError = 1e-9

async function fetchRates(server: ServerUnderTest, base?: unknown) {
  const reply = await server.fetchExtension(rates, base === undefined ? {} : { base })
  return { base: reply.base, rates: toList(reply.rates, 'rates') }
}

export const fxListChecks: Checks = {
  'fx.list.quotes': {
    rule: 'behaviour/fx.md#read-quotes-back',
    requirement: 'quotes of the key are listed as created, newest first, and continue with the cursor',
    async run(server) {
      let [older, newer] = [await createQuote(server), await createQuote(server)]
      // Quotes with the same time have no order.
      for (let attempt = 1; attempt < quotesMax && older.createdAt === newer.createdAt; attempt++)
        [older, newer] = [newer, await createQuote(server)]
      const listed = await expectSamePages(server, { id: 'fx.quotes', size: 'limit', count: 2 })
      expectSame(listed, [newer, older], 'the list does not have the last two quotes')
    },
  },
  'fx.list.quote': {
    rule: 'behaviour/fx.md#read-quotes-back',
    requirement: 'a quote of the key is found by its id, as created; an unknown id returns 404',
    async run(server) {
      const id = 'fx.quote'
      const created = await createQuote(server)
      expectSame(await server.fetchExtension(id, { id: created.id }), created, 'the quote differs from the one created')
      await server.expectFailure(id, { id: '00000000-0000-4000-8000-000000000000' }, 'record.not_found')
    },
  },
  'fx.list.currencies': {
    rule: 'behaviour/fx.md#offered-pairs',
    requirement: 'the currencies of a quote are listed, each once',
    async run(server) {
      const id = 'fx.currencies'
      const { currencies } = await server.fetchExtension(id)
      const listed = toList(currencies, 'currencies').map(({ currency }) => currency)
      expect(new Set(listed).size === listed.length, 'a currency is listed twice')
      for (const currency of Object.values(pairOf(server)))
        expect(listed.includes(currency), `${currency} is not listed`)
    },
  },
  'fx.list.rates': {
    rule: 'behaviour/fx.md#current-rates',
    requirement: 'the rate of a pair is the inverse of the rate of the opposite pair',
    async run(server) {
      const first = await fetchRates(server)
      const fresh = first.rates.find(({ status }) => status === 'fresh')
      if (!fresh) throw new Skipped('no pair has a fresh rate')
      const second = await fetchRates(server, fresh.quote)
      expect(second.base === fresh.quote, `base is ${second.base}, not ${fresh.quote}`)
      const opposite = second.rates.find(({ quote }) => quote === first.base)
      if (opposite?.status !== 'fresh' || opposite.at !== fresh.at) throw new Skipped('the rates changed meanwhile')
      const product = Number(fresh.rate) * Number(opposite.rate)
      expect(Math.abs(product - 1) < relativeError, `${fresh.rate} × ${opposite.rate} is ${product}`)
    },
  },
}
