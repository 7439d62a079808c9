// What the doctor says about a source whose rates are not fresh. Who can mend it differs: whoever sets rates by hand, whoever
// runs the server, or the source's owner.
import { ageText, formatAgeOf } from '#core/age.ts'
import { failedText, type SourceHealth } from '#fx/rates/source-health.ts'
import { timingOf } from '#runtime/settings/fx-sources.ts'
import { badFinding, type DoctorFinding, warnFinding } from './diagnosis.ts'

/** A server writes at least once a minute how a source is doing, or as often as it asks; beyond three times that nobody asks. */
const statusEveryMs = 60_000
const roundsMissed = 3

export function rateAdvice(name: string, { source, status, rates }: SourceHealth, nowMs: number): DoctorFinding {
  const { everyMs, staleMs } = timingOf(source)
  const text = (ms: number) => ageText(Math.round(ms / 1000))
  const newestMs = rates.length > 0 ? Math.min(...rates.map(({ ageMs }) => ageMs)) : undefined
  const newest = newestMs === undefined ? 'it has given no rate yet' : `its newest rate is ${formatAgeOf(newestMs)}`
  if (source.kind === 'push') {
    const [last] = rates
    const pair = last ? `${last.base}/${last.quote}` : 'EUR/USD'
    const todo = `set one: tetrad fx rate set ${pair} … --source ${source.id}`
    // Never set is how the operator left it; set and gone stale is what somebody forgot.
    return last
      ? badFinding(name, `is stale: ${newest}, and one that is set counts for ${text(staleMs)}`, todo)
      : warnFinding(name, 'no rate has been set yet', todo)
  }
  if (!status || nowMs - status.triedMs > roundsMissed * Math.max(everyMs, statusEveryMs)) {
    const since = status ? `for ${text(nowMs - status.triedMs)}` : 'yet'
    return badFinding(
      name,
      `no server has asked it ${since}; ${newest}`,
      `let the server run: tetrad serve; it asks every ${text(everyMs)}`,
    )
  }
  if (status.failures > 0) {
    const message = `${failedText(status.failures)}: ${status.reason ?? 'no reason is known'}; ${newest}`
    return badFinding(name, message, 'check the address of the source, and whether it answers')
  }
  if (status.reason !== null) {
    return badFinding(
      name,
      `answers, and its rates are refused: ${status.reason}; ${newest}`,
      'check fx.sources[].document',
    )
  }
  const gone = rates.filter(({ standing }) => standing === 'unconfirmed')
  if (gone.length > 0) {
    const pairs = gone.map(({ base, quote, confirmedMs }) => `${base}/${quote} for ${text(nowMs - confirmedMs)}`)
    return badFinding(name, `has not given ${pairs.join(', ')}`, 'check whether the source still offers these pairs')
  }
  const todo = 'ask whoever runs the source; if it speaks so seldom, raise its staleMs'
  return badFinding(name, `answers, and has nothing new: ${newest}, and counts for ${text(staleMs)}`, todo)
}
