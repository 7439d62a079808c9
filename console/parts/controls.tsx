// Forms and labelled controls: a choice from a list, a text field, and buttons of which one is pressed.
import type { ComponentProps, FormEvent } from 'preact/compat'

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  readonly onSubmit: () => unknown
}

/** A form that the page submits itself. */
export function Form({ onSubmit, ...form }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSubmit()
  }
  return <form {...form} onSubmit={submit} />
}

interface SubmitProps extends Pick<ComponentProps<'button'>, 'disabled' | 'children'> {
  /** False if another button of the page is the next step. */
  readonly isMain?: boolean
}

/** The button that submits a form. */
export const Submit = ({ isMain = true, ...button }: SubmitProps) => (
  <button type="submit" className={isMain ? 'main' : undefined} {...button} />
)

/** The text of each option. */
type Labels<T extends string | number> = Readonly<Record<T, string>> | ((option: T) => string)

const labelOf = <T extends string | number>(labels: Labels<T>, option: T): string =>
  typeof labels === 'function' ? labels(option) : labels[option]

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly T[]
  /** Default: the options themselves. */
  readonly labels?: Labels<T>
  readonly onChoose: (value: T) => void
}

export function Choice<T extends string>({ label, value, options, labels = String, onChoose }: ChoiceProps<T>) {
  return (
    <label className="field">
      {label}
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {labelOf(labels, option)}
          </option>
        ))}
      </select>
    </label>
  )
}

interface TextFieldProps extends ComponentProps<'input'> {
  readonly label: string
  readonly isWide?: boolean
  readonly onText: (text: string) => void
}

/** Other properties are those of the input element. */
export function TextField({ label, isWide = false, onText, ...input }: TextFieldProps) {
  return (
    <label className={isWide ? 'field wide' : 'field'}>
      {label}
      <input {...input} onChange={({ currentTarget }) => onText(currentTarget.value)} />
    </label>
  )
}

interface TabsProps<T extends string | number> {
  readonly name: string
  readonly value: T
  readonly options: readonly T[]
  readonly labels: Labels<T>
  readonly onChoose: (value: T) => void
}

export function Tabs<T extends string | number>({ name, value, options, labels, onChoose }: TabsProps<T>) {
  return (
    <fieldset className="tabs" aria-label={name}>
      {options.map((option) => (
        <button key={option} type="button" aria-pressed={value === option} onClick={() => onChoose(option)}>
          {labelOf(labels, option)}
        </button>
      ))}
    </fieldset>
  )
}
