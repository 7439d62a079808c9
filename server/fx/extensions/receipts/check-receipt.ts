// Checks a receipt offline: its signature, the key that signed it, and the price, which is computed again with the
// functions that price quotes. Pure.
import { type Receipt, SignedReceipt } from '#api/contract/wire/fx-extensions.ts'
import { counted } from '#core/counted.ts'
import {
  compare,
  compareFractions,
  type Decimal,
  decimal,
  type Fraction,
  formatDecimal,
  parseDecimal,
  product,
} from '#core/decimal.ts'
import { parseTimestamp } from '#core/parse-timestamp.ts'
import { checker } from '#core/schema-check.ts'
import { findMid, type Rate } from '../../pricing/mid.ts'
import { computePrice, type Price, type PricedOffer, type RequestedAmount } from '../../pricing/price.ts'
import { appliesTo, combineRules, type RuledQuote } from '../../pricing/rules.ts'
import { canonicalJson } from '../../receipts/canonical-json.ts'
import { fingerprintOf, isSignedBy } from '../../receipts/ed25519.ts'
import { sha256 } from '../../receipts/receipt-body.ts'

export interface ReceiptCheck {
  readonly name: 'form' | 'signature' | 'key' | 'mid' | 'rules' | 'rate' | 'amounts' | 'fee' | 'collateral' | 'reply'
  readonly ok: boolean
  readonly message: string
}

export interface CheckOptions {
  /** The server's published keys, base64url; one of them must have signed. Without them, any key is accepted. */
  readonly publicKeys?: readonly string[] | undefined
  /** The response that contained the quote. */
  readonly reply?: Uint8Array | undefined
}

const validateForm = checker(SignedReceipt)

/** The receipt is valid if all checks are ok. */
export function checkReceipt(document: unknown, { publicKeys, reply }: CheckOptions = {}): readonly ReceiptCheck[] {
  const problems = validateForm(document)
  if (problems.length > 0) {
    const message = problems
      .map(({ at, message: problemText }) => `${at.join('.') || 'the document'} ${problemText}`)
      .join('; ')
    return [{ name: 'form', ok: false, message }]
  }
  const { receipt, signature } = document as SignedReceipt
  const keyBytes = Buffer.from(signature.publicKey, 'base64url')
  const message = new TextEncoder().encode(canonicalText(receipt))
  const isSigned = isSignedBy(keyBytes, message, Buffer.from(signature.value, 'base64url'))
  const isNamed = fingerprintOf(keyBytes) === signature.keyId
  const mistake = isSigned
    ? 'the key id does not match the public key'
    : 'the receipt was changed, or it was not signed with this key'
  const checks = [toCheck('signature', isSigned && isNamed, `signed by key ${signature.keyId}`, mistake)]
  if (publicKeys !== undefined) {
    const isKnown = publicKeys.includes(signature.publicKey)
    checks.push(toCheck('key', isKnown, 'signed with a given public key', 'signed with a different public key'))
  }
  checks.push(...priceChecks(receipt))
  if (reply) {
    const isSame = sha256(reply) === receipt.quote.sha256
    checks.push(toCheck('reply', isSame, 'it belongs to this quote', 'it belongs to a different quote'))
  }
  return checks
}

const toCheck = (name: ReceiptCheck['name'], ok: boolean, okMessage: string, otherwise: string): ReceiptCheck => ({
  name,
  ok,
  message: ok ? okMessage : otherwise,
})

/** Empty if the receipt has no canonical form; the signature check then fails. */
function canonicalText(receipt: Receipt): string {
  try {
    return canonicalJson(receipt)
  } catch {
    return ''
  }
}

function priceChecks(receipt: Receipt): readonly ReceiptCheck[] {
  const { from, to } = receipt.quote
  const rates = [...receipt.rates, ...receipt.excluded].map(toRate)
  const texts = [from.amount, to.amount, receipt.quote.rate, receipt.quote.fee, receipt.quote.collateral]
  const numbers = [
    ...texts,
    receipt.mid.numerator,
    receipt.mid.denominator,
    ...rates.flatMap(({ rate, bid, ask }) => [rate, ...[bid, ask].filter((text) => typeof text === 'string')]),
  ]
  if (numbers.some((text) => parseDecimal(text) === undefined)) {
    return [{ name: 'form', ok: false, message: 'a number is not a decimal' }]
  }
  const rules = {
    crossVia: receipt.via === null ? [] : [receipt.via],
    outlierPpm: BigInt(receipt.terms.outlierPpm),
  }
  const result = findMid(rates, from.tracks, to.tracks, rules)
  const numerator = parseInteger(receipt.mid.numerator)
  const denominator = parseInteger(receipt.mid.denominator)
  if (
    result.is !== 'mid' ||
    numerator <= 0n ||
    denominator <= 0n ||
    compareFractions(result.mid.value, { numerator, denominator }) !== 0
  ) {
    return [{ name: 'mid', ok: false, message: 'the mid does not follow from the rates' }]
  }
  const hasSameRates = result.mid.rates.length === receipt.rates.length
  if (!hasSameRates) return [{ name: 'mid', ok: false, message: 'the excluded rates are not the outliers' }]
  const mid: ReceiptCheck = { name: 'mid', ok: true, message: `the median of ${counted(receipt.rates.length, 'rate')}` }
  try {
    const value = { numerator, denominator }
    const ruled = applyReceiptRules(receipt, value)
    const price = computePrice(product(value, ruled.skew), requestedAmount(receipt), toPricedOffer(receipt))
    return [mid, ...(receipt.version === '1' ? [] : [ruled.check]), ...amountChecks(receipt, price)]
  } catch (error) {
    return [mid, { name: 'amounts', ok: false, message: `the price cannot be computed: ${(error as Error).message}` }]
  }
}

