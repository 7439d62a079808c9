// The plot of a comparison, with one line per validator, pool or operator, and its table, with one row each.
import { useMemo } from 'preact/compat'
import type { Network } from '#api/contract/wire/validators.ts'
import { formatCount, formatUnits } from '../../parts/format.ts'
import { Plot } from '../../parts/plot.tsx'
import { formatRating, Rating } from '../../parts/rating.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'
import { type ChainClock, unixOf } from './chain-clock.ts'
import { decimal, none, share, slots } from './format-figures.ts'
import { alignRecords, assignRecords, type ComparedRecord, type Subject, subjectNames } from './side-by-side.ts'

/** What the plot can show. The first one is the default. */
export const measures = {
  effectiveness: { label: 'Effectiveness', field: 'validatorEffectiveness', format: formatRating, max: 100 },
  uptime: { label: 'Uptime', field: 'uptime', format: share, max: 1 },
  correctness: { label: 'Correctness', field: 'avgCorrectness', format: share, max: 1 },
  delay: { label: 'Inclusion delay', field: 'avgInclusionDelay', format: slots, max: undefined },
} as const
export type Measure = keyof typeof measures

interface ComparedProps {
  readonly subjects: readonly Subject[]
  /** The records of each subject, in the same order. */
  readonly records: readonly (readonly ComparedRecord[])[]
}

interface LinesProps extends ComparedProps {
  readonly measure: Measure
  readonly clock: ChainClock
  readonly windows: string
}

export function ComparisonPlot({ subjects, records, measure, clock, windows }: LinesProps) {
  const { label, field, format, max } = measures[measure]
  const { xs, lines } = useMemo(() => {
    const names = subjectNames(subjects)
    const { epochs, values } = alignRecords(assignRecords(subjects, records), names, (record) => record[field] ?? null)
    return {
      xs: epochs.map((epoch) => unixOf(clock, epoch)),
      lines: names.map((name, at) => ({ label: name, values: values[at] ?? [] })),
    }
  }, [subjects, records, field, clock])
  if (xs.length === 0) return <p className="note">No duties in these days. Choose an earlier or a longer range.</p>
  return (
    <Plot
      key={measure}
      title={`${label} per ${windows}: ${lines.map((line) => line.label).join(', ')}`}
      xs={xs}
      lines={lines}
      height={280}
      format={format}
      yMax={max}
    />
  )
}

type Value = number | bigint | null | undefined
const formatCountOrDash = (value: Value): string => (value == null ? none : formatCount(value))
const formatAmountOrDash = (value: Value): string => (value == null ? none : formatUnits(value, 9, 9, 9))

interface TotalsRow extends ComparedRecord {
  readonly name: string
  readonly hasDuties: boolean
}

const totalsColumns: readonly Column<TotalsRow>[] = [
  ['Effectiveness', ({ validatorEffectiveness }) => <Rating value={validatorEffectiveness} />, 'num'],
  ['Attester', ({ attesterEffectiveness }) => formatRating(attesterEffectiveness), 'num'],
  ['Uptime', ({ uptime }) => share(uptime), 'num'],
  ['Correctness', ({ avgCorrectness }) => share(avgCorrectness), 'num'],
  ['Delay, slots', ({ avgInclusionDelay }) => decimal(avgInclusionDelay), 'num'],
  ['Missed votes', ({ sumMissedAttestations }) => formatCountOrDash(sumMissedAttestations), 'num'],
  [
    'Blocks',
    ({ proposedCount, proposerDutiesCount }) =>
      [proposedCount, proposerDutiesCount].map(formatCountOrDash).join(' of '),
    'num',
  ],
  ['Penalties, ETH', ({ estimatedPenalties }) => formatAmountOrDash(estimatedPenalties), 'num'],
  ['Balance change, ETH', ({ earnings }) => formatAmountOrDash(earnings), 'num'],
]

export function TotalsTable({ subjects, records, network }: ComparedProps & { readonly network: Network }) {
  const assigned = new Map(assignRecords(subjects, records).map(({ name, record }) => [name, record]))
  const areEntities = subjects[0]?.name !== undefined
  const linkOf = (name: string) =>
    areEntities ? hrefOf('validators', [], { network, q: name }) : hrefOf('validators', [name], { network })
  return (
    <Table
      name="Totals of the range"
      className="tight stacked many"
      hasRowHeaders
      rows={subjectNames(subjects).map((name) => ({ ...assigned.get(name), name, hasDuties: assigned.has(name) }))}
      columns={[
        [
          areEntities ? 'Name' : 'Validator',
          ({ name, hasDuties }) => (
            <>
              <a href={linkOf(name)}>{name}</a>
              {!hasDuties && <div className="soft small">No duties in these days</div>}
            </>
          ),
        ],
        ...totalsColumns,
      ]}
    />
  )
}
