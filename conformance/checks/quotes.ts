// Quotes, spec 4.4: what is created, its arithmetic, and that it can be asked for again.
import { type Check, expect, expectReply, type Members, membersOf, refusal, same } from '../check.ts'
import { pairOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'fx.createQuote'
export const recipientAddress = '0x1111111111111111111111111111111111111111'
/** Prices are computed exactly and shown as a number and with six decimals. */
const relativeError = 1e-5
const unit = 1e-6

export function quoteInput(site: ServerUnderTest, changes: Members = {}): Members {
  const pair = pairOf(site)
  const from = { currency: pair.from, amount: '1000' }
  return { from, to: { currency: pair.to }, tenor: 'instant', type: 'reference', ...changes }
}

export async function quoted(site: ServerUnderTest, changes: Members = {}): Promise<Members> {
  return expectReply(id, await site.call(id, quoteInput(site, changes)))
}

const amountOf = (quote: Members, side: 'from' | 'to'): number => Number(membersOf(quote[side], side).amount)
const currencyOf = (quote: Members, side: 'from' | 'to'): unknown => membersOf(quote[side], side).currency
const timeOf = (quote: Members, name: string): number => Date.parse(String(quote[name]))

export const quoteChecks: readonly Check[] = [
  {
    id: 'fx.quote.reference',
    rule: 'spec 4.4',
    requirement: 'a reference quote needs no recipient and fits the contract, for every tenor',
    async run(site) {
      for (const tenor of ['instant', 'hourly', 'daily']) {
        const quote = await quoted(site, { tenor })
        const pair = pairOf(site)
        expect(currencyOf(quote, 'from') === pair.from && currencyOf(quote, 'to') === pair.to, 'the currencies differ')
        expect(timeOf(quote, 'expiresAt') > timeOf(quote, 'createdAt'), 'it expires before it was made')
      }
    },
  },
  {
    id: 'fx.quote.default-type',
    rule: 'spec 4.4',
    requirement: 'type left out means tradable',
    async run(site) {
      const { type: _, ...input } = quoteInput(site, { recipientAddress })
      expect('typedData' in expectReply(id, await site.call(id, input)), 'there is no typed data')
      refusal(id, await site.call(id, { ...input, recipientAddress: undefined }), 'input.invalid')
    },
  },
  {
    id: 'fx.quote.reference-unsigned',
    rule: 'behaviour/fx.md#amounts',
    requirement: 'a reference quote carries nothing to sign; a recipient that is given is still checked',
    async run(site) {
      expect(!('typedData' in (await quoted(site))), 'it carries typed data')
      expect(!('typedData' in (await quoted(site, { recipientAddress }))), 'it carries typed data')
      refusal(id, await site.call(id, quoteInput(site, { recipientAddress: '0x12' })), 'input.invalid')
    },
  },
  {
    id: 'fx.quote.rate',
    rule: 'spec 2.2',
    requirement: 'to = from × rate, whichever of the two amounts was asked for',
    async run(site) {
      const pair = pairOf(site)
      const backwards = { from: { currency: pair.from }, to: { currency: pair.to, amount: '500' } }
      for (const changes of [{}, backwards]) {
        const quote = await quoted(site, changes)
        const computed = amountOf(quote, 'from') * Number(quote.rate)
        const apart = Math.abs(computed - amountOf(quote, 'to'))
        expect(
          apart <= computed * relativeError + 2 * unit,
          `from × rate is ${computed}, to is ${amountOf(quote, 'to')}`,
        )
      }
    },
  },
  {
    id: 'fx.quote.fee',
    rule: 'behaviour/fx.md#rounding',
    requirement: 'asked by what arrives, the amount is that plus the fee; asked by what is given, that stays as it was',
    async run(site) {
      const pair = pairOf(site)
      const backwards = await quoted(site, { from: { currency: pair.from }, to: { currency: pair.to, amount: '500' } })
      const net = amountOf(backwards, 'to') - Number(backwards.fee)
      expect(Math.abs(net - 500) <= 2 * unit, `the recipient nets ${net}, not 500`)
      const forwards = await quoted(site)
      expect(amountOf(forwards, 'from') === 1000, `1000 became ${amountOf(forwards, 'from')}`)
      expect(Number(forwards.fee) >= 0 && Number(forwards.fee) < amountOf(forwards, 'to'), 'the fee eats the amount')
    },
  },
  {
    id: 'fx.quote.new-each-time',
    rule: 'spec 2.2',
    requirement: 'every quote has an id of its own',
    async run(site) {
      const ids = [await quoted(site), await quoted(site), await quoted(site)].map((quote) => quote.id)
      expect(new Set(ids).size === ids.length, 'an id came twice')
    },
  },
  {
    id: 'fx.quote.idempotent',
    rule: 'behaviour/fx.md#idempotency-keys',
    requirement: 'the same idempotency key and body replay the first reply byte for byte; another body is a 409',
    async run(site) {
      const first = await quoted(site)
      const idempotencyKey = `conform-${String(first.id)}`
      const one = await site.call(id, { ...quoteInput(site), idempotencyKey })
      const two = await site.call(id, { ...quoteInput(site), idempotencyKey })
      expectReply(id, one)
      same(two.text, one.text, 'the second reply differs from the first')
      const other = quoteInput(site, { tenor: 'daily', idempotencyKey })
      refusal(id, await site.call(id, other), 'fx.idempotency')
    },
  },
]
