// Applies the pricing rules of the settings to an offer, or refuses the quote.

import type { ReceiptRule } from '#api/contract/wire/fx-extensions.ts'
import { isClosedAt } from '#core/closed-hours.ts'
import { decimal, divide } from '#core/decimal.ts'
import { Fault } from '#core/fault.ts'
import type { FxSettings } from '#runtime/settings/fx.ts'
import type { FxRule } from '#runtime/settings/fx-rules.ts'
import { timingOf } from '#runtime/settings/fx-sources.ts'
import type { FxContext } from '../context.ts'
import { readDates } from './dates-file.ts'
import { type HourLimit, sizePlaces } from './hour-limit.ts'
import type { Mid } from './mid.ts'
import type { QuoteInput } from './quote-input.ts'
import type { Offer } from './resolve-offer.ts'
import { applyRule, baseOf, combineRules, coversPair, type RuledQuote, type RuledTerms, sizeIn } from './rules.ts'

export interface RuledOffer extends Offer, RuledTerms {
  /** Before rules. */
  readonly basicSpreadPpm: bigint
  /** Those that applied. */
  readonly rules: readonly ReceiptRule[]
  readonly hourLimit?: HourLimit | undefined
}

/** Throws a fault if a rule stops the quote, or its rates are of closed hours without a spread of their own. */
export async function applyRules(
  context: FxContext,
  basic: Offer,
  quote: RuledQuote,
  { type, mid }: { readonly type: QuoteInput['type']; readonly mid: Mid },
): Promise<RuledOffer> {
  const { fx } = context.settings
  const applied: { readonly rule: FxRule; readonly described: ReceiptRule }[] = []
  for (const rule of fx.rules) {
    const file = coversPair(rule, quote) ? rule.when?.file : undefined
    const described = applyRule(rule, quote, file === undefined ? [] : await readDates(context, file))
    if (described) applied.push({ rule, described })
  }
  const stopped = applied.find(({ rule }) => rule.stop)
  if (stopped) throw new Fault('fx.stopped', { detail: `${quote.from}/${quote.to}: rule ${stopped.rule.id}` })
  const hasClosedSpread = applied.some(({ described }) => described.when !== null && described.spreadPpm !== null)
  if (type === 'tradable' && !hasClosedSpread && hasClosedSource(fx, mid, quote.atMs)) {
    throw new Fault('fx.stopped', {
      message: 'The market of this pair is closed. There are only reference quotes.',
      detail: `${quote.from}/${quote.to}: a source is closed, and no rule with when and spreadBps applies`,
    })
  }
  const rules = applied.map(({ described }) => described)
  const limited = type === 'tradable' ? applied.findLast(({ rule }) => rule.maxPerHour !== undefined) : undefined
  return {
    ...basic,
    ...combineRules(basic.spreadPpm, rules, quote),
    basicSpreadPpm: basic.spreadPpm,
    rules,
    hourLimit: limited && toHourLimit(limited.rule, limited.described, quote),
  }
}

function hasClosedSource(fx: FxSettings, { rates }: Mid, atMs: number): boolean {
  const ids = new Set(rates.map(({ source }) => source))
  return fx.sources.some((source) => {
    const { closed } = timingOf(source)
    return ids.has(source.id) && closed !== undefined && isClosedAt(closed, atMs)
  })
}

function toHourLimit({ id, maxPerHour = '0' }: FxRule, { pair }: ReceiptRule, quote: RuledQuote): HourLimit {
  const currency = baseOf(pair)
  const { numerator, denominator } = sizeIn(currency, quote)
  const size = divide(numerator * 10n ** BigInt(sizePlaces), denominator, 'up')
  return { rule: id, currency, max: decimal(maxPerHour), size }
}
