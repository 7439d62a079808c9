// Quotes, spec 4.4: fields, arithmetic, idempotency.
import { type Checks, expect, expectReply, expectSame, type Members, membersOf } from '../check.ts'
import { pairOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'fx.createQuote'
export const recipientAddress = '0x1111111111111111111111111111111111111111'
/** Prices are computed exactly, but returned as a number and with six decimals. */
const relativeError = 1e-5
const unit = 1e-6

export function quoteInput(server: ServerUnderTest, changes: Members = {}): Members {
  const pair = pairOf(server)
  const from = { currency: pair.from, amount: '1000' }
  return { from, to: { currency: pair.to }, tenor: 'instant', type: 'reference', ...changes }
}

export async function createQuote(server: ServerUnderTest, changes: Members = {}): Promise<Members> {
  return await server.fetchReply(id, quoteInput(server, changes))
}

const amountOf = (quote: Members, side: 'from' | 'to'): number => Number(membersOf(quote[side], side).amount)
const currencyOf = (quote: Members, side: 'from' | 'to'): unknown => membersOf(quote[side], side).currency
const timeOf = (quote: Members, name: string): number => Date.parse(String(quote[name]))

export const quoteChecks: Checks = {
  'fx.quote.reference': {
    rule: 'spec 4.4',
    requirement: 'a reference quote needs no recipient and matches the contract, for every tenor',
    async run(server) {
      for (const tenor of ['instant', 'hourly', 'daily']) {
        const quote = await createQuote(server, { tenor })
        const pair = pairOf(server)
        expect(currencyOf(quote, 'from') === pair.from && currencyOf(quote, 'to') === pair.to, 'the currencies differ')
        expect(timeOf(quote, 'expiresAt') > timeOf(quote, 'createdAt'), 'it expires before it was created')
      }
    },
  },
  'fx.quote.default-type': {
    rule: 'spec 4.4',
    requirement: 'the default type is tradable',
    async run(server) {
      const { type: _, ...input } = quoteInput(server, { recipientAddress })
      expect('typedData' in (await server.fetchReply(id, input)), 'there is no typed data')
      await server.expectFailure(id, { ...input, recipientAddress: undefined }, 'input.invalid')
    },
  },
  'fx.quote.reference-unsigned': {
    rule: 'behaviour/fx.md#amounts',
    requirement: 'a reference quote has no typed data; the recipient is validated if present',
    async run(server) {
      expect(!('typedData' in (await createQuote(server))), 'it has typed data')
      expect(!('typedData' in (await createQuote(server, { recipientAddress }))), 'it has typed data')
      await server.expectFailure(id, quoteInput(server, { recipientAddress: '0x12' }), 'input.invalid')
    },
  },
  'fx.quote.rate': {
    rule: 'spec 2.2',
    requirement: 'to = from × rate, for requests by either amount',
    async run(server) {
      const pair = pairOf(server)
      const byTarget = { from: { currency: pair.from }, to: { currency: pair.to, amount: '500' } }
      for (const changes of [{}, byTarget]) {
        const quote = await createQuote(server, changes)
        const computed = amountOf(quote, 'from') * Number(quote.rate)
        const difference = Math.abs(computed - amountOf(quote, 'to'))
        expect(
          difference <= computed * relativeError + 2 * unit,
          `from × rate is ${computed}, to is ${amountOf(quote, 'to')}`,
        )
      }
    },
  },
  'fx.quote.fee': {
    rule: 'behaviour/fx.md#rounding',
    requirement: 'a requested target amount is what remains after the fee; a requested source amount is unchanged',
    async run(server) {
      const pair = pairOf(server)
      const byTarget = await createQuote(server, {
        from: { currency: pair.from },
        to: { currency: pair.to, amount: '500' },
      })
      const net = amountOf(byTarget, 'to') - Number(byTarget.fee)
      expect(Math.abs(net - 500) <= 2 * unit, `the recipient receives ${net}, not 500`)
      const bySource = await createQuote(server)
      expect(amountOf(bySource, 'from') === 1000, `1000 became ${amountOf(bySource, 'from')}`)
      expect(
        Number(bySource.fee) >= 0 && Number(bySource.fee) < amountOf(bySource, 'to'),
        'the fee is negative or not below the amount',
      )
    },
  },
  'fx.quote.new-each-time': {
    rule: 'spec 2.2',
    requirement: 'every quote has a unique id',
    async run(server) {
      const ids = [await createQuote(server), await createQuote(server), await createQuote(server)].map(
        (quote) => quote.id,
      )
      expect(new Set(ids).size === ids.length, 'an id was repeated')
    },
  },
  'fx.quote.idempotent': {
    rule: 'behaviour/fx.md#idempotency-keys',
    requirement: 'the same idempotency key and body return the first response byte for byte; another body returns 409',
    async run(server) {
      const first = await createQuote(server)
      const idempotencyKey = `conformance-${String(first.id)}`
      const original = await server.call(id, { ...quoteInput(server), idempotencyKey })
      const repeated = await server.call(id, { ...quoteInput(server), idempotencyKey })
      expectReply(id, original)
      expectSame(repeated.text, original.text, 'the second response differs from the first')
      const other = quoteInput(server, { tenor: 'daily', idempotencyKey })
      await server.expectFailure(id, other, 'fx.idempotency')
    },
  },
}
