// A calendar of a validator: one square per UTC day, coloured by its effectiveness. A click opens the duties of the day.
import { useMemo } from 'preact/compat'
import { Card } from '../../parts/card.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { formatRating } from '../../parts/rating.tsx'
import { colourOf, legendLevels, levelOf } from '../../parts/rating-scale.ts'
import { Scroll } from '../../parts/scroll.tsx'
import { go } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { type CalendarCell, calendarCells } from './calendar-cells.ts'
import type { OverTimeProps } from './over-time.tsx'
import { boundsOf, queryOf } from './view.ts'

const weeksMax = 53
const [size, gap, left, top] = [15, 3, 32, 16]

export function Calendar({ index, view, newest }: OverTimeProps) {
  const days = useEndpoint('validators.effectiveness', {
    validator_index_or_pubkey: index,
    network: view.network,
    utc: true,
    ...boundsOf(view, newest),
    granularity: 'day',
    sortOrder: 'desc',
    limit: weeksMax * 7,
  })
  const open = (day: number) => go('validators', [index], queryOf({ ...view, utc: true, day }))
  return (
    <Card id="calendar" title="Calendar">
      <p className="small soft">Effectiveness of each UTC day. Select a day to see its duties.</p>
      <QueryResult of={days}>
        {({ reply: { results } }) => (
          <CalendarPicture
            days={results.flatMap(({ date, day, validatorEffectiveness }) =>
              date === null || day === null ? [] : [{ date, day, value: validatorEffectiveness }],
            )}
            onOpen={open}
          />
        )}
      </QueryResult>
    </Card>
  )
}

interface CalendarPictureProps {
  readonly days: Parameters<typeof calendarCells>[0]
  readonly onOpen: (day: number) => void
}

function CalendarPicture({ days, onOpen }: CalendarPictureProps) {
  const cells = useMemo(() => calendarCells(days, weeksMax), [days])
  const weeks = (cells.at(-1)?.week ?? 0) + 1
  const step = size + gap
  const known = cells.filter(({ value }) => value !== null)
  const isGood = ({ value }: CalendarCell) => value !== null && value >= 97
  const description = `Calendar of ${known.length} days: ${known.filter(isGood).length} with an effectiveness of 97 or more. The plot below has the same figures as a table.`
  return (
    <div className="calendar">
      <Scroll name="Calendar of effectiveness">
        <svg role="img" aria-label={description} width={left + weeks * step} height={top + 7 * step}>
          {monthLabels(cells).map(({ week, label }) => (
            <text key={label + week} x={left + week * step} y={top - 5}>
              {label}
            </text>
          ))}
          {['Mon', 'Wed', 'Fri'].map((label, at) => (
            <text key={label} x={0} y={top + 2 * at * step + size - 3}>
              {label}
            </text>
          ))}
          {cells.map((cell) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: the plot and the list of worst days have links
            <rect
              key={cell.date}
              className={cell.value === null ? 'unknown' : undefined}
              style={{ fill: colourOf(levelOf(cell.value)) }}
              x={left + cell.week * step}
              y={top + cell.weekday * step}
              width={size}
              height={size}
              rx={3}
              data-day={cell.day}
              onClick={() => cell.day !== undefined && onOpen(cell.day)}
            >
              <title>{`${cell.date}: ${cell.value === null ? 'no duties known' : formatRating(cell.value)}`}</title>
            </rect>
          ))}
        </svg>
      </Scroll>
      <ul className="legend small">
        {legendLevels.map((level) => (
          <li key={level.name}>
            <span className={`swatch ${level.name}`} /> {level.label}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The name of a month above the first week that starts in it. */
function monthLabels(cells: readonly CalendarCell[]): { week: number; label: string }[] {
  const mondays = cells.filter(({ weekday }) => weekday === 0)
  const monthOf = ({ date }: CalendarCell) => new Date(date).toLocaleString('en', { month: 'short', timeZone: 'UTC' })
  return mondays.flatMap((monday, at) => {
    const previous = mondays[at - 1]
    const isNew = previous === undefined || monthOf(previous) !== monthOf(monday)
    return isNew ? [{ week: monday.week, label: monthOf(monday) }] : []
  })
}
