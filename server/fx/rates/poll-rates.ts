// Polls every rate source in a loop of its own, stores its rates and reports each poll. Also reports readiness: whether
// the stored rates suffice to quote every configured currency.
import { errorMessage } from '#core/error-message.ts'
import type { Finding } from '#http/health.ts'
import { logOutcome, type PollOutcome, poll } from '#ingest/poll.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { mayPriceTrades, timingOf } from '#runtime/settings/fx-sources.ts'
import type { FxContext, RatesContext } from '../context.ts'
import { findMid, isFresh } from '../pricing/mid.ts'
import { outlierPpm } from '../pricing/resolve-offer.ts'
import type { RejectedRate } from './rate-document.ts'
import { allLatestRates, storeRates, storeRules } from './rate-store.ts'
import { healthText, isContradictory, rateStatus, readSourceHealth, writeStatus } from './source-health.ts'
import { openRateReader, type RateReader } from './sources.ts'

const backoffMaxMs = 60_000
/** A failing source is retried at least this many times while its last rate is fresh. */
const backoffPart = 6
const reasonsLogged = 5
/** An unchanged status is written again after this time. */
const statusEveryMs = 60_000

export type RatePollReport = { readonly source: string } & (
  | ({ readonly is: 'stored' } & RatePollResult)
  | { readonly is: 'failed'; readonly failures: number; readonly reason: string }
)

interface RatePollResult {
  /** How many rates were new. */
  readonly stored: number
  readonly rejected: readonly RejectedRate[]
}
type OnRatePoll = (report: RatePollReport) => void

/** Polls every source at its interval. Resolves when the signal has stopped all loops. */
export async function startRates(
  context: FxContext,
  signal: AbortSignal,
  onPoll: OnRatePoll = () => {},
): Promise<void> {
  await Promise.all(
    context.settings.fx.sources.map((source) => {
      const reader = openRateReader(source, context.settings.fx, context.clock)
      return reader && pollSource(context, source, reader, signal, onPoll)
    }),
  )
}

async function pollSource(
  context: FxContext,
  source: FxSource,
  reader: RateReader,
  signal: AbortSignal,
  onPoll: OnRatePoll,
): Promise<void> {
  const { everyMs, staleMs } = timingOf(source)
  const statusWriter = createStatusWriter(context, source)
  await poll(
    context,
    {
      everyMs,
      // The reader has its own timeout; the rest of an attempt is a local write.
      timeoutMs: source.timeoutMs * 2,
      backoffMaxMs: Math.max(everyMs, Math.min(backoffMaxMs, Math.floor(staleMs / backoffPart))),
      work: (stop) => readSource(context, source, reader, stop),
      report: (outcome) => {
        const pollReport = toPollReport(context, source, outcome)
        statusWriter.record(pollReport, outcome.tookMs)
        onPoll(pollReport)
      },
    },
    signal,
  )
  await statusWriter.flushed()
}

/** One poll: reads the source and stores its rates. */
export async function readSource(
  context: FxContext,
  source: FxSource,
  reader: RateReader,
  signal: AbortSignal,
): Promise<RatePollResult> {
  const { rates, rejected } = await reader(signal)
  const { state, clock, provenTime, settings } = context
  const result = await storeRates(state, source.id, rates, clock.now(), storeRules(settings.fx, provenTime))
  return { stored: result.stored, rejected: [...rejected, ...result.rejected] }
}

function toPollReport(context: FxContext, { id }: FxSource, outcome: PollOutcome<RatePollResult>): RatePollReport {
  const texts = { failed: 'rates could not be read', recovered: 'rates are readable again' }
  logOutcome(context, outcome, { source: id }, texts)
  if (outcome.is === 'failed')
    return { source: id, is: 'failed', failures: outcome.failures, reason: errorMessage(outcome.error) }
  const { stored, rejected } = outcome.value
  if (rejected.length > 0) {
    const reasons = rejected.slice(0, reasonsLogged).map(({ about, reason }) => `${about}: ${reason}`)
    context.log.warn({ source: id, rejected: rejected.length, reasons }, 'rates rejected')
  }
  return { source: id, is: 'stored', stored, rejected }
}

