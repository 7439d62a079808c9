// The health of rate sources: their rates, the age and status of each rate, and the last error. The polling server stores
// the result of each poll, so that commands can report it too.
import { formatAgeOf } from '#core/age.ts'
import type { FxSettings, FxSource } from '#runtime/settings/fx.ts'
import { mayPriceTrades, timingOf } from '#runtime/settings/fx-sources.ts'
import { describePasses, measurePasses, type StreamPasses } from '#shared/stream-passes.ts'
import type { State, StateReader } from '#storage/state.ts'
import type { RatesContext } from '../context.ts'
import { ageMs, contradictedMs, findMid, isConfirmed, isFresh, type StoredRate } from '../pricing/mid.ts'
import { outlierPpm } from '../pricing/resolve-offer.ts'
import type { Contradiction } from './plan-rates.ts'
import { allContradictions, allLatestRates } from './rate-store.ts'

export interface SourceStatus {
  readonly triedMs: number
  /** Null: no successful poll yet. */
  readonly goodMs: number | null
  /** Consecutive failures up to now. */
  readonly failures: number
  /** How long the last successful poll took. */
  readonly tookMs: number | null
  readonly reason: string | null
}

/**
 * - `used`: prices quotes
 * - `stale`: older than its source's limit, or in the future
 * - `unconfirmed`: its source no longer returns it
 * - `contradicted`: its source returned another price for the same time
 * - `outlier`: too far from the rates of other sources, or no majority agrees
 */
export type RateStatus = 'used' | 'stale' | 'unconfirmed' | 'contradicted' | 'outlier'

export interface RateHealth extends StoredRate {
  /** Without closed hours of the source; negative if the rate is ahead of our clock. */
  readonly ageMs: number
  readonly status: RateStatus
}

export interface SourceHealth {
  readonly source: FxSource
  readonly status: SourceStatus | undefined
  readonly rates: readonly RateHealth[]
  /** Pairs about which the source contradicts itself now. */
  readonly contradictions: readonly Contradiction[]
}

/** Whether it is polled as often as configured. */
export const measurePolls = ({ source, status }: SourceHealth): StreamPasses =>
  measurePasses(status?.tookMs ?? 0, timingOf(source).everyMs)

export const isContradictory = ({ contradictions }: SourceHealth): boolean => contradictions.length > 0

/** Every configured source, in the order of the configuration. */
export async function readSourceHealth({ state, settings, clock }: RatesContext): Promise<readonly SourceHealth[]> {
  const nowMs = clock.now()
  const latest = await allLatestRates(state)
  const statuses = await readStatuses(state)
  const contradictions = await allContradictions(state)
  return settings.fx.sources.map((source) => ({
    source,
    status: statuses.get(source.id),
    rates: latest
      .filter((rate) => rate.source === source.id)
      .map((rate) => ({
        ...rate,
        ageMs: ageMs(rate, source, nowMs),
        status: rateStatus(rate, latest, settings.fx, nowMs),
      })),
    contradictions: contradictions.filter(
      (one) => one.source === source.id && Math.abs(nowMs - one.seenMs) <= timingOf(source).confirmMs,
    ),
  }))
}

/** Every source and every stored rate, without URLs, which may contain secrets. */
export async function sourcesReport(context: RatesContext) {
  const health = await readSourceHealth(context)
  const known = new Set(health.map(({ source }) => source.id))
  const others = (await allLatestRates(context.state)).filter(({ source }) => !known.has(source))
  const nowMs = context.clock.now()
  return {
    sources: health.map(({ source: { id, kind }, status, rates, contradictions }) => ({
      source: id,
      kind,
      failures: status?.failures ?? 0,
      triedMs: status?.triedMs ?? null,
      goodMs: status?.goodMs ?? null,
      contradictions: contradictions.map(({ reason }) => reason),
      message: status?.reason ?? (rates.length === 0 ? 'no rate received' : null),
    })),
    rates: [
      ...health.flatMap(({ source, rates }) => {
        const sourceFields = { kind: source.kind as string, tradable: mayPriceTrades(source) }
        return rates.map((rate) => ({ ...rate, ...sourceFields }))
      }),
      // Their sources are no longer in the settings.
      ...others.map((rate) => ({
        ...rate,
        kind: '-',
        tradable: false,
        ageMs: nowMs - rate.atMs,
        status: 'not configured' as const,
      })),
    ],
  }
}

