// The mid of a pair: the median of the fresh rates of all sources, before any spread. Pure and exact.
//
// 1. Only fresh rates are used. A rate is not fresh if it is older than its source's limit, lies in the future, or is no
//    longer confirmed by its source (behaviour/fx.md#fresh-rates).
// 2. The median is computed in one orientation of the pair and inverted for the other. The mean of two inverses is not
//    the inverse of the mean, so computing it in both orientations would let a round trip gain.
// 3. Each source counts once per pair, with its newest rate in either orientation.
// 4. A rate with sides prices a taker who pays its base at the bid, and one who pays its quote at the ask. The same sources
//    count in both directions, so the median of the bids is never above the median of the asks.
// 5. Outliers are excluded. If no majority remains, there is no mid, and the pair is not crossed instead
//    (behaviour/fx.md#outliers).
import { openMs } from '#core/closed-hours.ts'
import { compareFractions, decimal, type Fraction, fractionOf, inverse, mean, product } from '#core/decimal.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { timingOf } from '#runtime/settings/fx-sources.ts'

/** According to `source`, one unit of `base` cost `rate` units of `quote` at `atMs`. */
export interface Rate {
  readonly source: string
  readonly base: string
  readonly quote: string
  /** Decimal text. */
  readonly rate: string
  readonly atMs: number
  /** Only with `ask`. `rate` is then their mean. */
  readonly bid?: string | undefined
  readonly ask?: string | undefined
}

export interface Sides {
  readonly bid: string
  readonly ask: string
}

/** Decimal texts; undefined if one price is that of both directions. */
export const sidesOf = ({ bid, ask }: Rate): Sides | undefined =>
  bid !== undefined && ask !== undefined ? { bid, ask } : undefined

export interface StoredRate extends Rate {
  /** When the source last returned this rate; `contradictedMs` if it then returned another one for the same time. */
  readonly confirmedMs: number
}

export const contradictedMs = 0

export interface Mid {
  /** Units of the second currency for one unit of the first. */
  readonly value: Fraction
  /** The rates it was computed from; empty for a currency against itself. */
  readonly rates: readonly Rate[]
  /** Fresh rates that were excluded as outliers. */
  readonly leftOut: readonly Rate[]
  /** The currency it was crossed through. */
  readonly via?: string
}

export interface MidRules {
  readonly crossVia: readonly string[]
  /** How far a rate may be from the median of the others, in parts per million. Undefined: no limit. */
  readonly outlierPpm?: bigint
}

export type MidResult =
  | { readonly is: 'mid'; readonly mid: Mid }
  /** No fresh rates connect the two currencies. */
  | { readonly is: 'none' }
  | { readonly is: 'disputed'; readonly rates: readonly Rate[] }

/** The age of a rate without the hours in which its source is closed. */
export function ageMs(rate: Rate, source: FxSource, nowMs: number): number {
  const { closed } = timingOf(source)
  return closed ? openMs(closed, rate.atMs, nowMs) : nowMs - rate.atMs
}

/** How far a source's clock may be ahead of ours: a rate from the future would stay fresh too long. */
export const aheadMaxMs = 30_000

/** Whether the source still returned this rate in one of the last few polls. */
export function isConfirmed({ confirmedMs }: StoredRate, source: FxSource, nowMs: number): boolean {
  const { confirmMs } = timingOf(source)
  return confirmMs === Number.POSITIVE_INFINITY || Math.abs(nowMs - confirmedMs) <= confirmMs
}

export function isFresh(rate: StoredRate, sources: readonly FxSource[], nowMs: number): boolean {
  const source = sources.find(({ id }) => id === rate.source)
  if (!source || rate.atMs > nowMs + aheadMaxMs || !isConfirmed(rate, source, nowMs)) return false
  const { staleMs } = timingOf(source)
  // The plain age is an upper bound of `ageMs` and cheaper to compute.
  return nowMs - rate.atMs <= staleMs || ageMs(rate, source, nowMs) <= staleMs
}

/** The mid of two currencies, from direct rates or through one common currency. */
export function findMid(fresh: readonly Rate[], from: string, to: string, rules: MidRules): MidResult {
  if (from === to) return { is: 'mid', mid: { value: { numerator: 1n, denominator: 1n }, rates: [], leftOut: [] } }
  const direct = directMid(fresh, from, to, rules.outlierPpm)
  return direct.is === 'none' ? crossMid(fresh, from, to, rules) : direct
}

