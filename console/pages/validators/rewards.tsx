// What a validator earned and lost: part by part for the whole range, exact to the gwei, and window by window as a plot.
import { useMemo } from 'react'
import type { InputOf } from '#api/client.ts'
import type { AggregateRecord } from '#api/wire/validators.ts'
import { useAsk } from '../../calls.ts'
import { Answer } from '../../parts/answer.tsx'
import { type Line, Plot } from '../../parts/plot.tsx'
import { count, gwei } from '../../parts/words.ts'
import { go } from '../../place.ts'
import { type ChainClock, unixOf } from './chain-clock.ts'
import { Tabs } from './controls.tsx'
import { type Look, type PartName, partNames, queryOf } from './look.ts'
import { ledgerOf, type Part, scaleOf } from './money.ts'

export interface ChainDays {
  readonly startDay: number
  readonly endDay: number
}

interface RewardsProps {
  readonly index: number
  readonly look: Look
  readonly days: ChainDays
  readonly clock: ChainClock
}

export function Rewards({ index, look, days, clock }: RewardsProps) {
  const question: InputOf<'validators.aggregateEffectiveness'> = {
    indices: [index],
    network: look.network,
    groupBy: 'timeWindow',
    filterType: 'day',
    from: days.endDay,
    to: days.startDay,
  }
  const whole = useAsk(
    'validators.aggregateEffectiveness',
    { ...question, granularity: 'all', size: 1 },
    { keep: true },
  )
  const granularity = look.grain === 'hour' ? 'day' : look.grain
  const windows = useAsk('validators.aggregateEffectiveness', { ...question, granularity, size: 1000 }, { keep: true })
  return (
    <section className="card" aria-labelledby="rewards">
      <h2 id="rewards">Rewards and penalties</h2>
      <p className="small soft">
        Chain days {days.startDay} to {days.endDay}. Amounts are always counted by chain days.
      </p>
      <Tabs
        name="Which amounts the plot shows"
        value={look.part}
        words={partWords}
        onChoose={(part) => go('validators', [index], queryOf({ ...look, part }))}
      />
      <Answer of={windows}>
        {({ reply }) => <PaidPlot records={reply.data} part={look.part} clock={clock} windows={granularity} />}
      </Answer>
      <Answer of={whole}>
        {({ reply: { data } }) => (data[0] ? <Sheet record={data[0]} /> : <p className="note">No duties here.</p>)}
      </Answer>
    </section>
  )
}

const partWords: Readonly<Record<PartName, string>> = {
  consensus: 'Paid by the chain',
  execution: 'Brought by blocks',
  penalties: 'Penalties',
  missed: 'Could have been paid',
}

interface PaidPlotProps {
  /** Newest first. */
  readonly records: readonly AggregateRecord[]
  readonly part: PartName
  readonly clock: ChainClock
  readonly windows: string
}

function PaidPlot({ records, part, clock, windows }: PaidPlotProps) {
  const { xs, lines, unit } = useMemo(() => {
    const ascending = records.toReversed()
    const ledgers = ascending.map((record) => ledgerOf(record)[part].items)
    const { unit, drawn } = scaleOf(ledgers.flat().map(({ gwei }) => gwei))
    const lines: Line[] = (ledgers[0] ?? [])
      .map(({ name }, at) => ({ label: name, values: ledgers.map((items) => drawn(items[at]?.gwei)) }))
      // What never was would only lie on the axis.
      .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    return { lines, unit, xs: ascending.map(({ startEpoch }) => unixOf(clock, Number(startEpoch))) }
  }, [records, part, clock])
  if (lines.length === 0)
    return <p className="note">{partWords[part]}: nothing in these days, so there is nothing to draw.</p>
  return (
    <>
      <p className="small soft">
        Per {windows}, in {unit}:
      </p>
      <Plot key={unit} title={`${partWords[part]} per ${windows}, ${unit}`} xs={xs} lines={lines} format={plainly} />
    </>
  )
}

const plainly = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 6 })

function Sheet({ record }: { readonly record: AggregateRecord }) {
  const ledger = ledgerOf(record)
  return (
    <>
      <div className="sheet">
        {partNames.map((name) => (
          <PartTable key={name} title={partWords[name]} part={ledger[name]} />
        ))}
      </div>
      <dl className="facts totals">
        <dt>Change of the balance</dt>
        <dd>{amount(ledger.earnings)}</dd>
        <dt>With fees and MEV</dt>
        <dd>{amount(ledger.all)}</dd>
      </dl>
      <details>
        <summary>How often each thing happened</summary>
        <Counts record={record} />
      </details>
    </>
  )
}

const amount = (value: bigint | undefined): string => (value === undefined ? 'not known' : gwei(value, 9))

interface PartTableProps {
  readonly title: string
  readonly part: Part
}

function PartTable({ title, part }: PartTableProps) {
  return (
    <div>
      <table>
        <caption>{title}</caption>
        <tbody>
          {part.items.map(({ name, gwei: value }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="num">{amount(value)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Together</th>
            <td className="num">{amount(part.total)}</td>
          </tr>
        </tfoot>
      </table>
      {part.total === undefined && (
        <p className="small soft">What is not known: the server read no execution node for these days.</p>
      )}
    </div>
  )
}

const counted = [
  ['Votes due', 'totalAttestationAssignments'],
  ['Votes in a block', 'totalUniqueAttestations'],
  ['Votes missed', 'sumMissedAttestations'],
  ['Wrong head', 'sumWrongHeadVotes'],
  ['Wrong target', 'sumWrongTargetVotes'],
  ['Late source', 'sumLateSourceVotes'],
  ['Late target', 'sumLateTargetVotes'],
  ['Blocks due', 'proposerDutiesCount'],
  ['Blocks made', 'proposedCount'],
  ['Blocks with an empty payload', 'executionProposedEmptyCount'],
  ['Sync signatures', 'syncSignatureCount'],
  ['Slashings proved', 'slashesCollected'],
  ['Slashings suffered', 'slashesReceived'],
] as const

function Counts({ record }: { readonly record: AggregateRecord }) {
  return (
    <dl className="facts counts">
      {counted.map(([name, field]) => (
        <div key={field}>
          <dt>{name}</dt>
          <dd>{record[field] === undefined ? 'not known' : count(record[field])}</dd>
        </div>
      ))}
    </dl>
  )
}
