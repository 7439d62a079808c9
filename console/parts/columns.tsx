// The header row of a table.
import type { ReactNode } from 'react'

interface ColumnsProps {
  readonly of: readonly string[]
  /** Names of the numeric columns, which are aligned to the right. */
  readonly figures?: readonly string[]
  /** Further header cells that need more than a name. */
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
