// The status page for the operator: the problems of the server with their remedies, how fresh and complete its data is
// (/readyz, /coverage), and with a session also ingest rates, errors of sources and the history (/console/overview,
// /console/history).
import { useQuery } from '@tanstack/preact-query'
import { groups } from '#api/contract/routes.ts'
import type { Overview as Report } from '#shared/console-calls.ts'
import { readJson } from '../http.ts'
import { operator } from '../operator.ts'
import { Card } from '../parts/card.tsx'
import { Facts } from '../parts/facts.tsx'
import { formatDuration } from '../parts/format.ts'
import { QueryResult } from '../parts/query-result.tsx'
import { SignInHelp } from '../parts/sign-in-help.tsx'
import { hrefOf } from '../route.ts'
import { useConsoleContext } from '../session.tsx'
import { groupTitles } from '../titles.ts'
import { findProblems, isReady, type Problem } from './overview/problems.ts'
import { ServerHistoryCard } from './overview/server-history.tsx'
import { Stream, useStreamName } from './overview/stream.tsx'

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
  const isDemo = session.demoKey !== undefined
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
        {(data) => {
          const examples = isDemo ? data.streams.filter(isExampleOfGap) : []
          const status = { ...data, streams: data.streams.filter((stream) => !examples.includes(stream)) }
          return (
            // A server that no longer responds must not be shown as ready or healthy.
            <div className={report.isError ? 'past' : ''}>
              {!report.isError && <Verdict status={status} />}
              <div className="cards quad">
                {groups.map((group) => (
                  <GroupCard key={group} group={group} report={status} />
                ))}
              </div>
              {examples.length > 0 && <ExamplesOfGaps streams={examples} />}
              {session.signedIn ? (
                <ServerHistoryCard />
              ) : (
                <div className="note">
                  Sign in to see requests and errors of sources. <SignInHelp />
                </div>
              )}
            </div>
          )
        }}
      </QueryResult>
    </>
  )
}

/** The demo has a chain with a gap on purpose, and no node that could fill it. */
const isExampleOfGap = ({ status, gapsCount }: Status['streams'][number]): boolean =>
  status === 'not syncing' && gapsCount > 0

function ExamplesOfGaps({ streams }: Pick<Status, 'streams'>) {
  return (
    <Card id="examples" title="Example of a gap">
      <p className="small soft">
        The demo leaves these blocks out on purpose, to show how missing data looks. Answers that depend on them say
        that they are incomplete. On your server, a gap is listed at the top of this page with its remedy.
      </p>
      {streams.map((stream) => (
        <Stream key={stream.name} stream={stream} />
      ))}
    </Card>
  )
}

function Verdict({ status }: { readonly status: Status }) {
  const nameOf = useStreamName()
  const problems = findProblems(status, nameOf)
  const ready = isReady(status)
  const tone = problems.some((problem) => problem.tone === 'bad') ? 'bad' : problems.length > 0 ? 'warn' : 'good'
  return (
    <section className="card verdict" aria-labelledby="readiness">
      <div className="spread">
        <h2 id="readiness" className={tone}>
          {headline(ready, problems)}
        </h2>
        {status.startedAt && status.at && (
          <span className="soft small">
            Version {status.version}, running for{' '}
            {formatDuration((Date.parse(status.at) - Date.parse(status.startedAt)) / 1000)}, database: {status.engine}
          </span>
        )}
      </div>
      {problems.length > 0 && <Problems problems={problems} />}
      <details>
        <summary>All {status.checks.length} checks</summary>
        <Checks checks={status.checks} />
      </details>
    </section>
  )
}

function headline(ready: boolean, problems: readonly Problem[]): string {
  if (problems.length === 0) return 'Ready, and all data is up to date'
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  if (!ready) return `Not ready: ${count}`
  return problems.every(({ tone }) => tone === 'warn')
    ? `Ready, with ${count.replace('problem', 'notice')}`
    : `Ready, with ${count}`
}

function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  return (
    <ul className="problems">
      {problems.map(({ tone, subject, text, remedy }) => (
        <li key={`${subject} ${text}`} className={`note ${tone}`}>
          <strong>{subject}.</strong> {text} <span className="soft">{remedy}</span>
        </li>
      ))}
    </ul>
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
