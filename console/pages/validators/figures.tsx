// Key figures with a short explanation each, and formats for figures that may be missing.

export interface Figure {
  readonly name: string
  readonly value: string
  readonly hint: string
}

export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl className="figures">
      {figures.map(({ name, value, hint }) => (
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
/** Ratings go from 0 to 100. */
export const rating = (value: Value): string =>
  value === null || value === undefined ? none : value.toLocaleString('en', { maximumFractionDigits: 2 })
export const share = (value: Value): string =>
  value === null || value === undefined ? none : `${(value * 100).toLocaleString('en', { maximumFractionDigits: 2 })} %`
export const decimal = (value: Value): string =>
  value === null || value === undefined ? none : value.toLocaleString('en', { maximumFractionDigits: 3 })
export const slots = (value: Value): string =>
  value === null || value === undefined ? none : `${decimal(value)} slots`
