// One validator's ratings over time: the range as a whole, window by window as a plot, and where it went worst.
import { useMemo } from 'react'
import type { EffectivenessRecord } from '#api/wire/validators.ts'
import { useAsk } from '../../calls.ts'
import { Answer } from '../../parts/answer.tsx'
import { type Line, Plot } from '../../parts/plot.tsx'
import { time } from '../../parts/words.ts'
import { go, hrefOf } from '../../place.ts'
import { LookControls, Tabs } from './controls.tsx'
import { decimal, Figures, rating, share, slots } from './figures.tsx'
import { boundsOf, closer, type DateBounds, type Look, queryOf, type Sight } from './look.ts'

/** As many as one page of the interface holds. */
const windowsMax = 1000
const worstShown = 5

interface OverTimeProps {
  readonly index: number
  readonly look: Look
  /** Date of the newest record. */
  readonly newest: string
}

export function OverTime({ index, look, newest }: OverTimeProps) {
  const onLook = (other: Look) => go('validators', [index], queryOf(other))
  const bounds = boundsOf(look, newest)
  const question = {
    validator_index_or_pubkey: index,
    network: look.network,
    utc: look.utc,
    ...bounds,
  } as const
  const whole = useAsk('validators.effectiveness', { ...question, granularity: 'all', limit: 1 }, { keep: true })
  const windows = useAsk(
    'validators.effectiveness',
    { ...question, granularity: look.grain, sortOrder: 'desc', limit: windowsMax },
    { keep: true },
  )
  return (
    <section className="card" aria-labelledby="over-time">
      <h2 id="over-time">Effectiveness over time</h2>
      <LookControls look={look} onLook={onLook} />
      <Answer of={whole}>{({ reply }) => <Whole record={reply.results[0]} />}</Answer>
      <Tabs
        name="What the plot shows"
        value={look.sight}
        words={sightWords}
        onChoose={(sight) => onLook({ ...look, sight })}
      />
      <Answer of={windows}>
        {({ reply }) => (
          <>
            {reply.pages > 1 && (
              <p className="note warn">
                More than {windowsMax} windows lie in this range; the newest are drawn. Choose longer windows or a
                shorter range to see all of it.
              </p>
            )}
            <Windows records={reply.results} look={look} onLook={onLook} />
          </>
        )}
      </Answer>
      <Worst index={index} look={look} bounds={bounds} />
    </section>
  )
}

function Whole({ record }: { readonly record: EffectivenessRecord | undefined }) {
  if (!record)
    return (
      <p className="note">No duties are known in these days. Choose an earlier or a longer range, or “All days”.</p>
    )
  return (
    <>
      <p className="small soft">
        {time(record.startTimestamp ?? '')} – {time(record.endTimestamp ?? '')}, epochs {record.startEpoch} to{' '}
        {record.endEpoch}
      </p>
      <Figures
        figures={[
          {
            name: 'Validator',
            value: rating(record.validatorEffectiveness),
            hint: 'of 100; attester and proposer together',
          },
          { name: 'Attester', value: rating(record.attesterEffectiveness), hint: 'uptime × correctness ÷ delay' },
          {
            name: 'Proposer',
            value: rating(record.proposerEffectiveness),
            hint:
              record.proposerEffectiveness === null ? 'it had no block to make' : 'blocks made; an empty one counts ¼',
          },
          { name: 'Uptime', value: share(record.uptime), hint: 'votes that got into a block' },
          { name: 'Correctness', value: share(record.avgCorrectness), hint: 'source, target and head right' },
          {
            name: 'Delay',
            value: decimal(record.avgInclusionDelay),
            hint: 'slots until a vote was in a block; best is 1',
          },
        ]}
      />
    </>
  )
}

const sightWords: Readonly<Record<Sight, string>> = {
  effectiveness: 'Effectiveness',
  votes: 'Uptime and correctness',
  delay: 'Inclusion delay',
}

type Figure =
  | 'validatorEffectiveness'
  | 'attesterEffectiveness'
  | 'proposerEffectiveness'
  | 'uptime'
  | 'avgCorrectness'
  | 'avgInclusionDelay'

const linesOfSight: Readonly<Record<Sight, readonly (readonly [label: string, field: Figure])[]>> = {
  effectiveness: [
    ['Validator', 'validatorEffectiveness'],
    ['Attester', 'attesterEffectiveness'],
    ['Proposer', 'proposerEffectiveness'],
  ],
  votes: [
    ['Uptime', 'uptime'],
    ['Correctness', 'avgCorrectness'],
  ],
  delay: [['Inclusion delay', 'avgInclusionDelay']],
}

const formats: Readonly<Record<Sight, (value: number) => string>> = {
  effectiveness: rating,
  votes: share,
  delay: slots,
}

interface WindowsProps {
  /** Newest first. */
  readonly records: readonly EffectivenessRecord[]
  readonly look: Look
  readonly onLook: (look: Look) => void
}

function Windows({ records, look, onLook }: WindowsProps) {
  const { sight } = look
  const { windows, xs, lines } = useMemo(() => {
    const windows = records.toReversed()
    const lines: Line[] = linesOfSight[sight]
      .map(([label, field]) => ({ label, values: windows.map((record) => record[field]) }))
      .filter(({ values }) => values.some((value) => value !== null))
    return { windows, lines, xs: windows.map(({ startTimestamp }) => Date.parse(startTimestamp ?? '') / 1000) }
  }, [records, sight])
  if (windows.length === 0) return null
  const isDay = look.grain === 'hour' || look.grain === 'day'
  return (
    <>
      <Plot
        title={`${sightWords[sight]} in ${windows.length} ${look.grain}s`}
        xs={xs}
        lines={lines}
        height={260}
        format={formats[sight]}
        onPick={(at) => {
          const window = windows[at]
          if (window) onLook(closer(look, window))
        }}
      />
      <p className="small soft">
        {isDay
          ? 'Click a point to see the duties of its day below; drag to look closer, double-click to come back.'
          : `Click a point to see the days of its ${look.grain}; drag to look closer, double-click to come back.`}
      </p>
    </>
  )
}

interface WorstProps {
  readonly index: number
  readonly look: Look
  readonly bounds: DateBounds
}

/** The way to a bad day without pointing at it. */
function Worst({ index, look, bounds }: WorstProps) {
  const worst = useAsk(
    'validators.effectiveness',
    {
      validator_index_or_pubkey: index,
      network: look.network,
      utc: look.utc,
      ...bounds,
      granularity: 'day',
      sortBy: 'validatorEffectiveness',
      limit: worstShown,
    },
    { keep: true },
  )
  return (
    <Answer of={worst}>
      {({ reply: { results } }) => {
        const bad = results.filter(({ validatorEffectiveness: rated }) => rated !== null && rated < 100)
        if (results.length === 0) return null
        if (bad.length === 0) return <p>Nothing went wrong on any day of this range.</p>
        return (
          <p className="worst">
            <strong>Worst days in this range:</strong>{' '}
            {bad.map((record) => (
              <a
                key={record.day}
                href={hrefOf('validators', [index], queryOf({ ...look, day: record.day ?? undefined }))}
                aria-current={record.day === look.day ? 'true' : undefined}
              >
                {record.date} <span className="badge">{rating(record.validatorEffectiveness)}</span>
              </a>
            ))}
          </p>
        )
      }}
    </Answer>
  )
}