/** Receipts of version 1 have no rules. */
function applyReceiptRules(receipt: Receipt, mid: Fraction): { readonly skew: Fraction; readonly check: ReceiptCheck } {
  const { quote, rules = [], terms } = receipt
  const ruled: RuledQuote = {
    ...{ from: quote.from.currency, to: quote.to.currency, tenor: quote.tenor, mid },
    requested: requestedAmount(receipt),
    atMs: parseTimestamp(quote.createdAt, { zone: 'utc' }) as number,
  }
  const { spreadPpm, skew } = combineRules(BigInt(terms.basicSpreadPpm ?? terms.spreadPpm), rules, ruled)
  const wrong = rules.find((rule) => !appliesTo(rule, ruled))
  const isComplete = receipt.version === '1' || (receipt.rules !== undefined && terms.basicSpreadPpm !== undefined)
  const mistakes = [
    ...(isComplete ? [] : ['the rules are missing']),
    ...(wrong ? [`the rule ${wrong.id} does not apply to this quote`] : []),
    ...(spreadPpm === BigInt(terms.spreadPpm) ? [] : [`the spread should be ${spreadPpm} ppm`]),
  ]
  const names = rules.map(({ id }) => id).join(', ')
  const okMessage = names === '' ? 'no rule applied' : `the rules ${names}`
  return { skew, check: toCheck('rules', mistakes.length === 0, okMessage, mistakes.join('; ')) }
}

/** If the request gave `to.amount`, that amount is what the recipient receives after the fee. */
const requestedAmount = ({ quote, givenSide: side }: Receipt): RequestedAmount => ({
  side,
  amount: side === 'from' ? decimal(quote.from.amount) : subtract(decimal(quote.to.amount), decimal(quote.fee)),
})

const toPricedOffer = ({ quote, terms }: Receipt): PricedOffer => ({
  spreadPpm: BigInt(terms.spreadPpm),
  feePpm: BigInt(terms.feePpm),
  collateralPpm: BigInt(terms.collateralPpm),
  from: quote.from,
  to: quote.to,
})

function amountChecks({ quote, rounding }: Receipt, price: Price): readonly ReceiptCheck[] {
  const check = (name: ReceiptCheck['name'], label: string, stated: string, computed: Decimal): ReceiptCheck => {
    const isSame = compare(decimal(stated), computed) === 0
    const mistake = `${label} is ${stated} but should be ${formatDecimal(computed)}`
    return toCheck(name, isSame, `${label} ${stated}`, mistake)
  }
  const inFrom = (digits: bigint) => ({ digits, scale: rounding.fromPlaces })
  const inTo = (digits: bigint) => ({ digits, scale: rounding.toPlaces })
  return [
    check('rate', 'the rate', quote.rate, price.rate),
    check('amounts', `the ${quote.from.currency} amount`, quote.from.amount, inFrom(price.from)),
    check('amounts', `the ${quote.to.currency} amount`, quote.to.amount, inTo(price.to)),
    check('fee', 'the fee', quote.fee, inTo(price.fee)),
    check('collateral', 'the collateral', quote.collateral, inFrom(price.collateral)),
  ]
}

const parseInteger = (text: string): bigint => (/^\d{1,400}$/.test(text) ? BigInt(text) : 0n)

function subtract(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  const at = ({ digits, scale: ownScale }: Decimal) => digits * 10n ** BigInt(scale - ownScale)
  if (at(a) < at(b)) throw new Error('the fee is larger than the amount')
  return { digits: at(a) - at(b), scale }
}

/** The schema has validated the time. */
const toRate = ({ at, ...rate }: Receipt['rates'][number]): Rate => ({
  ...rate,
  atMs: parseTimestamp(at, { zone: 'utc' }) as number,
})
