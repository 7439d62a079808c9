// The operator's part of the overview: live plots of requests, limits and ingest, and tables of sources and endpoints.
import { useEffect, useState } from 'preact/compat'
import type { Overview, RequestView, SourceView } from '#api/console.ts'
import { Card } from '../../parts/card.tsx'
import { formatCount, formatDuration } from '../../parts/format.ts'
import { Plot } from '../../parts/plot.tsx'
import { Table } from '../../parts/table.tsx'
import { addSample, emptyHistory, type History, toLines } from './history.ts'
import { ServerHistoryCard } from './server-history.tsx'
import { stateOf } from './source-state.ts'

const plots = [
  { id: 'requests', title: 'Requests per second', name: 'Requests per second, by interface' },
  { id: 'latency', title: 'Response time, ms', name: 'Mean response time in milliseconds' },
  { id: 'refused', title: 'Rate-limited requests per second', name: 'Rate-limited requests per second, by limit' },
  { id: 'ingest', title: 'Ingest per second', name: 'Blocks, epochs and records read per second' },
] as const

export function Live({ report }: { readonly report: Overview }) {
  const [history, setHistory] = useState<History>(emptyHistory)
  useEffect(() => setHistory((history) => addSample(history, report)), [report])
  const { xs, ...lines } = toLines(history)
  return (
    <>
      <ServerHistoryCard />
      <h2 className="spaced">Live: the last five minutes in this tab</h2>
      <div className="cards">
        {plots.map(({ id, title, name }) => (
          <Card key={id} id={id} title={title}>
            <Plot title={name} xs={xs} lines={lines[id]} height={180} fromZero />
          </Card>
        ))}
      </div>
      <Sources sources={report.sources} />
      <Requests report={report} />
    </>
  )
}

function Sources({ sources }: { readonly sources: readonly SourceView[] }) {
  return (
    <Card id="sources" title="Sources">
      {sources.length === 0 && (
        <p className="soft">No sources are configured. Add nodes, rate sources or feeds to tetrad.yaml.</p>
      )}
      <Table
        name="All sources"
        className="stacked"
        rows={sources}
        columns={[
          [
            'Source',
            ({ group, kind, name }) => (
              <>
                {name} <span className="soft small">{`${group} ${kind}`}</span>
              </>
            ),
          ],
          ['Status', (source) => <SourceBadge source={source} />],
          [
            'Last success',
            ({ lastGoodAt }) => (lastGoodAt === null ? '–' : `${formatDuration(secondsSince(lastGoodAt))} ago`),
          ],
          ['Latency', ({ latencyMs }) => (latencyMs === null ? '–' : `${latencyMs.toFixed(0)} ms`), 'num'],
          ['Details', ({ message }) => message, 'soft'],
        ]}
      />
    </Card>
  )
}

const secondsSince = (time: string): number => (Date.now() - Date.parse(time)) / 1000

function SourceBadge({ source }: { readonly source: SourceView }) {
  const { label, tone } = stateOf(source)
  return <span className={`badge status ${tone}`}>{label}</span>
}

function Requests({ report }: { readonly report: Overview }) {
  const rows = [...report.requests].sort((a, b) => b.answered - a.answered)
  return (
    <Card id="all-requests" title="Requests since the server started">
      <Table
        name="All requests"
        rows={rows}
        columns={[
          ['Endpoint', ({ endpoint }) => endpoint, 'mono'],
          ['Responses', ({ answered }) => formatCount(answered), 'num'],
          [
            'Mean time',
            ({ answered, seconds }) => (answered === 0 ? '–' : `${((seconds / answered) * 1000).toFixed(1)} ms`),
            'num',
          ],
          ['Outcomes', ({ outcomes }) => formatOutcomes(outcomes), 'soft small'],
        ]}
      />
    </Card>
  )
}

const formatOutcomes = (outcomes: RequestView['outcomes']): string =>
  Object.entries(outcomes)
    .map(([outcome, count]) => `${outcome} ${formatCount(count)}`)
    .join(', ')
