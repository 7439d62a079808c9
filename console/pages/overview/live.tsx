// The operator's part of the overview: live plots of requests, limits and ingest, and tables of sources and endpoints.
import { useEffect, useState } from 'react'
import type { Overview, SourceView } from '#api/console.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount, formatDuration } from '../../parts/format.ts'
import { Plot } from '../../parts/plot.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { addSample, emptyHistory, type History, toLines } from './history.ts'
import { stateOf } from './source-state.ts'

export function Live({ report }: { readonly report: Overview }) {
  const [history, setHistory] = useState<History>(emptyHistory)
  useEffect(() => setHistory((history) => addSample(history, report)), [report])
  const { xs, requests, refused, latency, ingest } = toLines(history)
  return (
    <>
      <div className="cards">
        <section className="card" aria-labelledby="requests">
          <h2 id="requests">Requests per second</h2>
          <Plot title="Requests per second, by interface" xs={xs} lines={requests} height={180} fromZero />
        </section>
        <section className="card" aria-labelledby="latency">
          <h2 id="latency">Response time, ms</h2>
          <Plot title="Mean response time in milliseconds" xs={xs} lines={latency} height={180} fromZero />
        </section>
        <section className="card" aria-labelledby="refused">
          <h2 id="refused">Rate-limited requests per second</h2>
          <Plot title="Rate-limited requests per second, by limit" xs={xs} lines={refused} height={180} fromZero />
        </section>
        <section className="card" aria-labelledby="ingest">
          <h2 id="ingest">Ingest per second</h2>
          <Plot title="Blocks, epochs and records read per second" xs={xs} lines={ingest} height={180} fromZero />
        </section>
      </div>
      <Sources sources={report.sources} />
      <Requests report={report} />
    </>
  )
}

function Sources({ sources }: { readonly sources: readonly SourceView[] }) {
  return (
    <section className="card" aria-labelledby="sources">
      <h2 id="sources">Sources</h2>
      {sources.length === 0 && (
        <p className="soft">No sources are configured. Add nodes, rate sources or feeds to tetrad.yaml.</p>
      )}
      <Scroll name="All sources">
        <table>
          <Columns of={['Source', 'Status', 'Last success', 'Latency', 'Details']} figures={['Latency']} />
          <tbody>
            {sources.map((source) => (
              <Source key={`${source.group} ${source.kind} ${source.name}`} source={source} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}

function Source({ source }: { readonly source: SourceView }) {
  const { group, kind, name, message, lastGoodAt, latencyMs } = source
  const { label, tone } = stateOf(source)
  return (
    <tr>
      <td>
        {name} <span className="soft small">{`${group} ${kind}`}</span>
      </td>
      <td>
        <span className={`badge status ${tone}`}>{label}</span>
      </td>
      <td>{lastGoodAt === null ? '–' : `${formatDuration((Date.now() - Date.parse(lastGoodAt)) / 1000)} ago`}</td>
      <td className="num">{latencyMs === null ? '–' : `${latencyMs.toFixed(0)} ms`}</td>
      <td className="soft">{message}</td>
    </tr>
  )
}

function Requests({ report }: { readonly report: Overview }) {
  const rows = [...report.requests].sort((a, b) => b.answered - a.answered)
  return (
    <section className="card" aria-labelledby="all-requests">
      <h2 id="all-requests">Requests since the server started</h2>
      <Scroll name="All requests">
        <table>
          <Columns of={['Endpoint', 'Responses', 'Mean time', 'Outcomes']} figures={['Responses', 'Mean time']} />
          <tbody>
            {rows.map(({ endpoint, answered, seconds, outcomes }) => (
              <tr key={endpoint}>
                <td className="mono">{endpoint}</td>
                <td className="num">{formatCount(answered)}</td>
                <td className="num">{answered === 0 ? '–' : `${((seconds / answered) * 1000).toFixed(1)} ms`}</td>
                <td className="soft small">
                  {Object.entries(outcomes)
                    .map(([outcome, count]) => `${outcome} ${formatCount(count)}`)
                    .join(', ')}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}
