// Applies pricing rules to a quote. Pure and exact. A receipt has the rules that applied, with what they depend on, so that
// the same functions check them (behaviour/fx.md#pricing-rules).
//
// 1. A rule applies to both directions of its pairs. The size of a quote is that of the requested amount, at the mid if it
//    is in the other token.
// 2. Rules apply in the order of the settings. A later one replaces the spread and the skew of an earlier one.
// 3. A skew multiplies the price of its first token in one direction and divides it in the other. It depends on neither
//    size nor tenor. So at one time, the product of the rates of both directions is at most 1.
import type { ReceiptRule } from '#api/contract/wire/fx-extensions.ts'
import { isClosedAt, localDate } from '#core/closed-hours.ts'
import { compareFractions, decimal, type Fraction, fractionOf, inverse, product } from '#core/decimal.ts'
import type { FxRule, Tenor } from '#runtime/settings/fx-rules.ts'
import type { RequestedAmount } from './price.ts'
import { toPpm } from './resolve-offer.ts'

export interface RuledQuote {
  /** Codes of the tokens. */
  readonly from: string
  readonly to: string
  readonly tenor: Tenor
  readonly requested: RequestedAmount
  /** Units of `to` for one unit of `from`. */
  readonly mid: Fraction
  readonly atMs: number
}

/** The pair of a rule that a quote belongs to, as the rule writes it. Undefined: none. */
export const pairOfRule = ({ pairs }: FxRule, { from, to }: Pick<RuledQuote, 'from' | 'to'>): string | undefined =>
  pairs.find((pair) => pair === `${from}/${to}` || pair === `${to}/${from}`)

/** Whether a rule can apply to the pair at all. */
export const coversPair = (rule: FxRule, quote: Pick<RuledQuote, 'from' | 'to'>): boolean =>
  rule.pairs.length === 0 || pairOfRule(rule, quote) !== undefined

/** The rule as it is in a receipt, if it applies. `dates`: those of its file. */
export function applyRule(rule: FxRule, quote: RuledQuote, dates: readonly string[]): ReceiptRule | undefined {
  if (!coversPair(rule, quote)) return undefined
  const { id, tenors, minSize = null, when, spreadBps, skewBps } = rule
  const described: ReceiptRule = {
    id,
    pair: pairOfRule(rule, quote) ?? null,
    tenors,
    minSize,
    when: when ? { ...hoursOf(when), dates: datesAt(when.timeZone, [...when.dates, ...dates], quote.atMs) } : null,
    spreadPpm: spreadBps === undefined ? null : Number(toPpm(spreadBps)),
    skewPpm: skewBps === undefined ? null : Number(toPpm(skewBps)),
  }
  return appliesTo(described, quote) ? described : undefined
}

const hoursOf = ({ week, timeZone, holidays }: NonNullable<FxRule['when']>) => ({
  week: week ?? null,
  timeZone,
  holidays,
})

/** Only the date of the quote matters. */
function datesAt(timeZone: string, dates: readonly string[], atMs: number): string[] {
  const date = localDate(timeZone, atMs)
  return [...new Set(dates)].filter((one) => one === date || one === date.slice(5))
}

export function appliesTo({ pair, tenors, minSize, when }: ReceiptRule, quote: RuledQuote): boolean {
  if (pair !== null && pair !== `${quote.from}/${quote.to}` && pair !== `${quote.to}/${quote.from}`) return false
  if (tenors.length > 0 && !tenors.includes(quote.tenor)) return false
  if (when !== null) {
    const { week, ...hours } = when
    if (!isClosedAt({ ...hours, ...(week !== null && { week }) }, quote.atMs)) return false
  }
  return minSize === null || compareFractions(sizeIn(baseOf(pair), quote), fractionOf(decimal(minSize))) >= 0
}

export const baseOf = (pair: string | null): string => pair?.split('/')[0] ?? ''

/** Rule 1. `base` is one of the two tokens. */
export function sizeIn(base: string, { from, to, requested, mid }: RuledQuote): Fraction {
  const amount = fractionOf(requested.amount)
  if (base === (requested.side === 'from' ? from : to)) return amount
  return product(amount, requested.side === 'from' ? mid : inverse(mid))
}

export interface RuledTerms {
  readonly spreadPpm: bigint
  /** What the mid is multiplied by. */
  readonly skew: Fraction
}

/** Rules 2 and 3. */
export function combineRules(
  basicSpreadPpm: bigint,
  rules: readonly ReceiptRule[],
  { from }: Pick<RuledQuote, 'from'>,
): RuledTerms {
  const spread = rules.findLast(({ spreadPpm }) => spreadPpm !== null)?.spreadPpm
  const skewed = rules.findLast(({ skewPpm }) => skewPpm !== null)
  const factor = { numerator: 1_000_000n + BigInt(skewed?.skewPpm ?? 0), denominator: 1_000_000n }
  return {
    spreadPpm: spread == null ? basicSpreadPpm : BigInt(spread),
    skew: skewed && baseOf(skewed.pair) !== from ? inverse(factor) : factor,
  }
}
