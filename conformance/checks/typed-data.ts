// The typed data that a taker signs, spec 2.2: it must agree with the quote.
import { typedDataTypes } from '#api/contract/wire/fx.ts'
import { type Checks, expect, expectSame, type Members, membersOf } from '../check.ts'
import type { ServerUnderTest } from '../server-under-test.ts'
import { createQuote, recipientAddress } from './quotes.ts'

const typedDataOf = (quote: Members): Members => membersOf(quote.typedData, 'typedData')
const messageOf = (quote: Members): Members => membersOf(typedDataOf(quote).message, 'message')
const considerationOf = (message: Members): Members =>
  membersOf(membersOf(message.witness, 'witness').consideration, 'consideration')

const createTradable = (server: ServerUnderTest, changes: Members = {}): Promise<Members> =>
  createQuote(server, { type: 'tradable', recipientAddress, ...changes })

const maturitySeconds = { instant: 1800, hourly: 3600, daily: 86_400 } as const
const decimalsMax = 36

export const typedDataChecks: Checks = {
  'fx.typed-data.form': {
    rule: 'spec 2.2',
    requirement: 'a tradable quote has typed data with primary type PermitWitnessTransferFrom',
    async run(server) {
      const { primaryType, types } = typedDataOf(await createTradable(server))
      expect(primaryType === 'PermitWitnessTransferFrom', `primaryType is ${primaryType}`)
      const names = Object.keys(membersOf(types, 'types'))
      expectSame(names.toSorted(), Object.keys(typedDataTypes).toSorted(), 'the six types differ')
    },
  },
  'fx.typed-data.types': {
    rule: 'behaviour/fx.md#typed-data',
    requirement: 'each type has the members of the contract in the same order; signatures depend on both',
    async run(server) {
      const types = membersOf(typedDataOf(await createTradable(server)).types, 'types')
      for (const [name, members] of Object.entries(typedDataTypes))
        expectSame(types[name], members, `${name} has different members`)
    },
  },
  'fx.typed-data.agrees': {
    rule: 'spec 2.2',
    requirement: 'quote id, amounts, fee and recipient are equal to those of the quote',
    async run(server) {
      const quote = await createTradable(server)
      const message = messageOf(quote)
      const witness = membersOf(message.witness, 'witness')
      const { quoteId, base, quote: paid, baseAmount, quoteAmount, maturity } = considerationOf(message)
      const padded = `0x${String(quote.id).replaceAll('-', '').padStart(64, '0')}`
      expect(String(quoteId).toLowerCase() === padded.toLowerCase(), `quoteId ${quoteId} is not that of ${quote.id}`)
      expect(String(witness.recipient).toLowerCase() === recipientAddress, 'the recipient differs')
      expect(message.deadline === maturity, `deadline ${message.deadline} and maturity ${maturity} differ`)
      const { token } = membersOf(message.permitted, 'permitted')
      expect(token === paid, 'the permitted token is not the one that is paid')
      expect(base !== paid, 'both tokens are the same')
      const [{ amount: received }, { amount: given }] = [membersOf(quote.to, 'to'), membersOf(quote.from, 'from')]
      expect(isInUnits(received, baseAmount), `baseAmount ${baseAmount} is not the amount of to`)
      expect(isInUnits(given, quoteAmount), `quoteAmount ${quoteAmount} is not that of from`)
      expect(isInUnits(quote.fee, witness.fee), `fee ${witness.fee} is not ${quote.fee}`)
    },
  },
  'fx.typed-data.permitted': {
    rule: 'behaviour/http.md#integers-beyond-253',
    requirement:
      'the permitted amount is the collateral, or the amount that is paid if there is none, exact to the last digit',
    async run(server) {
      const quote = await createTradable(server)
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
  'fx.typed-data.nonce': {
    rule: 'behaviour/fx.md#typed-data',
    requirement: 'nonces never repeat and are below 2^53',
    async run(server) {
      const nonces = [await createTradable(server), await createTradable(server), await createTradable(server)].map(
        (quote) => messageOf(quote).nonce,
      )
      expect(new Set(nonces).size === nonces.length, 'a nonce was repeated')
      expect(nonces.every(Number.isSafeInteger), `${nonces.join(', ')}: one is beyond 2^53`)
    },
  },
  'fx.typed-data.maturity': {
    rule: 'behaviour/fx.md#typed-data',
    requirement: 'the tenor determines the maturity: 30 minutes, an hour, a day',
    async run(server) {
      for (const [tenor, seconds] of Object.entries(maturitySeconds)) {
        const quote = await createTradable(server, { tenor })
        const after = Number(messageOf(quote).deadline) - Math.floor(Date.parse(String(quote.createdAt)) / 1000)
        expect(Math.abs(after - seconds) <= 1, `${tenor} matures after ${after} s, not ${seconds}`)
      }
    },
  },
}

/** Whether units is the amount times a power of ten. Responses do not contain the decimals of a token. */
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
