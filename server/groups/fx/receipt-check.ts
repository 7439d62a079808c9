// Checks a receipt without the server: that it was signed, by whom, and that the price follows from what it says. Each
// step of the pricing is worked out again with the functions that price quotes. Pure.
import { type Receipt, SignedReceipt } from '#api/wire/fx-desk.ts'
import { canonicalJson } from '#core/canonical-json.ts'
import { checker } from '#core/check.ts'
import { compare, compareFractions, type Decimal, decimal, formatDecimal, parseDecimal } from '#core/decimal.ts'
import { fingerprintOf, isSignedBy } from '#core/ed25519.ts'
import { readMoment } from '#core/moment.ts'
import { findMid, type Rate } from './mid.ts'
import { type Price, priceOf } from './price.ts'
import { sha256 } from './receipt-body.ts'

export interface ReceiptCheck {
  readonly name: 'form' | 'signature' | 'key' | 'mid' | 'rate' | 'amounts' | 'fee' | 'collateral' | 'reply'
  readonly ok: boolean
  readonly says: string
}

export interface CheckOptions {
  /** The server's keys as they were published, base64url: any of them. Without them anyone may have signed. */
  readonly publicKeys?: readonly string[] | undefined
  /** The reply that the quote was answered with. */
  readonly reply?: Uint8Array | undefined
}

const formOf = checker(SignedReceipt)

/** Every check that can be made, in order; the receipt is good when all are ok. */
export function checkReceipt(document: unknown, { publicKeys, reply }: CheckOptions = {}): readonly ReceiptCheck[] {
  const problems = formOf(document)
  if (problems.length > 0) {
    const says = problems.map(({ at, says: words }) => `${at.join('.') || 'the document'} ${words}`).join('; ')
    return [{ name: 'form', ok: false, says }]
  }
  const { receipt, signature } = document as SignedReceipt
  const keyBytes = Buffer.from(signature.publicKey, 'base64url')
  const message = new TextEncoder().encode(canonicalText(receipt))
  const isSigned = isSignedBy(keyBytes, message, Buffer.from(signature.value, 'base64url'))
  const isNamed = fingerprintOf(keyBytes) === signature.keyId
  const checks: ReceiptCheck[] = [
    {
      name: 'signature',
      ok: isSigned && isNamed,
      says: isSigned
        ? isNamed
          ? `signed by key ${signature.keyId}`
          : 'the key id is not that of the public key'
        : 'the receipt was changed, or was not signed with this key',
    },
  ]
  if (publicKeys !== undefined) {
    const ok = publicKeys.includes(signature.publicKey)
    checks.push({
      name: 'key',
      ok,
      says: `the key is ${ok ? '' : 'not '}${publicKeys.length === 1 ? 'the one' : 'one of those'} given`,
    })
  }
  checks.push(...priceChecks(receipt))
  if (reply) {
    const ok = sha256(reply) === receipt.quote.sha256
    checks.push({ name: 'reply', ok, says: ok ? 'it is about this quote' : 'it is about another reply' })
  }
  return checks
}

/** What no schema of ours wrote has no canonical form, and no signature of ours either. */
function canonicalText(receipt: Receipt): string {
  try {
    return canonicalJson(receipt)
  } catch {
    return ''
  }
}

function priceChecks(receipt: Receipt): readonly ReceiptCheck[] {
  const { from, to } = receipt.quote
  const rates = [...receipt.rates, ...receipt.leftOut].map(toRate)
  const texts = [from.amount, to.amount, receipt.quote.rate, receipt.quote.fee, receipt.quote.collateral]
  const numbers = [...texts, receipt.mid.over, receipt.mid.under, ...rates.map(({ rate }) => rate)]
  if (numbers.some((text) => parseDecimal(text) === undefined)) {
    return [{ name: 'form', ok: false, says: 'a figure is not a decimal' }]
  }
  const rules = {
    crossVia: receipt.via === null ? [] : [receipt.via],
    outlierPpm: BigInt(receipt.terms.outlierPpm),
  }
  const found = findMid(rates, from.tracks, to.tracks, rules)
  const [over, under] = [whole(receipt.mid.over), whole(receipt.mid.under)]
  if (found.is !== 'mid' || over <= 0n || under <= 0n || compareFractions(found.mid.value, { over, under }) !== 0) {
    return [{ name: 'mid', ok: false, says: 'the mid does not follow from the rates' }]
  }
  const sameVoices = found.mid.rates.length === receipt.rates.length
  if (!sameVoices) return [{ name: 'mid', ok: false, says: 'other rates had to be left out' }]
  const mid: ReceiptCheck = { name: 'mid', ok: true, says: `the median of ${receipt.rates.length} rates` }
  try {
    return [mid, ...amountChecks(receipt, priced(receipt, { over, under }))]
  } catch (error) {
    return [mid, { name: 'amounts', ok: false, says: `no such price can be: ${(error as Error).message}` }]
  }
}

function priced(receipt: Receipt, mid: { over: bigint; under: bigint }): Price {
  const { quote, asked, terms } = receipt
  // Asked by `to`, what was asked is what the recipient nets.
  const amount = asked === 'from' ? decimal(quote.from.amount) : less(decimal(quote.to.amount), decimal(quote.fee))
  const ppm = {
    spreadPpm: BigInt(terms.spreadPpm),
    feePpm: BigInt(terms.feePpm),
    collateralPpm: BigInt(terms.collateralPpm),
  }
  return priceOf(mid, { side: asked, amount }, ppm, quote.from, quote.to)
}

function amountChecks({ quote, rounding }: Receipt, price: Price): readonly ReceiptCheck[] {
  const check = (name: ReceiptCheck['name'], what: string, said: string, worked: Decimal): ReceiptCheck => {
    const ok = compare(decimal(said), worked) === 0
    return { name, ok, says: ok ? `${what} ${said}` : `${what} is ${said} and works out as ${formatDecimal(worked)}` }
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

const whole = (text: string): bigint => (/^\d{1,400}$/.test(text) ? BigInt(text) : 0n)

function less(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  const at = ({ digits, scale: own }: Decimal) => digits * 10n ** BigInt(scale - own)
  if (at(a) < at(b)) throw new Error('the fee is more than the amount')
  return { digits: at(a) - at(b), scale }
}

/** The form of the time has been checked. */
const toRate = ({ at, ...rate }: Receipt['rates'][number]): Rate => ({
  ...rate,
  atMs: readMoment(at, { zone: 'utc' }) as number,
})
