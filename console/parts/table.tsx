// A table with a header row, in a region that scrolls sideways.
import type { ReactNode } from 'react'
import { Scroll } from './scroll.tsx'

interface TableProps {
  /** The accessible name of the region. */
  readonly name: string
  readonly columns: readonly string[]
  /** Names of the numeric columns, which are aligned to the right. */
  readonly figures?: readonly string[]
  /** The header of a last column, for screen readers only. */
  readonly hiddenColumn?: string
  readonly className?: string
  /** The rows. */
  readonly children: ReactNode
}

export function Table({ name, columns, figures = [], hiddenColumn, className, children }: TableProps) {
  return (
    <Scroll name={name}>
      <table className={className}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col" className={figures.includes(column) ? 'num' : undefined}>
                {column}
              </th>
            ))}
            {hiddenColumn !== undefined && (
              <th scope="col">
                <span className="unseen">{hiddenColumn}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scroll>
  )
}
