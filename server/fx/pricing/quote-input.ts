// Checks of a quote request that its schema cannot express, such as fields that depend on each other. All problems are
// reported at once (behaviour/fx.md#request-checks).
import { createHash } from 'node:crypto'
import type { Parsed } from '#api/contract/kit.ts'
import type { createQuote } from '#api/contract/wire/fx.ts'
import { hasWrongChecksum } from '#core/checksum-address.ts'
import { decimal, fits } from '#core/decimal.ts'
import { Fault, type Problem } from '#core/fault.ts'
import type { FxToken } from '#runtime/settings/fx.ts'
import { toSignableAddress } from '../typed-data/typed-data.ts'
import { decimalPlaces, type RequestedAmount } from './price.ts'

export type QuoteInput = Parsed<typeof createQuote>

const sides = ['from', 'to'] as const
const zeroAddress = /^0x0{40}$/i

/** The amount of the request. Throws a fault that lists every problem. */
export function readRequestedAmount(input: QuoteInput, tokens: readonly FxToken[]): RequestedAmount {
  const problems = [...amountProblems(input, tokens), ...currencyProblems(input), ...recipientProblems(input)]
  if (problems.length > 0) throw new Fault('input.invalid', { problems })
  const side = input.from.amount === undefined ? 'to' : 'from'
  return { side, amount: decimal(input[side].amount ?? '') }
}

function amountProblems(input: QuoteInput, tokens: readonly FxToken[]): readonly Problem[] {
  const given = sides.filter((side) => input[side].amount !== undefined)
  if (given.length === 0) {
    const message = 'is required: give exactly one of from.amount and to.amount'
    return sides.map((side) => ({ at: ['body', side, 'amount'], message }))
  }
  return given.flatMap((side) => {
    const value = input[side].amount ?? ''
    const problem = (message: string): Problem => ({ at: ['body', side, 'amount'], message, value })
    const token = tokens.find(({ code }) => code === input[side].currency)
    const amount = decimal(value)
    const problems: Problem[] = []
    if (given.length > 1) problems.push(problem('must not be set on both sides: give exactly one amount'))
    if (amount.digits === 0n) problems.push(problem('must be greater than zero'))
    if (token && !fits(amount, decimalPlaces(token))) {
      problems.push(problem(`must have at most ${decimalPlaces(token)} decimals, as ${token.code} has`))
    }
    return problems
  })
}

function currencyProblems({ from, to }: QuoteInput): readonly Problem[] {
  if (from.currency !== to.currency) return []
  return [{ at: ['body', 'to', 'currency'], message: 'must differ from from.currency', value: to.currency }]
}

function recipientProblems({ type, recipientAddress }: QuoteInput): readonly Problem[] {
  const at = ['body', 'recipientAddress']
  if (recipientAddress === undefined) {
    return type === 'tradable' ? [{ at, message: 'is required when type is tradable' }] : []
  }
  const value = recipientAddress
  if (zeroAddress.test(value)) return [{ at, message: 'must not be the zero address', value }]
  // Tokens sent to a mistyped address are lost (behaviour/http.md#address-checksums). An address that can be signed as it
  // is has a correct checksum already.
  if (toSignableAddress(value) !== value && hasWrongChecksum(value)) {
    return [{ at, message: 'must have a correct EIP-55 checksum: a character or its case is wrong', value }]
  }
  return []
}

/** Depends on the meaning of the body only, not on whitespace, order or unknown members (behaviour/fx.md#idempotency-keys). */
export function bodyHash({ from, to, tenor, type, recipientAddress }: QuoteInput): string {
  const fields = [from.currency, from.amount, to.currency, to.amount, tenor, type, recipientAddress]
  return createHash('sha256')
    .update(JSON.stringify(fields.map((part) => part ?? null)))
    .digest('hex')
}
