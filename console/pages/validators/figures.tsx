// Key figures with a short explanation each.

import type { ReactNode } from 'preact/compat'
import { formatRating } from '../../parts/rating.tsx'
import { levelOf } from '../../parts/rating-scale.ts'

/** Name → value and explanation. */
type NamedFigures = Readonly<Record<string, readonly [value: ReactNode, hint: ReactNode]>>

interface FiguresProps {
  readonly of: NamedFigures
}

export function Figures({ of }: FiguresProps) {
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
export const RatedFigure = ({ value }: { readonly value: number | null | undefined }) => (
  <>
    {value != null && <span className={`swatch ${levelOf(value).name}`} />} {formatRating(value)}
  </>
)
