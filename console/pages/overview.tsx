// What is running and how well: for everybody what /readyz and /coverage tell, for the operator also who asks, how fast
// data comes in and how the sources are.
import { useQuery } from '@tanstack/react-query'
import type { Overview as Report, StreamView } from '#api/console.ts'
import { groups } from '#api/routes.ts'
import { read } from '../door.ts'
import { operator } from '../operator.ts'
import { Answer } from '../parts/answer.tsx'
import { CoverageBar } from '../parts/coverage-bar.tsx'
import { useChainName } from '../parts/use-chains.ts'
import { count, span } from '../parts/words.ts'
import { usePass } from '../pass.tsx'
import { hrefOf } from '../place.ts'
import { Live } from './overview/live.tsx'

const everyMs = 2000

interface Standing {
  readonly streams: readonly StreamView[]
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly says: string }[]
}

/** What anybody may ask. */
async function standing(): Promise<Standing> {
  // Not ready is an answer, too.
  const [{ streams }, { checks }] = await Promise.all([
    read<Pick<Standing, 'streams'>>('/coverage'),
    read<Pick<Standing, 'checks'>>('/readyz', [503]),
  ])
  return { streams, checks }
}

export function Overview() {
  const { session, known } = usePass()
  const report = useQuery({
    queryKey: ['overview', session.signedIn],
    queryFn: (): Promise<Standing & Partial<Report>> => (session.signedIn ? operator.overview() : standing()),
    refetchInterval: everyMs,
    enabled: known,
  })
  return (
    <>
      <h1>Overview</h1>
      <p className="lead">
        Four interfaces from your own nodes and feeds: how fresh and how complete the data behind them is.
      </p>
      <Answer of={report}>
        {(found) => (
          // Whoever does not answer any more is neither ready nor well.
          <div className={report.isError ? 'past' : ''}>
            {!report.isError && <Verdict report={found} />}
            <div className="cards">
              {groups.map((group) => (
                <GroupCard key={group} group={group} report={found} />
              ))}
            </div>
            {isWhole(found) ? <Live report={found} /> : <Visitor />}
          </div>
        )}
      </Answer>
    </>
  )
}

const isWhole = (report: Standing & Partial<Report>): report is Report => report.requests !== undefined

function Verdict({ report }: { readonly report: Standing & Partial<Report> }) {
  const wrong = report.checks.filter(({ ok }) => !ok)
  return (
    <section className="card" aria-labelledby="verdict">
      <div className="spread">
        <h2 id="verdict" className={wrong.length === 0 ? 'good' : 'bad'}>
          {wrong.length === 0
            ? 'Ready: all checks pass'
            : `Not ready: ${wrong.length} of ${report.checks.length} checks fail`}
        </h2>
        {report.startedAt && report.at && (
          <span className="soft small">
            version {report.version}, running for {span((Date.parse(report.at) - Date.parse(report.startedAt)) / 1000)},
            on {report.engine}
          </span>
        )}
      </div>
      {wrong.length > 0 && <Checks checks={wrong} />}
      <details>
        <summary>All {report.checks.length} checks</summary>
        <Checks checks={report.checks} />
      </details>
    </section>
  )
}

function Checks({ checks }: Pick<Standing, 'checks'>) {
  return (
    <dl className="facts">
      {checks.map(({ name, ok, says }) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd className={ok ? '' : 'bad'}>{says}</dd>
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
  readonly report: Standing & Partial<Report>
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

function Stream({ stream, report }: { readonly stream: StreamView; readonly report: Standing & Partial<Report> }) {
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
            {count(stream.read)} of {count(stream.until - stream.from)} read
            {stream.holesCount > 0 && (
              <span className="bad">
                , {count(stream.holesCount)} {stream.holesCount === 1 ? 'hole' : 'holes'}
              </span>
            )}
            .{' '}
          </>
        )}
        {stream.ageSeconds === null ? 'Age not known.' : `Newest data ${span(Math.max(0, stream.ageSeconds))} old.`}
        {progress && progress.done > 0 && (
          <>
            {' '}
            {progress.perSecond.toFixed(progress.perSecond < 10 ? 2 : 0)} {progress.unit}/s
            {progress.etaSeconds !== null && progress.etaSeconds > 0 && `, ${span(progress.etaSeconds)} to go`}.
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

function Visitor() {
  return (
    <div className="note">
      Requests, limits and the health of sources are the operator's to see: sign in with the link that is printed when
      the server starts in a terminal, or by <code>tetrad console link</code>.
    </div>
  )
}
