// What a taker signs, spec 2.2: that it says the same as the quote around it.
import { contract } from '#api/contract.ts'
import { type Check, expect, type Members, membersOf, same } from '../check.ts'
import type { ServerUnderTest } from '../server-under-test.ts'
import { quoted, recipientAddress } from './quotes.ts'

const typedDataOf = (quote: Members): Members => membersOf(quote.typedData, 'typedData')
const messageOf = (quote: Members): Members => membersOf(typedDataOf(quote).message, 'message')
const considerationOf = (message: Members): Members =>
  membersOf(membersOf(message.witness, 'witness').consideration, 'consideration')

const tradable = (site: ServerUnderTest, changes: Members = {}): Promise<Members> =>
  quoted(site, { type: 'tradable', recipientAddress, ...changes })

const maturitySeconds = { instant: 1800, hourly: 3600, daily: 86_400 } as const
const decimalsMax = 36

export const typedDataChecks: readonly Check[] = [
  {
    id: 'fx.typed-data.form',
    rule: 'spec 2.2',
    requirement: 'a tradable quote carries typed data whose primary type is the permit with witness',
    async run(site) {
      const { primaryType, types } = typedDataOf(await tradable(site))
      expect(primaryType === 'PermitWitnessTransferFrom', `primaryType is ${primaryType}`)
      const wanted = contract['fx.createQuote'].example.reply.typedData?.types ?? {}
      same(Object.keys(membersOf(types, 'types')).toSorted(), Object.keys(wanted).toSorted(), 'the six types differ')
    },
  },
  {
    id: 'fx.typed-data.types',
    rule: 'behaviour/fx.md#typed-data',
    requirement: 'each type has the agreed members in the agreed order, since a signature depends on both',
    async run(site) {
      const types = membersOf(typedDataOf(await tradable(site)).types, 'types')
      const wanted = contract['fx.createQuote'].example.reply.typedData?.types ?? {}
      for (const [name, members] of Object.entries(wanted)) same(types[name], members, `${name} has other members`)
    },
  },
  {
    id: 'fx.typed-data.agrees',
    rule: 'spec 2.2',
    requirement: 'quote id, amounts, fee and recipient are those of the quote',
    async run(site) {
      const quote = await tradable(site)
      const message = messageOf(quote)
      const witness = membersOf(message.witness, 'witness')
      const { quoteId, base, quote: given, baseAmount, quoteAmount, maturity } = considerationOf(message)
      const padded = `0x${String(quote.id).replaceAll('-', '').padStart(64, '0')}`
      expect(String(quoteId).toLowerCase() === padded.toLowerCase(), `quoteId ${quoteId} is not that of ${quote.id}`)
      expect(String(witness.recipient).toLowerCase() === recipientAddress, 'the recipient is another')
      expect(message.deadline === maturity, `deadline ${message.deadline} and maturity ${maturity} differ`)
      expect(
        membersOf(message.permitted, 'permitted').token === given,
        'the permitted token is not the one that is given',
      )
      expect(base !== given, 'both tokens are the same')
      expect(
        isInUnits(membersOf(quote.to, 'to').amount, baseAmount),
        `baseAmount ${baseAmount} is not the amount of to`,
      )
      expect(
        isInUnits(membersOf(quote.from, 'from').amount, quoteAmount),
        `quoteAmount ${quoteAmount} is not that of from`,
      )
      expect(isInUnits(quote.fee, witness.fee), `fee ${witness.fee} is not ${quote.fee}`)
    },
  },
  {
    id: 'fx.typed-data.permitted',
    rule: 'behaviour/http.md#integers-beyond-253',
    requirement: 'what may be pulled is the collateral, or all that is given where there is none, to the last digit',
    async run(site) {
      const quote = await tradable(site)
      const message = messageOf(quote)
      const { amount } = membersOf(message.permitted, 'permitted')
      if (quote.collateral !== undefined)
        expect(isInUnits(quote.collateral, amount), `permitted is ${amount}, the collateral ${quote.collateral}`)
      else {
        const { quoteAmount } = considerationOf(message)
        expect(String(amount) === String(quoteAmount), `permitted is ${amount}, not ${quoteAmount}`)
      }
    },
  },
  {
    id: 'fx.typed-data.nonce',
    rule: 'behaviour/fx.md#typed-data',
    requirement: 'nonces never repeat and are exact as a number',
    async run(site) {
      const nonces = [await tradable(site), await tradable(site), await tradable(site)].map(
        (quote) => messageOf(quote).nonce,
      )
      expect(new Set(nonces).size === nonces.length, 'a nonce came twice')
      expect(nonces.every(Number.isSafeInteger), `${nonces.join(', ')}: one is beyond 2^53`)
    },
  },
  {
    id: 'fx.typed-data.maturity',
    rule: 'behaviour/fx.md#typed-data',
    requirement: 'the tenor sets the maturity: 30 minutes, an hour, a day',
    async run(site) {
      for (const [tenor, seconds] of Object.entries(maturitySeconds)) {
        const quote = await tradable(site, { tenor })
        const after = Number(messageOf(quote).deadline) - Math.floor(Date.parse(String(quote.createdAt)) / 1000)
        expect(Math.abs(after - seconds) <= 1, `${tenor} matures after ${after} s, not ${seconds}`)
      }
    },
  },
]

/** The decimal amount times some power of ten: how many decimals a token has is not on the wire. */
function isInUnits(amount: unknown, units: unknown): boolean {
  const [whole = '', fraction = ''] = String(amount).split('.')
  const digits = BigInt(whole + fraction)
  const count = BigInt(String(units))
  if (digits === 0n || count === 0n) return digits === count
  for (let places = 0; places <= decimalsMax; places++) {
    const scale = 10n ** BigInt(places)
    if (count === digits * scale || digits === count * scale) return true
  }
  return false
}