function crossMid(fresh: readonly Rate[], from: string, to: string, rules: MidRules): MidResult {
  for (const via of rules.crossVia) {
    if (via === from || via === to) continue
    const firstLeg = directMid(fresh, from, via, rules.outlierPpm)
    const secondLeg = directMid(fresh, via, to, rules.outlierPpm)
    if (firstLeg.is === 'none' || secondLeg.is === 'none') continue
    if (firstLeg.is === 'disputed') return firstLeg
    if (secondLeg.is === 'disputed') return secondLeg
    const mid = {
      value: product(firstLeg.mid.value, secondLeg.mid.value),
      rates: [...firstLeg.mid.rates, ...secondLeg.mid.rates],
      leftOut: [...firstLeg.mid.leftOut, ...secondLeg.mid.leftOut],
      via,
    }
    return { is: 'mid', mid }
  }
  return { is: 'none' }
}

function directMid(fresh: readonly Rate[], from: string, to: string, outlierPpm: bigint | undefined): MidResult {
  const [first, second] = from < to ? [from, to] : [to, from]
  const candidates = latestPerSource(fresh, first, second)
  if (candidates.length === 0) return { is: 'none' }
  const accepted = outlierPpm === undefined ? candidates : dropOutliers(candidates, outlierPpm)
  if (accepted.length === 0) return { is: 'disputed', rates: candidates.map(({ rate }) => rate) }
  const mid = {
    value: from === first ? median(accepted.map(({ bid }) => bid)) : inverse(median(accepted.map(({ ask }) => ask))),
    rates: accepted.map(({ rate }) => rate),
    leftOut: candidates.filter((candidate) => !accepted.includes(candidate)).map(({ rate }) => rate),
  }
  return { is: 'mid', mid }
}

/** All prices are in the orientation of rule 2. */
interface SourceRate {
  readonly rate: Rate
  readonly value: Fraction
  readonly bid: Fraction
  readonly ask: Fraction
}

function latestPerSource(fresh: readonly Rate[], first: string, second: string): readonly SourceRate[] {
  const newest = new Map<string, Rate>()
  for (const rate of fresh) {
    if (!isBetween(rate, first, second)) continue
    const other = newest.get(rate.source)
    if (!other || rate.atMs > other.atMs || (rate.atMs === other.atMs && rate.base === first)) {
      newest.set(rate.source, rate)
    }
  }
  return [...newest.values()].map((rate) => toSourceRate(rate, first))
}

function toSourceRate(rate: Rate, first: string): SourceRate {
  const value = fractionOf(decimal(rate.rate))
  const sides = sidesOf(rate)
  const [bid, ask] = sides ? [fractionOf(decimal(sides.bid)), fractionOf(decimal(sides.ask))] : [value, value]
  return rate.base === first
    ? { rate, value, bid, ask }
    : { rate, value: inverse(value), bid: inverse(ask), ask: inverse(bid) }
}

const isBetween = ({ base, quote }: Rate, first: string, second: string): boolean =>
  (base === first && quote === second) || (base === second && quote === first)

/**
 * Removes the farthest rate until all others are within the limit. Rates that are equally far are removed together.
 * A single remaining rate is accepted only if it was the only candidate.
 */
function dropOutliers(candidates: readonly SourceRate[], outlierPpm: bigint): readonly SourceRate[] {
  const ratioMax = { numerator: 1_000_000n + outlierPpm, denominator: 1_000_000n }
  let accepted = candidates
  while (accepted.length > 1) {
    const distances = accepted.map((candidate) => distance(candidate, accepted))
    const farthest = distances.reduce((a, b) => (compareFractions(a, b) >= 0 ? a : b))
    if (compareFractions(farthest, ratioMax) <= 0) return accepted
    accepted = accepted.filter((_, at) => compareFractions(distances[at] as Fraction, farthest) < 0)
  }
  return candidates.length === 1 ? accepted : []
}

/** The ratio to the median of the others, as a number ≥ 1. For two rates it is the same in both orientations. */
function distance(candidate: SourceRate, candidates: readonly SourceRate[]): Fraction {
  const others = median(candidates.filter((other) => other !== candidate).map(({ value }) => value))
  return compareFractions(candidate.value, others) >= 0
    ? product(candidate.value, inverse(others))
    : product(others, inverse(candidate.value))
}

/** For an even count, the mean of the middle two. */
export function median(values: readonly Fraction[]): Fraction {
  const sorted = values.toSorted(compareFractions)
  const upper = sorted[sorted.length >> 1]
  const lower = sorted[(sorted.length - 1) >> 1]
  if (!upper || !lower) throw new Error('no values for a median')
  return upper === lower ? upper : mean(lower, upper)
}
