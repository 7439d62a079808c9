// Key figures with a short explanation each, and formats for figures that may be missing.

import type { ReactNode } from 'preact/compat'
import { formatRating } from '../../parts/rating.tsx'
import { levelOf } from '../../parts/rating-scale.ts'

/** Name → value and explanation. */
type NamedFigures = Readonly<Record<string, readonly [value: ReactNode, hint: ReactNode]>>

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

/** A rating in the size of a figure, with its colour in front. */
export const RatedFigure = ({ value }: { readonly value: Value }) => (
  <>
    {value != null && <span className={`swatch ${levelOf(value).name}`} />} {formatRating(value)}
  </>
)

type Value = number | null | undefined

export const none = '–'
const formatOrNone = (value: Value, places: number, factor = 1, unit = ''): string =>
  value == null ? none : `${(value * factor).toLocaleString('en', { maximumFractionDigits: places })}${unit}`

export const share = (value: Value): string => formatOrNone(value, 2, 100, ' %')
export const decimal = (value: Value): string => formatOrNone(value, 3)
export const slots = (value: Value): string => formatOrNone(value, 3, 1, ' slots')
