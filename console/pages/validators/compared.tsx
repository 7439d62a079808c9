// What a comparison shows: a plot with a line for each, and a table with a row for each.
import { useMemo } from 'react'
import type { AggregateRecord } from '#api/wire/validators.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount, formatUnits } from '../../parts/format.ts'
import { Plot } from '../../parts/plot.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { type ChainClock, unixOf } from './chain-clock.ts'
import { decimal, none, rating, share, slots } from './figures.tsx'
import { aligned, assignRecords, type Subjects, subjectNames } from './side-by-side.ts'

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
  readonly subjects: Subjects
  /** Of the first party, and of the second if there is one. */
  readonly records: readonly AggregateRecord[]
  readonly others: readonly AggregateRecord[] | undefined
}

interface LinesProps extends ComparedProps {
  readonly measure: Measure
  readonly clock: ChainClock
  readonly windows: string
}

export function ComparisonPlot({ subjects, records, others, measure, clock, windows }: LinesProps) {
  const { figure, format } = measureFormats[measure]
  const { xs, lines } = useMemo(() => {
    const names = subjectNames(subjects)
    const { epochs, values } = aligned(assignRecords(subjects, records, others), names, figure)
    return {
      xs: epochs.map((epoch) => unixOf(clock, epoch)),
      lines: names.map((label, at) => ({ label, values: values[at] ?? [] })),
    }
  }, [subjects, records, others, figure, clock])
  if (xs.length === 0)
    return <p className="note">No duties are known in these days. Choose an earlier or a longer range.</p>
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

type Column = readonly [title: string, shown: (record: AggregateRecord) => string]

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
  ['Delay', (record) => decimal(record.avgInclusionDelay)],
  ['Votes missed', (record) => formatCountOrDash(record.sumMissedAttestations)],
  [
    'Blocks made',
    (record) => `${formatCountOrDash(record.proposedCount)} of ${formatCountOrDash(record.proposerDutiesCount)}`,
  ],
  ['Penalties, ETH', (record) => formatAmountOrDash(record.estimatedPenalties)],
  ['Balance, ETH', (record) => formatAmountOrDash(record.earnings)],
]

const titles = columns.map(([title]) => title)

export function Sums({ subjects, records, others }: ComparedProps) {
  const rows = assignRecords(subjects, records, others)
  return (
    <Scroll name="All figures of the range">
      <table className="tight">
        <Columns of={[subjects.length === 2 ? 'Pool' : 'Validator', ...titles]} figures={titles} />
        <tbody>
          {subjects.flatMap((subject) =>
            subjectNames([subject]).map((name) => (
              <Row
                key={name}
                name={name}
                href={subject.hrefOf(name)}
                record={rows.find(({ name: who }) => who === name)?.record}
              />
            )),
          )}
        </tbody>
      </table>
    </Scroll>
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
        columns.map(([title, shown]) => (
          <td key={title} className="num">
            {shown(record)}
          </td>
        ))
      ) : (
        <td colSpan={columns.length} className="soft">
          no duties known in these days
        </td>
      )}
    </tr>
  )
}
