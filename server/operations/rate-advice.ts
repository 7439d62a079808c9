// Doctor findings about rate sources without fresh rates or with contradictions. The advice depends on who can fix it: whoever sets rates by
// hand, the operator of the server, or the owner of the source.
import { ageText, formatAgeOf } from '#core/age.ts'
import { failedText, type SourceHealth } from '#fx/rates/source-health.ts'
import { timingOf } from '#runtime/settings/fx-sources.ts'
import { type DoctorFinding, failFinding, warnFinding } from './diagnosis.ts'

/**
 * A server stores the status of a source with every poll, but at least once a minute. After three missed ones, no
 * server polls.
 */
const statusEveryMs = 60_000
const roundsMissed = 3
const contradictionsShown = 3

export function rateAdvice(
  name: string,
  { source, status, rates, contradictions }: SourceHealth,
  nowMs: number,
): DoctorFinding {
  const { everyMs, staleMs } = timingOf(source)
  const text = (ms: number) => ageText(Math.round(ms / 1000))
  const newestMs = rates.length > 0 ? Math.min(...rates.map(({ ageMs }) => ageMs)) : undefined
  const newest = newestMs === undefined ? 'no rate received yet' : `the newest rate is ${formatAgeOf(newestMs)}`
  if (source.kind === 'push') {
    const [last] = rates
    const pair = last ? `${last.base}/${last.quote}` : 'EUR/USD'
    const todo = `set one: tetrad fx rate set ${pair} … --source ${source.id}`
    // A rate that was never set is only a warning: the source may not be in use.
    return last
      ? failFinding(name, `stale: ${newest}; a rate is valid for ${text(staleMs)}`, todo)
      : warnFinding(name, 'no rate has been set yet', todo)
  }
  // A poll in the future was not recent: the clock was set back since.
  if (!status || Math.abs(nowMs - status.triedMs) > roundsMissed * Math.max(everyMs, statusEveryMs)) {
    const since = status ? `polls it: the last poll is ${formatAgeOf(nowMs - status.triedMs)}` : 'has polled it yet'
    return failFinding(
      name,
      `no server ${since}; ${newest}`,
      `run the server: tetrad serve; it polls every ${text(everyMs)}`,
    )
  }
  if (contradictions.length > 0) {
    const reasons = contradictions.slice(0, contradictionsShown).map(({ reason }) => reason)
    const pairs = contradictions.length === 1 ? 'a pair' : `${contradictions.length} pairs`
    const message = `contradicts itself about ${pairs}: ${reasons.join('; ')}`
    return failFinding(name, message, 'ask the owner of the source; check fx.sources[].document and pair')
  }
  if (status.failures > 0) {
    const message = `${failedText(status.failures)}: ${status.reason ?? 'reason unknown'}; ${newest}`
    return failFinding(name, message, 'check the URL of the source and whether it responds')
  }
  if (status.reason !== null) {
    return failFinding(name, `its rates are rejected: ${status.reason}; ${newest}`, 'check fx.sources[].document')
  }
  const unconfirmed = rates.filter(({ status }) => status === 'unconfirmed')
  if (unconfirmed.length > 0) {
    const pairs = unconfirmed.map(({ base, quote, confirmedMs }) => `${base}/${quote} for ${text(nowMs - confirmedMs)}`)
    return failFinding(
      name,
      `no rate received for ${pairs.join(', ')}`,
      'check that the server is running, and that the source still offers these pairs',
    )
  }
  const todo = 'ask the owner of the source; if it publishes rarely, raise its staleMs'
  return failFinding(name, `responds without new rates: ${newest}; a rate is valid for ${text(staleMs)}`, todo)
}
