// The plot of a comparison, with one line per validator, pool or operator, and its table, with one row each.
import { useMemo } from 'preact/compat'
import type { AggregateRecord } from '#api/wire/validators.ts'
import { formatCount, formatUnits } from '../../parts/format.ts'
import { Plot } from '../../parts/plot.tsx'
import { Table } from '../../parts/table.tsx'
import { type ChainClock, unixOf } from './chain-clock.ts'
import { decimal, none, rating, share, slots } from './figures.tsx'
import { alignRecords, assignRecords, type RecordsBySubject, type Subject, subjectNames } from './side-by-side.ts'

export const measures = ['effectiveness', 'uptime', 'correctness', 'delay'] as const
export type Measure = (typeof measures)[number]

export const measureLabels: Readonly<Record<Measure, string>> = {
  effectiveness: 'Effectiveness',
  uptime: 'Uptime',
  correctness: 'Correctness',
  delay: 'Inclusion delay',
}

interface MeasureFormat {
  readonly figure: (record: AggregateRecord) => number | null
  readonly format: (value: number) => string
}

const measureFormats: Readonly<Record<Measure, MeasureFormat>> = {
  effectiveness: { figure: ({ validatorEffectiveness }) => validatorEffectiveness ?? null, format: rating },
  uptime: { figure: ({ uptime }) => uptime ?? null, format: share },
  correctness: { figure: ({ avgCorrectness }) => avgCorrectness ?? null, format: share },
  delay: { figure: ({ avgInclusionDelay }) => avgInclusionDelay ?? null, format: slots },
}

interface ComparedProps {
  readonly subjects: readonly Subject[]
  readonly records: RecordsBySubject
}

interface LinesProps extends ComparedProps {
  readonly measure: Measure
  readonly clock: ChainClock
  readonly windows: string
}

export function ComparisonPlot({ subjects, records, measure, clock, windows }: LinesProps) {
  const { figure, format } = measureFormats[measure]
  const { xs, lines } = useMemo(() => {
    const names = subjectNames(subjects)
    const { epochs, values } = alignRecords(assignRecords(subjects, records), names, figure)
    return {
      xs: epochs.map((epoch) => unixOf(clock, epoch)),
      lines: names.map((label, at) => ({ label, values: values[at] ?? [] })),
    }
  }, [subjects, records, figure, clock])
  if (xs.length === 0) return <p className="note">No duties in these days. Choose an earlier or a longer range.</p>
  return (
    <Plot
      key={measure}
      title={`${measureLabels[measure]} per ${windows}: ${lines.map(({ label }) => label).join(', ')}`}
      xs={xs}
      lines={lines}
      height={280}
      format={format}
    />
  )
}

type Column = readonly [title: string, format: (record: AggregateRecord) => string]

const formatCountOrDash = (value: number | bigint | undefined): string =>
  value === undefined ? none : formatCount(value)
const formatAmountOrDash = (value: number | bigint | undefined): string =>
  value === undefined ? none : formatUnits(value, 9, 9)
const formatRatingOrDash = (value: number | undefined): string => (value === undefined ? none : value.toFixed(2))

const columns: readonly Column[] = [
  ['Effectiveness', ({ validatorEffectiveness }) => formatRatingOrDash(validatorEffectiveness)],
  ['Attester', ({ attesterEffectiveness }) => formatRatingOrDash(attesterEffectiveness)],
  ['Uptime', (record) => share(record.uptime)],
  ['Correctness', (record) => share(record.avgCorrectness)],
  ['Delay, slots', (record) => decimal(record.avgInclusionDelay)],
  ['Missed votes', (record) => formatCountOrDash(record.sumMissedAttestations)],
  [
    'Blocks',
    (record) => `${formatCountOrDash(record.proposedCount)} of ${formatCountOrDash(record.proposerDutiesCount)}`,
  ],
  ['Penalties, ETH', (record) => formatAmountOrDash(record.estimatedPenalties)],
  ['Balance change, ETH', (record) => formatAmountOrDash(record.earnings)],
]

const titles = columns.map(([title]) => title)

export function TotalsTable({ subjects, records }: ComparedProps) {
  const rows = assignRecords(subjects, records)
  return (
    <Table
      name="Totals of the range"
      className="tight stacked"
      columns={[subjects[0]?.name === undefined ? 'Validator' : 'Name', ...titles]}
      figures={titles}
    >
      {subjects.flatMap((subject) =>
        subjectNames([subject]).map((name) => (
          <Row
            key={name}
            name={name}
            href={subject.hrefOf(name)}
            record={rows.find((row) => row.name === name)?.record}
          />
        )),
      )}
    </Table>
  )
}

interface RowProps {
  readonly name: string
  readonly href: string
  readonly record: AggregateRecord | undefined
}

function Row({ name, href, record }: RowProps) {
  return (
    <tr>
      <th scope="row">
        <a href={href}>{name}</a>
      </th>
      {record ? (
        columns.map(([title, format]) => (
          <td key={title} className="num" data-label={title}>
            {format(record)}
          </td>
        ))
      ) : (
        <td colSpan={columns.length} className="soft">
          No duties in these days
        </td>
      )}
    </tr>
  )
}
