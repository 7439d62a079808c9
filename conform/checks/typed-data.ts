// What a taker signs, spec 2.2: that it says the same as the quote around it.
import { contract } from '#api/contract.ts'
import { type Check, claim, type Members, membersOf, same } from '../check.ts'
import type { Site } from '../site.ts'
import { quoted, recipientAddress } from './quotes.ts'

const typedDataOf = (quote: Members): Members => membersOf(quote.typedData, 'typedData')
const messageOf = (quote: Members): Members => membersOf(typedDataOf(quote).message, 'message')
const considerationOf = (message: Members): Members =>
  membersOf(membersOf(message.witness, 'witness').consideration, 'consideration')

const tradable = (site: Site, changes: Members = {}): Promise<Members> =>
  quoted(site, { type: 'tradable', recipientAddress, ...changes })

const maturitySeconds = { instant: 1800, hourly: 3600, daily: 86_400 } as const
const decimalsMax = 36

export const typedDataChecks: readonly Check[] = [
  {
    id: 'fx.typed-data.form',
    rule: 'spec 2.2',
    says: 'a tradable quote carries typed data whose primary type is the permit with witness',
    async run(site) {
      const { primaryType, types } = typedDataOf(await tradable(site))
      claim(primaryType === 'PermitWitnessTransferFrom', `primaryType is ${primaryType}`)
      const wanted = contract['fx.createQuote'].example.reply.typedData?.types ?? {}
      same(Object.keys(membersOf(types, 'types')).toSorted(), Object.keys(wanted).toSorted(), 'the six types differ')
    },
  },
  {
    id: 'fx.typed-data.types',
    rule: 'decision 0026',
    says: 'each type has the agreed members in the agreed order, since a signature depends on both',
    async run(site) {
      const types = membersOf(typedDataOf(await tradable(site)).types, 'types')
      const wanted = contract['fx.createQuote'].example.reply.typedData?.types ?? {}
      for (const [name, members] of Object.entries(wanted)) same(types[name], members, `${name} has other members`)
    },
  },
  {
    id: 'fx.typed-data.agrees',
    rule: 'spec 2.2',
    says: 'quote id, amounts, fee and recipient are those of the quote',
    async run(site) {
      const quote = await tradable(site)
      const message = messageOf(quote)
      const witness = membersOf(message.witness, 'witness')
      const { quoteId, base, quote: given, baseAmount, quoteAmount, maturity } = considerationOf(message)
      const padded = `0x${String(quote.id).replaceAll('-', '').padStart(64, '0')}`
      claim(String(quoteId).toLowerCase() === padded.toLowerCase(), `quoteId ${quoteId} is not that of ${quote.id}`)
      claim(String(witness.recipient).toLowerCase() === recipientAddress, 'the recipient is another')
      claim(message.deadline === maturity, `deadline ${message.deadline} and maturity ${maturity} differ`)
      claim(
        membersOf(message.permitted, 'permitted').token === given,
        'the permitted token is not the one that is given',
      )
      claim(base !== given, 'both tokens are the same')
      claim(inUnits(membersOf(quote.to, 'to').amount, baseAmount), `baseAmount ${baseAmount} is not the amount of to`)
      claim(
        inUnits(membersOf(quote.from, 'from').amount, quoteAmount),
        `quoteAmount ${quoteAmount} is not that of from`,
      )
      claim(inUnits(quote.fee, witness.fee), `fee ${witness.fee} is not ${quote.fee}`)
    },
  },
  {
    id: 'fx.typed-data.permitted',
    rule: 'decision 0058',
    says: 'what may be pulled is the collateral, or all that is given where there is none, to the last digit',
    async run(site) {
      const quote = await tradable(site)
      const message = messageOf(quote)
      const { amount } = membersOf(message.permitted, 'permitted')
      if (quote.collateral !== undefined)
        claim(inUnits(quote.collateral, amount), `permitted is ${amount}, the collateral ${quote.collateral}`)
      else {
        const { quoteAmount } = considerationOf(message)
        claim(String(amount) === String(quoteAmount), `permitted is ${amount}, not ${quoteAmount}`)
      }
    },
  },
  {
    id: 'fx.typed-data.nonce',
    rule: 'decision 0026',
    says: 'nonces never repeat and are exact as a number',
    async run(site) {
      const nonces = [await tradable(site), await tradable(site), await tradable(site)].map(
        (quote) => messageOf(quote).nonce,
      )
      claim(new Set(nonces).size === nonces.length, 'a nonce came twice')
      claim(nonces.every(Number.isSafeInteger), `${nonces.join(', ')}: one is beyond 2^53`)
    },
  },
  {
    id: 'fx.typed-data.maturity',
    rule: 'decision 0110',
    says: 'the tenor sets the maturity: 30 minutes, an hour, a day',
    async run(site) {
      for (const [tenor, seconds] of Object.entries(maturitySeconds)) {
        const quote = await tradable(site, { tenor })
        const after = Number(messageOf(quote).deadline) - Math.floor(Date.parse(String(quote.createdAt)) / 1000)
        claim(Math.abs(after - seconds) <= 1, `${tenor} matures after ${after} s, not ${seconds}`)
      }
    },
  },
]

/** The decimal amount times some power of ten: how many decimals a token has is not on the wire. */
function inUnits(amount: unknown, units: unknown): boolean {
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
