// How rates arrive: one polling loop a source, each document refined and stored, each outcome logged and told; and
// whether what has arrived is enough to quote with.
import type { FxSource } from '#core/settings/fx.ts'
import { type PollOutcome, poll } from '#ingest/poll.ts'
import { fetchText } from '#io/fetch.ts'
import type { Desk } from '#serve/answer.ts'
import type { Finding } from '#serve/health.ts'
import { isFresh, midOf } from './mid.ts'
import { parseKeepingDigits, type Refusal, readRates } from './rate-document.ts'
import { allLatestRates, keepRates, ratesFresh, type SourceHealth } from './rate-store.ts'

const documentBytesMax = 1_048_576
const backoffMaxMs = 60_000
const reasonsLogged = 5

export type RateNotice = { readonly source: string } & (
  | { readonly is: 'kept'; readonly kept: number; readonly refused: readonly Refusal[] }
  | { readonly is: 'failed'; readonly failures: number; readonly reason: string }
)

type Polled = Awaited<ReturnType<typeof keepRates>>
type Tell = (notice: RateNotice) => void

/** Asks every source at its interval. Resolves when the signal has ended all loops. */
export async function startRates(desk: Desk, signal: AbortSignal, tell: Tell = () => {}): Promise<void> {
  await Promise.all(
    desk.settings.fx.sources.map((source) =>
      poll(
        desk,
        {
          everyMs: source.everyMs,
          // The fetch has its own limit; what remains of an attempt is a local write.
          timeoutMs: source.timeoutMs * 2,
          backoffMaxMs: Math.max(source.everyMs, backoffMaxMs),
          work: (stop) => askSource(desk, source, stop),
          report: (outcome) => tell(noticeOf(desk, source, outcome)),
        },
        signal,
      ),
    ),
  )
}

/** Asks every source once, so that a server can quote from its first request on. A source that fails is only logged. */
export async function primeRates(desk: Desk, signal: AbortSignal): Promise<void> {
  const failed = (error: unknown) => ({ is: 'failed', error, tookMs: 0, failures: 1 }) as const
  await Promise.all(
    desk.settings.fx.sources.map((source) =>
      askSource(desk, source, signal).catch((error) => noticeOf(desk, source, failed(error))),
    ),
  )
}

async function askSource(desk: Desk, source: FxSource, signal: AbortSignal): Promise<Polled> {
  const { timeoutMs } = source
  const headers = { accept: 'application/json' }
  const text = await fetchText(source.url, { timeoutMs, bytesMax: documentBytesMax, signal, headers })
  const receivedMs = desk.clock.now()
  const { rates, refused } = readRates(parsed(text), source, receivedMs)
  const { kept, refused: changed } = await keepRates(desk.state, source.id, rates, receivedMs)
  return { kept, refused: [...refused, ...changed] }
}

function parsed(text: string): unknown {
  try {
    return parseKeepingDigits(text)
  } catch (cause) {
    throw new Error('the source answered something that is not JSON', { cause })
  }
}

function noticeOf(desk: Desk, { id }: FxSource, outcome: PollOutcome<Polled>): RateNotice {
  if (outcome.is === 'failed') {
    const reason = outcome.error instanceof Error ? outcome.error.message : String(outcome.error)
    desk.log.warn({ source: id, failures: outcome.failures, reason }, 'rates could not be read')
    return { source: id, is: 'failed', failures: outcome.failures, reason }
  }
  const { kept, refused } = outcome.value
  if (outcome.failuresBefore > 0) desk.log.info({ source: id, failures: outcome.failuresBefore }, 'rates are back')
  if (refused.length > 0) {
    const reasons = refused.slice(0, reasonsLogged).map(({ about, reason }) => `${about}: ${reason}`)
    desk.log.warn({ source: id, refused: refused.length, reasons }, 'rates were refused')
  }
  return { source: id, is: 'kept', kept, refused }
}

const agesShown = 20

/** Decision 0029: ready when every currency of a token can be priced against the first one's; one stale source of several is no reason. */
export async function rateFindings(desk: Pick<Desk, 'state' | 'settings' | 'clock'>): Promise<readonly Finding[]> {
  const { fx, groups } = desk.settings
  if (!groups.fx.on || fx.sources.length === 0) return []
  const nowMs = desk.clock.now()
  const fresh = (await allLatestRates(desk.state)).filter((rate) => isFresh(rate, fx.sources, nowMs))
  const [first = '', ...others] = new Set(fx.tokens.map(({ tracks }) => tracks))
  const missing = others.filter((other) => !midOf(fresh, first, other, fx.crossVia))
  const ages = (await ratesFresh(desk)).slice(0, agesShown).map(ageText).join('; ')
  return [
    missing.length === 0
      ? { name: 'fx rates', ok: true, says: ages }
      : { name: 'fx rates', ok: false, says: `no fresh rate between ${first} and ${missing.join(', ')}: ${ages}` },
  ]
}

const ageText = ({ source, pair, ageMs, fresh }: SourceHealth): string =>
  pair === null ? `${source} has given no rate` : `${source} ${pair} ${ageMs} ms old${fresh ? '' : ', stale'}`
