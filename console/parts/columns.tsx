// The first row of a table: what its columns are called.
import type { ReactNode } from 'react'

interface ColumnsProps {
  readonly of: readonly string[]
  /** Those of them that hold figures. */
  readonly figures?: readonly string[]
  /** Columns after these that need more than a name. */
  readonly children?: ReactNode
}

export function Columns({ of, figures = [], children }: ColumnsProps) {
  return (
    <thead>
      <tr>
        {of.map((name) => (
          <th key={name} scope="col" className={figures.includes(name) ? 'num' : undefined}>
            {name}
          </th>
        ))}
        {children}
      </tr>
    </thead>
  )
}