export function rateStatus(rate: StoredRate, latest: readonly StoredRate[], fx: FxSettings, nowMs: number): RateStatus {
  const source = fx.sources.find(({ id }) => id === rate.source)
  if (!isFresh(rate, fx.sources, nowMs)) {
    if (!source || isConfirmed(rate, source, nowMs)) return 'stale'
    return rate.confirmedMs === contradictedMs ? 'contradicted' : 'unconfirmed'
  }
  const fresh = latest.filter((other) => isFresh(other, fx.sources, nowMs))
  const result = findMid(fresh, rate.base, rate.quote, { crossVia: [], outlierPpm: outlierPpm(fx) })
  // The source may have a newer rate in the other orientation. This rate then does not count, but it is no outlier.
  if (result.is === 'mid') return result.mid.leftOut.some(({ source }) => source === rate.source) ? 'outlier' : 'used'
  return result.is === 'disputed' ? 'outlier' : 'stale'
}

async function readStatuses(state: StateReader): Promise<ReadonlyMap<string, SourceStatus>> {
  const rows = await state.all<SourceStatus & { source: string }>(
    `select source, tried_ms as "triedMs", good_ms as "goodMs", failures, took_ms as "tookMs", reason from fx_source_status`,
  )
  return new Map(rows.map(({ source, ...status }) => [source, status]))
}

const reasonCharsMax = 500

export async function writeStatus(state: State, source: string, status: SourceStatus): Promise<void> {
  const { triedMs, goodMs, failures, tookMs, reason } = status
  await state.write((tx) =>
    tx.run(
      `insert into fx_source_status (source, tried_ms, good_ms, failures, took_ms, reason) values (?, ?, ?, ?, ?, ?)
         on conflict (source) do update set tried_ms = excluded.tried_ms,
           good_ms = coalesce(excluded.good_ms, fx_source_status.good_ms),
           took_ms = coalesce(excluded.took_ms, fx_source_status.took_ms),
           failures = excluded.failures, reason = excluded.reason`,
      ...[source, triedMs, goodMs, failures, tookMs, reason?.slice(0, reasonCharsMax) ?? null],
    ),
  )
}

export const failedText = (failures: number): string =>
  failures === 1 ? 'failed once' : `failed ${failures} times in a row`

/** For readiness, which is public: error texts of sources stay in the log. */
export function healthText(health: SourceHealth): string {
  const { source, status, rates, contradictions } = health
  const polls = measurePolls(health)
  const late = polls.behind > 0 ? [`${source.id} ${describePasses(polls)}`] : []
  const failing = status && status.failures > 0 ? [`${source.id} ${failedText(status.failures)}`] : []
  const pairs = contradictions.map(({ pair }) => pair.replace('/', ' and '))
  const contradicting = pairs.length > 0 ? [`${source.id} ${contradictsText(pairs)}`] : []
  const ages = rates.map(({ base, quote, ageMs: age, status: rateStatus }) => {
    const note = rateStatus === 'used' ? '' : `, ${rateStatus}`
    return `${source.id} ${base}/${quote} ${formatAgeOf(age)}${note}`
  })
  const received = rates.length > 0 ? ages : [`${source.id}: no rate received`]
  return [...contradicting, ...late, ...received, ...failing].join('; ')
}

const pairsShown = 5

function contradictsText(pairs: readonly string[]): string {
  const more = pairs.length > pairsShown ? ` and ${pairs.length - pairsShown} more` : ''
  return `contradicts itself about the rate between ${pairs.slice(0, pairsShown).join(', ')}${more}`
}