/** Stores the status of one source, and logs once when one of its rates becomes an outlier and when that ends. */
function createStatusWriter({ state, settings, clock, log }: FxContext, { id: source }: FxSource) {
  const outliers = new Set<string>()
  let lastText: string | undefined
  let writtenMs = Number.NEGATIVE_INFINITY
  let last: Promise<void> = Promise.resolve()

  async function write(pollReport: RatePollReport, tookMs: number): Promise<void> {
    const nowMs = clock.now()
    const failures = pollReport.is === 'failed' ? pollReport.failures : 0
    const reason = rejectionReason(pollReport)
    const text = `${failures}/${reason}`
    const tickMs = clock.monotonicMs()
    if (text !== lastText || tickMs - writtenMs >= statusEveryMs) {
      const success = pollReport.is === 'stored' ? { goodMs: nowMs, tookMs } : { goodMs: null, tookMs: null }
      await writeStatus(state, source, { triedMs: nowMs, failures, reason, ...success })
      lastText = text
      writtenMs = tickMs
    }
    if (pollReport.is === 'stored' && pollReport.stored > 0) await logOutliers(nowMs)
  }

  async function logOutliers(nowMs: number): Promise<void> {
    const latest = await allLatestRates(state)
    for (const rate of latest.filter((other) => other.source === source)) {
      const pair = `${rate.base}/${rate.quote}`
      const isOutlier = rateStatus(rate, latest, settings.fx, nowMs) === 'outlier'
      if (isOutlier === outliers.has(pair)) continue
      if (isOutlier) {
        outliers.add(pair)
        log.warn({ source, pair, rate: rate.rate }, 'rate excluded as an outlier')
      } else {
        outliers.delete(pair)
        log.info({ source, pair, rate: rate.rate }, 'rate is no longer an outlier')
      }
    }
  }

  return {
    record(pollReport: RatePollReport, tookMs: number): void {
      last = last
        .then(() => write(pollReport, Math.round(tookMs)))
        .catch((error) => log.warn({ source, reason: errorMessage(error) }, 'source status could not be stored'))
    },
    flushed: () => last,
  }
}

function rejectionReason(pollReport: RatePollReport): string | null {
  if (pollReport.is === 'failed') return pollReport.reason
  const [first] = pollReport.rejected
  return first ? `${first.about}: ${first.reason}` : null
}

const sourcesShown = 20

/** Ready if every currency can be priced against the first one, even if some sources are stale. */
export async function rateFindings(context: RatesContext): Promise<readonly Finding[]> {
  const { fx, groups } = context.settings
  if (!groups.fx.enabled || fx.sources.length === 0) return []
  const nowMs = context.clock.now()
  const latest = await allLatestRates(context.state)
  const rules = { crossVia: fx.crossVia, outlierPpm: outlierPpm(fx) }
  const [first = '', ...others] = new Set(fx.tokens.map(({ tracks }) => tracks))
  const describeMissing = (
    sources: readonly FxSource[],
    texts: Readonly<Record<'none' | 'disputed', string>>,
  ): string => {
    const fresh = latest.filter((rate) => isFresh(rate, sources, nowMs))
    const results = others.map((other) => ({ other, is: findMid(fresh, first, other, rules).is }))
    const describe = (is: 'none' | 'disputed') => {
      const missing = results.filter((result) => result.is === is).map(({ other }) => other)
      return missing.length === 0 ? [] : [`${texts[is]} between ${first} and ${missing.join(', ')}`]
    }
    return [...describe('none'), ...describe('disputed')].join('; ')
  }
  const health = await readSourceHealth(context)
  // Before the others, so that the limit does not hide them.
  const shown = [...health.filter(isContradictory), ...health.filter((one) => !isContradictory(one))]
  const ages = shown.slice(0, sourcesShown).map(healthText).join('; ')
  const missing = describeMissing(fx.sources, {
    none: 'no fresh rate',
    disputed: 'sources disagree on the rate',
  })
  if (missing !== '') return [{ name: 'fx rates', ok: false, message: `${missing}: ${ages}` }]
  // Still ready, because reference quotes work (behaviour/fx.md#tradable-sources).
  const tradable = {
    none: 'no rate for tradable quotes',
    disputed: 'sources for tradable quotes disagree on the rate',
  }
  const missingForTrades = fx.spender === '' ? '' : describeMissing(fx.sources.filter(mayPriceTrades), tradable)
  return [{ name: 'fx rates', ok: true, message: missingForTrades === '' ? ages : `${missingForTrades}: ${ages}` }]
}
