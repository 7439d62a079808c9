// A table with a header row, in a region that scrolls sideways.
import type { ReactNode } from 'preact/compat'
import { Scroll } from './scroll.tsx'

export interface Sorting {
  readonly columns: readonly string[]
  readonly by: string
  readonly isDescending: boolean
  readonly onSort: (column: string) => void
}

interface TableProps {
  /** The accessible name of the region. */
  readonly name: string
  readonly columns: readonly string[]
  /** Names of the numeric columns, which are aligned to the right. */
  readonly figures?: readonly string[]
  /** The header of a last column, for screen readers only. */
  readonly hiddenColumn?: string
  readonly className?: string
  /** Makes some columns sortable. The caller sorts the rows. */
  readonly sorting?: Sorting
  /** The rows. */
  readonly children: ReactNode
}

export function Table({ name, columns, figures = [], hiddenColumn, className, sorting, children }: TableProps) {
  return (
    <Scroll name={name}>
      <table className={className}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column}
                scope="col"
                className={figures.includes(column) ? 'num' : undefined}
                aria-sort={sorting?.by === column ? (sorting.isDescending ? 'descending' : 'ascending') : undefined}
              >
                {sorting?.columns.includes(column) ? (
                  <button type="button" className="plain sort" onClick={() => sorting.onSort(column)}>
                    {column}
                    {sorting.by === column && (sorting.isDescending ? ' ↓' : ' ↑')}
                  </button>
                ) : (
                  column
                )}
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
