// What can be chosen about a look at validators. Every choice is in the address, so it can be kept and passed on.
import { type ReactNode, useState } from 'react'
import { type Grain, grains, type Look, networks, type Span, spans } from './look.ts'

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly T[]
  readonly words?: Readonly<Record<T, string>>
  readonly onChoose: (value: T) => void
}

export function Choice<T extends string>({ label, value, options, words, onChoose }: ChoiceProps<T>) {
  return (
    <label className="field">
      {label}
      <select value={value} onChange={({ target }) => onChoose(target.value as T)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {words?.[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  )
}

export const NetworkChoice = ({ look, onLook }: Pick<LookControlsProps, 'look' | 'onLook'>) => (
  <Choice
    label="Network"
    value={look.network}
    options={networks}
    onChoose={(network) => onLook({ ...look, network, day: undefined })}
  />
)

const spanWords: Readonly<Record<Span | 'dates', string>> = {
  '7': 'Last 7 days',
  '30': 'Last 30 days',
  '90': 'Last 90 days',
  '365': 'Last 365 days',
  all: 'All days',
  dates: 'From – to',
}

const grainWords: Readonly<Record<Grain, string>> = {
  hour: 'Hours',
  day: 'Days',
  week: 'Weeks',
  month: 'Months',
  quarter: 'Quarters',
  year: 'Years',
}

interface LookControlsProps {
  readonly look: Look
  readonly onLook: (look: Look) => void
  /** Windows to choose from; all of them when left out. */
  readonly windows?: readonly Grain[]
  /** Whether days can be counted by UTC. */
  readonly kinds?: boolean
  readonly children?: ReactNode
}

export function LookControls({ look, onLook, windows = grains, kinds = true, children }: LookControlsProps) {
  const hasDates = look.from !== '' || look.to !== ''
  return (
    <div className="row look">
      <Choice
        label="Windows"
        value={look.grain}
        options={windows}
        words={grainWords}
        onChoose={(grain) => onLook({ ...look, grain })}
      />
      {kinds && (
        <Choice
          label="Days are"
          value={look.utc ? 'utc' : 'chain'}
          options={['chain', 'utc']}
          words={{ chain: 'chain days', utc: 'UTC days' }}
          onChoose={(kind) => onLook({ ...look, utc: kind === 'utc', day: undefined })}
        />
      )}
      <Choice
        label="Range"
        value={hasDates ? 'dates' : look.last}
        options={hasDates ? [...spans, 'dates'] : spans}
        words={spanWords}
        onChoose={(last) => last !== 'dates' && onLook({ ...look, last, from: '', to: '' })}
      />
      <DateField
        key={`from ${look.from}`}
        label="From"
        value={look.from}
        onDate={(from) => onLook({ ...look, from })}
      />
      <DateField key={`to ${look.to}`} label="To" value={look.to} onDate={(to) => onLook({ ...look, to })} />
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
  readonly words: Readonly<Record<T, string>>
  readonly onChoose: (value: T) => void
}

export function Tabs<T extends string>({ name, value, words, onChoose }: TabsProps<T>) {
  return (
    <fieldset className="tabs plainset" aria-label={name}>
      {(Object.keys(words) as T[]).map((one) => (
        <button key={one} type="button" aria-pressed={value === one} onClick={() => onChoose(one)}>
          {words[one]}
        </button>
      ))}
    </fieldset>
  )
}
