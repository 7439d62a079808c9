// What a comparison shows: a plot with a line for each, and a table with a row for each.
import { useMemo } from 'react'
import type { AggregateRecord } from '#api/wire/validators.ts'
import { Columns } from '../../parts/columns.tsx'
import { Plot } from '../../parts/plot.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { count, units } from '../../parts/words.ts'
import { type ChainClock, unixOf } from './chain-clock.ts'
import { decimal, none, rating, share, slots } from './figures.tsx'
import { aligned, namesOf, type Parties, toldOf } from './side-by-side.ts'

export const measures = ['effectiveness', 'uptime', 'correctness', 'delay'] as const
export type Measure = (typeof measures)[number]

export const measureWords: Readonly<Record<Measure, string>> = {
  effectiveness: 'Effectiveness',
  uptime: 'Uptime',
  correctness: 'Correctness',
  delay: 'Inclusion delay',
}

interface Drawn {
  readonly figure: (record: AggregateRecord) => number | null
  readonly format: (value: number) => string
}

const drawnAs: Readonly<Record<Measure, Drawn>> = {
  effectiveness: { figure: ({ validatorEffectiveness }) => validatorEffectiveness ?? null, format: rating },
  uptime: { figure: ({ uptime }) => uptime ?? null, format: share },
  correctness: { figure: ({ avgCorrectness }) => avgCorrectness ?? null, format: share },
  delay: { figure: ({ avgInclusionDelay }) => avgInclusionDelay ?? null, format: slots },
}

interface Compared {
  readonly parties: Parties
  /** Of the first party, and of the second if there is one. */
  readonly records: readonly AggregateRecord[]
  readonly others: readonly AggregateRecord[] | undefined
}

interface LinesProps extends Compared {
  readonly measure: Measure
  readonly clock: ChainClock
  readonly windows: string
}

export function Lines({ parties, records, others, measure, clock, windows }: LinesProps) {
  const { figure, format } = drawnAs[measure]
  const { xs, lines } = useMemo(() => {
    const whose = namesOf(parties)
    const { epochs, values } = aligned(toldOf(parties, records, others), whose, figure)
    return {
      xs: epochs.map((epoch) => unixOf(clock, epoch)),
      lines: whose.map((label, at) => ({ label, values: values[at] ?? [] })),
    }
  }, [parties, records, others, figure, clock])
  if (xs.length === 0)
    return <p className="note">No duties are known in these days. Choose an earlier or a longer range.</p>
  return (
    <Plot
      key={measure}
      title={`${measureWords[measure]} per ${windows}: ${lines.map(({ label }) => label).join(', ')}`}
      xs={xs}
      lines={lines}
      height={280}
      format={format}
    />
  )
}

type Column = readonly [title: string, shown: (record: AggregateRecord) => string]

const whole = (value: number | bigint | undefined): string => (value === undefined ? none : count(value))
const paid = (value: number | bigint | undefined): string => (value === undefined ? none : units(value, 9, 9))
const rated = (value: number | undefined): string => (value === undefined ? none : value.toFixed(2))

const columns: readonly Column[] = [
  ['Effectiveness', ({ validatorEffectiveness }) => rated(validatorEffectiveness)],
  ['Attester', ({ attesterEffectiveness }) => rated(attesterEffectiveness)],
  ['Uptime', (record) => share(record.uptime)],
  ['Correctness', (record) => share(record.avgCorrectness)],
  ['Delay', (record) => decimal(record.avgInclusionDelay)],
  ['Votes missed', (record) => whole(record.sumMissedAttestations)],
  ['Blocks made', (record) => `${whole(record.proposedCount)} of ${whole(record.proposerDutiesCount)}`],
  ['Penalties, ETH', (record) => paid(record.estimatedPenalties)],
  ['Balance, ETH', (record) => paid(record.earnings)],
]

const titles = columns.map(([title]) => title)

export function Sums({ parties, records, others }: Compared) {
  const told = toldOf(parties, records, others)
  return (
    <Scroll name="All figures of the range">
      <table className="tight">
        <Columns of={[parties.length === 2 ? 'Pool' : 'Validator', ...titles]} figures={titles} />
        <tbody>
          {parties.flatMap((party) =>
            namesOf([party]).map((name) => (
              <Row
                key={name}
                name={name}
                href={party.hrefOf(name)}
                record={told.find(({ who }) => who === name)?.record}
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
