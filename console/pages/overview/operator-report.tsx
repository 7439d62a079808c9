// The operator's part of the overview: the history of requests and data, and tables of sources and endpoints.
import type { Overview, RequestView, SourceView } from '#api/console.ts'
import { Card } from '../../parts/card.tsx'
import { formatCount, formatDuration } from '../../parts/format.ts'
import { Table } from '../../parts/table.tsx'
import { ServerHistoryCard } from './server-history.tsx'
import { stateOf } from './source-state.ts'

export const OperatorReport = ({ report }: { readonly report: Overview }) => (
  <>
    <ServerHistoryCard />
    <Sources sources={report.sources} />
    <Requests report={report} />
  </>
)

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
