// Controls for network, granularity and range. Every choice is part of the address, so it can be bookmarked and shared.
import { useState } from 'preact/compat'
import { Choice, TextField } from '../../parts/controls.tsx'
import { useNetworks } from './use-networks.ts'
import { type Granularity, granularities, type Span, spans, type ValidatorsView } from './view.ts'

export function NetworkChoice({ view, onView }: Pick<ViewControlsProps, 'view' | 'onView'>) {
  const known = useNetworks()
  const options = known.includes(view.network) ? known : [...known, view.network]
  return (
    <Choice
      label="Network"
      value={view.network}
      options={options}
      onChoose={(network) => onView({ ...view, network, day: undefined })}
    />
  )
}

const spanLabel = (span: Span | 'dates'): string =>
  span === 'all' ? 'All days' : span === 'dates' ? 'Custom dates' : `Last ${span} days`

/** `hour` → `Hours`. */
const granularityLabel = (granularity: Granularity): string => `${granularity.replace(/^./, (c) => c.toUpperCase())}s`

interface ViewControlsProps {
  readonly view: ValidatorsView
  readonly onView: (view: ValidatorsView) => void
  /** Granularities to choose from; default: all. */
  readonly choices?: readonly Granularity[]
  /** Whether UTC days can be chosen. */
  readonly hasDayType?: boolean
}

export function ViewControls({ view, onView, choices = granularities, hasDayType = true }: ViewControlsProps) {
  const hasDates = view.from !== '' || view.to !== ''
  const range = hasDates ? `${view.from || 'start'} to ${view.to || 'now'}` : spanLabel(view.last).toLowerCase()
  const days = view.utc && hasDayType ? ', UTC days' : ''
  return (
    <details className="view">
      <summary>
        {granularityLabel(view.granularity)}, {range}
        {days}: change
      </summary>
      <div className="row">
        <Choice
          label="Granularity"
          value={view.granularity}
          options={choices}
          labels={granularityLabel}
          onChoose={(granularity) => onView({ ...view, granularity })}
        />
        {hasDayType && (
          <Choice
            label="Day type"
            value={view.utc ? 'utc' : 'chain'}
            options={['chain', 'utc']}
            labels={(type) => (type === 'utc' ? 'UTC days' : 'chain days')}
            onChoose={(type) => onView({ ...view, utc: type === 'utc', day: undefined })}
          />
        )}
        <Choice
          label="Range"
          value={hasDates ? 'dates' : view.last}
          options={hasDates ? [...spans, 'dates'] : spans}
          labels={spanLabel}
          onChoose={(last) => last !== 'dates' && onView({ ...view, last, from: '', to: '' })}
        />
        <DateField
          key={`from ${view.from}`}
          label="From"
          value={view.from}
          onDate={(from) => onView({ ...view, from })}
        />
        <DateField key={`to ${view.to}`} label="To" value={view.to} onDate={(to) => onView({ ...view, to })} />
      </div>
    </details>
  )
}

interface DateFieldProps {
  readonly label: string
  readonly value: string
  readonly onDate: (date: string) => void
}

/** Applied on blur or Enter, because every typed digit of a year gives another valid date. */
function DateField({ label, value, onDate }: DateFieldProps) {
  const [text, setText] = useState(value)
  const apply = () => text !== value && onDate(text)
  return (
    <TextField
      label={label}
      type="date"
      value={text}
      onText={setText}
      onBlur={apply}
      onKeyDown={({ key }) => key === 'Enter' && apply()}
    />
  )
}
