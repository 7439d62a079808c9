// Key figures with a short explanation each, and formats for figures that may be missing.

/** Name → value and explanation. */
type NamedFigures = Readonly<Record<string, readonly [value: string, hint: string]>>

export function Figures({ of }: { readonly of: NamedFigures }) {
  return (
    <dl className="figures">
      {Object.entries(of).map(([name, [value, hint]]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="big">{value}</dd>
          <dd className="small soft">{hint}</dd>
        </div>
      ))}
    </dl>
  )
}

type Value = number | null | undefined

export const none = '–'
const formatOrNone = (value: Value, places: number, factor = 1, unit = ''): string =>
  value == null ? none : `${(value * factor).toLocaleString('en', { maximumFractionDigits: places })}${unit}`

/** Ratings go from 0 to 100. */
export const rating = (value: Value): string => formatOrNone(value, 2)
export const share = (value: Value): string => formatOrNone(value, 2, 100, ' %')
export const decimal = (value: Value): string => formatOrNone(value, 3)
export const slots = (value: Value): string => formatOrNone(value, 3, 1, ' slots')
