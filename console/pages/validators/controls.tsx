// What can be chosen about a look at validators. Every choice is in the address, so it can be kept and passed on.
import { type ReactNode, useState } from 'react'
import { type Grain, grains, networks, type Span, spans, type ValidatorsView } from './view.ts'

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly T[]
  readonly labels?: Readonly<Record<T, string>>
  readonly onChoose: (value: T) => void
}

export function Choice<T extends string>({ label, value, options, labels, onChoose }: ChoiceProps<T>) {
  return (
    <label className="field">
      {label}
      <select value={value} onChange={({ target }) => onChoose(target.value as T)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {labels?.[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  )
}

export const NetworkChoice = ({ view, onView }: Pick<ViewControlsProps, 'view' | 'onView'>) => (
  <Choice
    label="Network"
    value={view.network}
    options={networks}
    onChoose={(network) => onView({ ...view, network, day: undefined })}
  />
)

const spanLabels: Readonly<Record<Span | 'dates', string>> = {
  '7': 'Last 7 days',
  '30': 'Last 30 days',
  '90': 'Last 90 days',
  '365': 'Last 365 days',
  all: 'All days',
  dates: 'From – to',
}

const grainLabels: Readonly<Record<Grain, string>> = {
  hour: 'Hours',
  day: 'Days',
  week: 'Weeks',
  month: 'Months',
  quarter: 'Quarters',
  year: 'Years',
}

interface ViewControlsProps {
  readonly view: ValidatorsView
  readonly onView: (look: ValidatorsView) => void
  /** Windows to choose from; all of them when left out. */
  readonly windows?: readonly Grain[]
  /** Whether days can be counted by UTC. */
  readonly kinds?: boolean
  readonly children?: ReactNode
}

export function ViewControls({ view, onView, windows = grains, kinds = true, children }: ViewControlsProps) {
  const hasDates = view.from !== '' || view.to !== ''
  return (
    <div className="row look">
      <Choice
        label="Windows"
        value={view.grain}
        options={windows}
        labels={grainLabels}
        onChoose={(grain) => onView({ ...view, grain })}
      />
      {kinds && (
        <Choice
          label="Days are"
          value={view.utc ? 'utc' : 'chain'}
          options={['chain', 'utc']}
          labels={{ chain: 'chain days', utc: 'UTC days' }}
          onChoose={(kind) => onView({ ...view, utc: kind === 'utc', day: undefined })}
        />
      )}
      <Choice
        label="Range"
        value={hasDates ? 'dates' : view.last}
        options={hasDates ? [...spans, 'dates'] : spans}
        labels={spanLabels}
        onChoose={(last) => last !== 'dates' && onView({ ...view, last, from: '', to: '' })}
      />
      <DateField
        key={`from ${view.from}`}
        label="From"
        value={view.from}
        onDate={(from) => onView({ ...view, from })}
      />
      <DateField key={`to ${view.to}`} label="To" value={view.to} onDate={(to) => onView({ ...view, to })} />
      {children}
    </div>
  )
}

interface DateFieldProps {
  readonly label: string
  readonly value: string
  readonly onDate: (date: string) => void
}

/** Taken when the field is left or Enter is pressed: while a year is typed, every digit makes another date. */
function DateField({ label, value, onDate }: DateFieldProps) {
  const [text, setText] = useState(value)
  const take = () => text !== value && onDate(text)
  return (
    <label className="field">
      {label}
      <input
        type="date"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onBlur={take}
        onKeyDown={({ key }) => key === 'Enter' && take()}
      />
    </label>
  )
}

interface TabsProps<T extends string> {
  readonly name: string
  readonly value: T
  readonly labels: Readonly<Record<T, string>>
  readonly onChoose: (value: T) => void
}

export function Tabs<T extends string>({ name, value, labels, onChoose }: TabsProps<T>) {
  return (
    <fieldset className="tabs plainset" aria-label={name}>
      {(Object.keys(labels) as T[]).map((one) => (
        <button key={one} type="button" aria-pressed={value === one} onClick={() => onChoose(one)}>
          {labels[one]}
        </button>
      ))}
    </fieldset>
  )
}
