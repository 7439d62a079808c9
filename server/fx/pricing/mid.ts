// The mid of a pair: what the fresh sources agree on, before any spread. Pure and exact.
//
// 1. Only rates that are fresh by their own source's limits come in; an old price never goes out, nor one from the future,
//    nor one that its source has stopped confirming (behaviour/fx.md#fresh-rates).
// 2. The median is taken in one orientation of the pair and inverted for the other. The mean of two inverses is not the
//    inverse of the mean, so taking it both ways would let a round trip gain.
// 3. Each source has one voice per pair: its newest rate, in whichever orientation it was given.
// 4. A voice far from the others is left out. Where the rest cannot outvote it there is no mid, and no cross instead:
//    somebody is wrong, and nobody knows who (behaviour/fx.md#outliers).
import { openMs } from '#core/closed-hours.ts'
import { compareFractions, decimal, type Fraction, fractionOf, inverse, mean, product } from '#core/decimal.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { timingOf } from '#runtime/settings/fx-sources.ts'

/** One unit of `base` costs `rate` units of `quote`, said `source` at `atMs`. */
export interface Rate {
  readonly source: string
  readonly base: string
  readonly quote: string
  /** Decimal text. */
  readonly rate: string
  readonly atMs: number
}

export interface StoredRate extends Rate {
  /** When the source last gave this very rate. */
  readonly confirmedMs: number
}

export interface Mid {
  /** Units of the second currency for one unit of the first. */
  readonly value: Fraction
  /** What it rests on; empty for a currency against itself. */
  readonly rates: readonly Rate[]
  /** Fresh, but too far from the others. */
  readonly leftOut: readonly Rate[]
  /** The currency it was crossed through. */
  readonly via?: string
}

export interface MidRules {
  readonly crossVia: readonly string[]
  /** How far a voice may be from the median of the others, in parts per million; left out: any distance. */
  readonly outlierPpm?: bigint
}

export type MidResult =
  | { readonly is: 'mid'; readonly mid: Mid }
  /** Nothing fresh connects the two. */
  | { readonly is: 'none' }
  | { readonly is: 'disputed'; readonly rates: readonly Rate[] }

/** Age by the source's own hours: what is closed does not age. */
export function ageMs(rate: Rate, source: FxSource, nowMs: number): number {
  const { closed } = timingOf(source)
  return closed ? openMs(closed, rate.atMs, nowMs) : nowMs - rate.atMs
}

/** How far a source's clock may be ahead of ours. A rate from the future would stay fresh too long (behaviour/fx.md#fresh-rates). */
export const aheadMaxMs = 30_000

/** Whether the source gave it again within the last few times it was asked. The time of a rate alone does not show that. */
export function isConfirmed({ confirmedMs }: StoredRate, source: FxSource, nowMs: number): boolean {
  const { confirmMs } = timingOf(source)
  return confirmMs === Number.POSITIVE_INFINITY || Math.abs(nowMs - confirmedMs) <= confirmMs
}

export function isFresh(rate: StoredRate, sources: readonly FxSource[], nowMs: number): boolean {
  const source = sources.find(({ id }) => id === rate.source)
  if (!source || rate.atMs > nowMs + aheadMaxMs || !isConfirmed(rate, source, nowMs)) return false
  const { staleMs } = timingOf(source)
  // The plain age is an upper bound of the other, and costs nothing.
  return nowMs - rate.atMs <= staleMs || ageMs(rate, source, nowMs) <= staleMs
}

/** The mid, if the fresh rates connect the two, directly or through one common currency. */
export function findMid(fresh: readonly Rate[], from: string, to: string, rules: MidRules): MidResult {
  if (from === to) return { is: 'mid', mid: { value: { numerator: 1n, denominator: 1n }, rates: [], leftOut: [] } }
  const [first, second] = from < to ? [from, to] : [to, from]
  const direct = directMid(fresh, first, second, rules.outlierPpm)
  const found = direct.is === 'none' ? crossMid(fresh, first, second, rules) : direct
  if (found.is !== 'mid' || from === first) return found
  return { is: 'mid', mid: { ...found.mid, value: inverse(found.mid.value) } }
}

function crossMid(fresh: readonly Rate[], first: string, second: string, rules: MidRules): MidResult {
  const legRules = { ...rules, crossVia: [] }
  for (const via of rules.crossVia) {
    if (via === first || via === second) continue
    const firstLeg = findMid(fresh, first, via, legRules)
    const secondLeg = findMid(fresh, via, second, legRules)
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

function directMid(fresh: readonly Rate[], first: string, second: string, outlierPpm: bigint | undefined): MidResult {
  const candidates = latestPerSource(fresh, first, second)
  if (candidates.length === 0) return { is: 'none' }
  const accepted = outlierPpm === undefined ? candidates : dropOutliers(candidates, outlierPpm)
  if (accepted.length === 0) return { is: 'disputed', rates: candidates.map(({ rate }) => rate) }
  const mid = {
    value: median(accepted.map(({ value }) => value)),
    rates: accepted.map(({ rate }) => rate),
    leftOut: candidates.filter((candidate) => !accepted.includes(candidate)).map(({ rate }) => rate),
  }
  return { is: 'mid', mid }
}

interface SourceRate {
  readonly rate: Rate
  /** In the pair's one orientation. */
  readonly value: Fraction
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
  return [...newest.values()].map((rate) => {
    const value = fractionOf(decimal(rate.rate))
    return { rate, value: rate.base === first ? value : inverse(value) }
  })
}

const isBetween = ({ base, quote }: Rate, first: string, second: string): boolean =>
  (base === first && quote === second) || (base === second && quote === first)

/**
 * The voices that are left when the farthest has been sent out, again and again until all are near enough. Two that are
 * equally far go together. One voice alone is believed only if it never had company.
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

/** How many times as large as the median of the others, or as small: the same in both orientations of two voices. */
function distance(candidate: SourceRate, candidates: readonly SourceRate[]): Fraction {
  const others = median(candidates.filter((other) => other !== candidate).map(({ value }) => value))
  return compareFractions(candidate.value, others) >= 0
    ? product(candidate.value, inverse(others))
    : product(others, inverse(candidate.value))
}

/** Of an even count, the mean of the middle two. */
export function median(values: readonly Fraction[]): Fraction {
  const sorted = values.toSorted(compareFractions)
  const upper = sorted[sorted.length >> 1]
  const lower = sorted[(sorted.length - 1) >> 1]
  if (!upper || !lower) throw new Error('the median of nothing')
  return upper === lower ? upper : mean(lower, upper)
}
