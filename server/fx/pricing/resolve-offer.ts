// Decides for a quote whether a pair is offered, and on which terms: spread, fee, collateral and bounds of the amount.
// They are the defaults of the tenor, unless the settings of the pair say otherwise. Basis points are converted to
// parts per million, so that every allowed value is an integer (behaviour/fx.md#basis-points).
import { type Decimal, decimal, unitsOf } from '#core/decimal.ts'
import type { FxSettings, FxToken } from '#runtime/settings/fx.ts'
import type { Tenor } from '#runtime/settings/fx-rules.ts'

export const maturitySeconds: Readonly<Record<Tenor, number>> = { instant: 1800, hourly: 3600, daily: 86_400 }

export interface Terms {
  readonly spreadPpm: bigint
  readonly feePpm: bigint
  readonly collateralPpm: bigint
}

export interface Offer extends Terms {
  readonly from: FxToken
  readonly to: FxToken
  /** Bounds of the `from` amount, both included (behaviour/fx.md#amount-range). */
  readonly min: Decimal
  readonly max: Decimal
}

/**
 * Undefined if a currency is unknown or the pair is not offered. Two tokens that track the same currency trade at par
 * without any rate, so they are offered only if the pair is configured (behaviour/fx.md#offered-pairs).
 */
export function resolveOffer(fx: FxSettings, fromCode: string, toCode: string, tenor: Tenor): Offer | undefined {
  const from = fx.tokens.find(({ code }) => code === fromCode)
  const to = fx.tokens.find(({ code }) => code === toCode)
  const pair = fx.pairs.find((known) => known.from === fromCode && known.to === toCode)
  if (!from || !to || !(pair ? pair.offered : from.tracks !== to.tracks)) return undefined
  const terms = { ...fx.terms[tenor], ...pair?.[tenor] }
  return {
    from,
    to,
    spreadPpm: toPpm(terms.spreadBps),
    feePpm: toPpm(terms.feeBps),
    collateralPpm: toPpm(terms.collateralBps),
    min: decimal(pair?.min ?? fx.limits.min),
    max: decimal(pair?.max ?? fx.limits.max),
  }
}

/** One basis point is a hundred parts per million. */
export const toPpm = (basisPoints: number | string): bigint => {
  const text = String(basisPoints)
  const ppm = unitsOf(decimal(text.replace(/^-/, '')), 2, 'down')
  return text.startsWith('-') ? -ppm : ppm
}

/** How far a rate may be from the median of the others. */
export const outlierPpm = (fx: FxSettings): bigint => toPpm(fx.outlierBps)
