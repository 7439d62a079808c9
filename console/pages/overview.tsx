// What is running and how well: for everybody what /readyz and /coverage tell, for the operator also who asks, how fast
// data comes in and how the sources are.
import { useQuery } from '@tanstack/react-query'
import type { Overview as Report, StreamView } from '#api/console.ts'
import { groups } from '#api/routes.ts'
import { readJson } from '../http.ts'
import { operator } from '../operator.ts'
import { CoverageBar } from '../parts/coverage-bar.tsx'
import { formatCount, formatDuration } from '../parts/format.ts'
import { QueryResult } from '../parts/query-result.tsx'
import { useChainName } from '../parts/use-chains.ts'
import { hrefOf } from '../route.ts'
import { useConsoleContext } from '../session.tsx'
import { Live } from './overview/live.tsx'

const everyMs = 2000

interface PublicStatus {
  readonly streams: readonly StreamView[]
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly message: string }[]
}

/** What anybody may ask. */
async function fetchPublicStatus(): Promise<PublicStatus> {
  // Not ready is an answer, too.
  const [{ streams }, { checks }] = await Promise.all([
    readJson<Pick<PublicStatus, 'streams'>>('/coverage'),
    readJson<Pick<PublicStatus, 'checks'>>('/readyz', [503]),
  ])
  return { streams, checks }
}

export function Overview() {
  const { session, known } = useConsoleContext()
  const report = useQuery({
    queryKey: ['overview', session.signedIn],
    queryFn: (): Promise<PublicStatus & Partial<Report>> =>
      session.signedIn ? operator.overview() : fetchPublicStatus(),
    refetchInterval: everyMs,
    enabled: known,
  })
  return (
    <>
      <h1>Overview</h1>
      <p className="lead">
        Four interfaces from your own nodes and feeds: how fresh and how complete the data behind them is.
      </p>
      <QueryResult of={report}>
        {(found) => (
          // Whoever does not answer any more is neither ready nor well.
          <div className={report.isError ? 'past' : ''}>
            {!report.isError && <Verdict report={found} />}
            <div className="cards">
              {groups.map((group) => (
                <GroupCard key={group} group={group} report={found} />
              ))}
            </div>
            {isOperatorReport(found) ? <Live report={found} /> : <SignInHint />}
          </div>
        )}
      </QueryResult>
    </>
  )
}

const isOperatorReport = (report: PublicStatus & Partial<Report>): report is Report => report.requests !== undefined

function Verdict({ report }: { readonly report: PublicStatus & Partial<Report> }) {
  const failed = report.checks.filter(({ ok }) => !ok)
  return (
    <section className="card" aria-labelledby="verdict">
      <div className="spread">
        <h2 id="verdict" className={failed.length === 0 ? 'good' : 'bad'}>
          {failed.length === 0
            ? 'Ready: all checks pass'
            : `Not ready: ${failed.length} of ${report.checks.length} checks fail`}
        </h2>
        {report.startedAt && report.at && (
          <span className="soft small">
            version {report.version}, running for{' '}
            {formatDuration((Date.parse(report.at) - Date.parse(report.startedAt)) / 1000)}, on {report.engine}
          </span>
        )}
      </div>
      {failed.length > 0 && <Checks checks={failed} />}
      <details>
        <summary>All {report.checks.length} checks</summary>
        <Checks checks={report.checks} />
      </details>
    </section>
  )
}

function Checks({ checks }: Pick<PublicStatus, 'checks'>) {
  return (
    <dl className="facts">
      {checks.map(({ name, ok, message }) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd className={ok ? '' : 'bad'}>{message}</dd>
        </div>
      ))}
    </dl>
  )
}

const titles = {
  explorer: 'Explorer',
  fx: 'FX',
  validators: 'Validators',
  markets: 'Markets',
} as const

function GroupCard({
  group,
  report,
}: {
  readonly group: (typeof groups)[number]
  readonly report: PublicStatus & Partial<Report>
}) {
  const streams = report.streams.filter((one) => one.group === group)
  return (
    <section className="card" aria-labelledby={`group-${group}`}>
      <h2 id={`group-${group}`}>
        <a href={hrefOf(group)}>{titles[group]}</a>
      </h2>
      {streams.length === 0 && <p className="soft">Nothing is configured for it.</p>}
      {streams.map((stream) => (
        <Stream key={stream.name} stream={stream} report={report} />
      ))}
    </section>
  )
}

function Stream({ stream, report }: { readonly stream: StreamView; readonly report: PublicStatus & Partial<Report> }) {
  const chainName = useChainName()
  const chain = stream.group === 'explorer' ? /^chain (\d+)$/.exec(stream.name)?.[1] : undefined
  const progress = report.ingest?.find(({ group, stream: name }) => group === stream.group && name === stream.name)
  return (
    <div className="stream">
      <div className="spread">
        <strong>{chain === undefined ? stream.name : chainName(chain)}</strong>
        <span className={`badge ${tones[stream.standing]}`}>{stream.standing}</span>
      </div>
      {stream.from !== null && stream.until !== null && <CoverageBar stream={stream} />}
      <p className="soft small">
        {stream.read !== null && stream.from !== null && stream.until !== null && (
          <>
            {formatCount(stream.read)} of {formatCount(stream.until - stream.from)} read
            {stream.holesCount > 0 && (
              <span className="bad">
                , {formatCount(stream.holesCount)} {stream.holesCount === 1 ? 'hole' : 'holes'}
              </span>
            )}
            .{' '}
          </>
        )}
        {stream.ageSeconds === null
          ? 'Age not known.'
          : `Newest data ${formatDuration(Math.max(0, stream.ageSeconds))} old.`}
        {progress && progress.done > 0 && (
          <>
            {' '}
            {progress.perSecond.toFixed(progress.perSecond < 10 ? 2 : 0)} {progress.unit}/s
            {progress.etaSeconds !== null &&
              progress.etaSeconds > 0 &&
              `, ${formatDuration(progress.etaSeconds)} to go`}
            .
          </>
        )}
      </p>
    </div>
  )
}

const tones: Readonly<Record<StreamView['standing'], string>> = {
  well: 'good',
  'catching up': 'warn',
  stale: 'bad',
  holes: 'bad',
  'on demand': '',
  'not followed': '',
}

function SignInHint() {
  return (
    <div className="note">
      Requests, limits and the health of sources are the operator's to see: sign in with the link that is printed when
      the server starts in a terminal, or by <code>tetrad console link</code>.
    </div>
  )
}
