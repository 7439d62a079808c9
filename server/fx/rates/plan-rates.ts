// Decides what to store of one poll: new rates, confirmations, corrections and contradictions. Pure.
//
// 1. The latest rate of a pair only moves forward in time. A latest rate in the future was stored while the clock was
//    wrong; any current rate replaces it.
// 2. A source contradicts itself if it has two prices for one pair and time, in one document or in two polls. Nothing
//    shows which price is true, so none of them is used.
// 3. A contradiction ends with a newer time, or when two polls in a row return the same prices for its time. The latest
//    rate is then confirmed or corrected. Rates of earlier times are skipped.
import { aheadMaxMs, type Rate, type StoredRate } from '../pricing/mid.ts'
import type { RejectedRate } from './rate-document.ts'
import { groupStatements, priceText, type Statement } from './statements.ts'

/** The newest contradiction of a source about two currencies. */
export interface Contradiction {
  /** In alphabetical order: `EUR/USD`. */
  readonly pair: string
  readonly atMs: number
  /** The prices that the source returned last for this time. */
  readonly text: string
  readonly reason: string
}

export interface KnownRates {
  readonly latest: readonly StoredRate[]
  readonly contradictions: readonly Contradiction[]
}

export interface RatePlan {
  readonly newRates: readonly Rate[]
  /** Latest rates that the source returned again. */
  readonly confirmed: readonly Rate[]
  /** They replace the latest rate of the same time. */
  readonly corrected: readonly Rate[]
  /** New ones, and those that last. */
  readonly contradictions: readonly Contradiction[]
  /** Pairs whose contradiction has ended. */
  readonly settled: readonly string[]
  readonly rejected: readonly RejectedRate[]
}

/** The statements must be of one document, oldest first. */
export function planRates(
  statements: readonly Statement[],
  known: KnownRates,
  receivedMs: number,
  tolerancePpm: bigint,
): RatePlan {
  const latest = new Map(known.latest.filter(isPast).map((rate) => [labelOf(rate), rate as Rate]))
  const open = new Map(known.contradictions.filter(isPast).map((contradiction) => [contradiction.pair, contradiction]))
  const [newRates, corrected, rejected]: [Rate[], Rate[], RejectedRate[]] = [[], [], []]
  const confirmed = new Map<string, Rate>()
  const contradictions = new Map<string, Contradiction>()
  const settled = new Set<string>()

  function isPast({ atMs }: { readonly atMs: number }): boolean {
    return atMs <= receivedMs + aheadMaxMs
  }
  function contradict({ pair, atMs, text }: Statement, { about, reason }: RejectedRate): void {
    rejected.push({ about, reason })
    const contradiction = { pair, atMs, text, reason: `${about}: ${reason}` }
    open.set(pair, contradiction)
    contradictions.set(pair, contradiction)
  }
  /** The rates that were stored for the same time count as if they were in the document. */
  function conflictWithLatest({ atMs, rates }: Statement): RejectedRate | undefined {
    const stored = rates.flatMap(({ base, quote }) => [latest.get(`${base}/${quote}`), latest.get(`${quote}/${base}`)])
    const sameTime = stored.filter((rate) => rate?.atMs === atMs) as Rate[]
    return groupStatements([...sameTime, ...rates], tolerancePpm)[0]?.conflict
  }
  function accept(rate: Rate): void {
    const label = labelOf(rate)
    const before = latest.get(label)
    if (before && rate.atMs < before.atMs) return
    if (before && rate.atMs === before.atMs && priceText(rate) === priceText(before)) {
      confirmed.set(label, before)
      return
    }
    if (before?.atMs === rate.atMs) corrected.push(rate)
    else newRates.push(rate)
    confirmed.delete(label)
    latest.set(label, rate)
  }

  for (const statement of statements) {
    const before = open.get(statement.pair)
    if (before && statement.atMs < before.atMs) continue
    const conflict =
      statement.conflict ??
      (before?.atMs === statement.atMs ? findChange(before, statement) : conflictWithLatest(statement))
    if (conflict) {
      contradict(statement, conflict)
      continue
    }
    for (const rate of statement.rates) accept(rate)
    if (before) settled.add(statement.pair)
  }
  for (const pair of contradictions.keys()) settled.delete(pair)
  return {
    ...{ newRates, corrected, rejected, confirmed: [...confirmed.values()] },
    ...{ contradictions: [...contradictions.values()], settled: [...settled] },
  }
}

const labelOf = ({ base, quote }: Rate): string => `${base}/${quote}`

/** Rule 3: the prices must be those of the poll before. */
function findChange(before: Contradiction, { pair, atMs, text }: Statement): RejectedRate | undefined {
  if (text === before.text) return undefined
  return { about: pair, reason: `the source returned ${before.text}, then ${text} for ${new Date(atMs).toISOString()}` }
}
