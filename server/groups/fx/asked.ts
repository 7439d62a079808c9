// What the schema of the request cannot see: fields that depend on each other. Every problem is collected before any is
// reported, so that a caller repairs the request once (decision 0020).
import { createHash } from 'node:crypto'
import type { Parsed } from '#api/kit.ts'
import type { createQuote } from '#api/wire/fx.ts'
import { hasWrongChecksum } from '#core/checksum-address.ts'
import { decimal, fits } from '#core/decimal.ts'
import { Fault, type Problem } from '#core/fault.ts'
import type { FxToken } from '#core/settings/fx.ts'
import { type Asked, placesOf } from './price.ts'
import { signable } from './typed-data.ts'

export type QuoteInput = Parsed<typeof createQuote>

const sides = ['from', 'to'] as const
const zeroAddress = /^0x0{40}$/i

/** The one amount that was given; a fault that lists everything wrong otherwise. */
export function readAsked(input: QuoteInput, tokens: readonly FxToken[]): Asked {
  const problems = [...amountProblems(input, tokens), ...currencyProblems(input), ...recipientProblems(input)]
  if (problems.length > 0) {
    const detail = problems.map(({ at, says }) => `${at.join('.')} ${says}`).join('; ')
    throw new Fault('input.invalid', { problems, detail })
  }
  const side = input.from.amount === undefined ? 'to' : 'from'
  return { side, amount: decimal(input[side].amount ?? '') }
}

function amountProblems(input: QuoteInput, tokens: readonly FxToken[]): readonly Problem[] {
  const given = sides.filter((side) => input[side].amount !== undefined)
  if (given.length === 0) {
    const says = 'is required: give exactly one of from.amount and to.amount'
    return sides.map((side) => ({ at: ['body', side, 'amount'], says }))
  }
  return given.flatMap((side) => {
    const value = input[side].amount ?? ''
    const problem = (says: string): Problem => ({ at: ['body', side, 'amount'], says, value })
    const token = tokens.find(({ code }) => code === input[side].currency)
    const amount = decimal(value)
    const found: Problem[] = []
    if (given.length > 1) found.push(problem('must be left out on one side: exactly one amount is given'))
    if (amount.digits === 0n) found.push(problem('must be greater than zero'))
    if (token && !fits(amount, placesOf(token))) {
      found.push(problem(`must have at most ${placesOf(token)} decimals, as ${token.code} has`))
    }
    return found
  })
}

function currencyProblems({ from, to }: QuoteInput): readonly Problem[] {
  if (from.currency !== to.currency) return []
  return [{ at: ['body', 'to', 'currency'], says: 'must differ from from.currency', value: to.currency }]
}

function recipientProblems({ type, recipientAddress }: QuoteInput): readonly Problem[] {
  const at = ['body', 'recipientAddress']
  if (recipientAddress === undefined) {
    return type === 'tradable' ? [{ at, says: 'is required when type is tradable' }] : []
  }
  const value = recipientAddress
  if (zeroAddress.test(value)) return [{ at, says: 'must not be the zero address', value }]
  // The proceeds go there, and nobody gets them back (decision 0184). What can be signed as it is needs no second checksum.
  if (signable(value) !== value && hasWrongChecksum(value)) {
    return [{ at, says: 'must have the right checksum (EIP-55): a letter is wrong, or its case', value }]
  }
  return []
}

/** Two bodies are the same when they ask the same, whatever their spacing, order and unknown members (decision 0024). */
export function bodyHash({ from, to, tenor, type, recipientAddress }: QuoteInput): string {
  const asked = [from.currency, from.amount, to.currency, to.amount, tenor, type, recipientAddress]
  return createHash('sha256')
    .update(JSON.stringify(asked.map((part) => part ?? null)))
    .digest('hex')
}
