// The overview page: readiness and coverage for everyone (/readyz, /coverage), and for the operator also ingest
// rates, problems of sources and the history (/console/overview, /console/history).
import { useQuery } from '@tanstack/preact-query'
import type { Overview as Report, StreamView } from '#api/console.ts'
import { groups } from '#api/routes.ts'
import { readJson } from '../http.ts'
import { operator } from '../operator.ts'
import { Card } from '../parts/card.tsx'
import { CoverageBar } from '../parts/coverage-bar.tsx'
import { Facts } from '../parts/facts.tsx'
import { formatCount, formatDuration } from '../parts/format.ts'
import { QueryResult } from '../parts/query-result.tsx'
import { SignInHelp } from '../parts/sign-in-help.tsx'
import { useChainName } from '../parts/use-chains.ts'
import { hrefOf } from '../route.ts'
import { useConsoleContext } from '../session.tsx'
import { groupTitles } from '../titles.ts'
import { ServerHistoryCard } from './overview/server-history.tsx'

const refreshMs = 2000

type PublicStatus = Pick<Report, 'streams' | 'checks'>
/** With a session, everything is reported. */
type Status = PublicStatus & Partial<Report>

/** What the overview shows without a session. */
async function fetchPublicStatus(): Promise<PublicStatus> {
  // /readyz returns its checks with status 503 while the server is not ready.
  const [{ streams }, { checks }] = await Promise.all([
    readJson<Pick<PublicStatus, 'streams'>>('/coverage'),
    readJson<Pick<PublicStatus, 'checks'>>('/readyz', [503]),
  ])
  return { streams, checks }
}

export function Overview() {
  const { session, isReady } = useConsoleContext()
  const report = useQuery({
    queryKey: ['overview', session.signedIn],
    queryFn: (): Promise<Status> => (session.signedIn ? operator.overview() : fetchPublicStatus()),
    refetchInterval: refreshMs,
    enabled: isReady,
  })
  return (
    <>
      <h1>Overview</h1>
      <p className="lead">Whether the server is ready, and how fresh and complete its data is.</p>
      <QueryResult of={report}>
        {(data) => (
          // A server that no longer responds must not be shown as ready or healthy.
          <div className={report.isError ? 'past' : ''}>
            {!report.isError && <Readiness report={data} />}
            <div className="cards">
              {groups.map((group) => (
                <GroupCard key={group} group={group} report={data} />
              ))}
            </div>
            {session.signedIn ? (
              <ServerHistoryCard />
            ) : (
              <div className="note">
                Sign in to see requests and errors of sources. <SignInHelp />
              </div>
            )}
          </div>
        )}
      </QueryResult>
    </>
  )
}

function Readiness({ report }: { readonly report: Status }) {
  const failed = report.checks.filter(({ ok }) => !ok)
  const isReady = failed.every(({ required }) => required === false)
  return (
    <section className="card" aria-labelledby="readiness">
      <div className="spread">
        <h2 id="readiness" className={isReady ? 'good' : 'bad'}>
          {isReady ? 'Ready' : 'Not ready'}:{' '}
          {failed.length === 0 ? 'all checks pass' : `${failed.length} of ${report.checks.length} checks fail`}
        </h2>
        {report.startedAt && report.at && (
          <span className="soft small">
            Version {report.version}, running for{' '}
            {formatDuration((Date.parse(report.at) - Date.parse(report.startedAt)) / 1000)}, database: {report.engine}
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
  const textOf = ({ ok, message }: (typeof checks)[number]) => (ok ? message : <span className="bad">{message}</span>)
  return <Facts of={Object.fromEntries(checks.map((check) => [check.name, textOf(check)]))} />
}

function GroupCard({ group, report }: { readonly group: (typeof groups)[number]; readonly report: Status }) {
  const streams = report.streams.filter((stream) => stream.group === group)
  return (
    <Card id={`group-${group}`} title={<a href={hrefOf(group)}>{groupTitles[group]}</a>}>
      {streams.length === 0 && (
        <p className="soft">Nothing is configured. Add a source in tetrad.yaml or import a file.</p>
      )}
      {streams.map((stream) => (
        <Stream key={stream.name} stream={stream} />
      ))}
    </Card>
  )
}

interface StreamProps {
  readonly stream: StreamView
}

function Stream({ stream }: StreamProps) {
  const chainName = useChainName()
  const chain = stream.group === 'explorer' ? /^chain (\d+)$/.exec(stream.name)?.[1] : undefined
  return (
    <div className="stream">
      <div className="spread">
        <strong>{chain === undefined ? stream.name : chainName(chain)}</strong>
        <span className={`badge ${tones[stream.status]}`}>{stream.status}</span>
      </div>
      {stream.status === 'on demand' ? (
        <p className="soft small">The node is searched on request. Nothing is read ahead of time.</p>
      ) : (
        <StreamProgress stream={stream} />
      )}
      {stream.nodes === 'disagree' && (
        <p className="bad small">The nodes disagree, so nothing is stored. Run `tetrad doctor` for their names.</p>
      )}
      {stream.nodes === 'not compared' && (
        <p className="soft small">Not all nodes could be compared with each other.</p>
      )}
      {stream.problem !== undefined && <p className="bad small">{stream.problem}</p>}
      <GapReasons stream={stream} />
    </div>
  )
}

function StreamProgress({ stream }: StreamProps) {
  const { done = 0, perSecond = 0, unit, remaining } = stream.progress ?? {}
  return (
    <>
      {stream.from !== null && stream.until !== null && <CoverageBar stream={stream} />}
      <p className="soft small">
        {stream.read !== null && stream.from !== null && stream.until !== null && (
          <>
            {formatCount(stream.read)} of {formatCount(stream.until - stream.from)} {unitOf(stream)} read
            {stream.gapsCount > 0 && (
              <span className="bad">
                , {formatCount(stream.gapsCount)} {stream.gapsCount === 1 ? 'gap' : 'gaps'}
              </span>
            )}
            .{' '}
          </>
        )}
        {stream.ageSeconds !== null && `Newest data ${formatDuration(Math.max(0, stream.ageSeconds))} old.`}
        {done > 0 && (
          <>
            {' '}
            {perSecond.toFixed(perSecond < 10 ? 2 : 0)} {unit}/s
            {remaining && perSecond > 0 ? `, ${formatDuration(Math.ceil(remaining / perSecond))} remaining` : ''}.
          </>
        )}
      </p>
    </>
  )
}

/** Only blocks and epochs have a range. */
const unitOf = ({ group }: StreamView): string => (group === 'explorer' ? 'blocks' : 'epochs')

const reasonsShown = 3

/** Why blocks or epochs are missing, the newest first. */
function GapReasons({ stream }: StreamProps) {
  const explained = stream.gaps.filter(({ reason }) => reason !== undefined).slice(-reasonsShown)
  if (explained.length === 0) return null
  return (
    <ul className="small">
      {explained.toReversed().map(({ from, until, reason }) => (
        <li key={from}>
          {stream.group === 'explorer' ? 'Blocks' : 'Epochs'} {formatCount(from)} to {formatCount(until - 1)} are
          missing: {reason}. To fill the gap, add a node that{' '}
          {stream.group === 'explorer' ? 'can trace them' : 'has these states'}.
        </li>
      ))}
    </ul>
  )
}

const tones: Readonly<Record<StreamView['status'], string>> = {
  healthy: 'good',
  'catching up': 'warn',
  stale: 'bad',
  gaps: 'bad',
  'on demand': '',
  'not syncing': '',
}
