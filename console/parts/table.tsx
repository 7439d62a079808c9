// A table in a region that scrolls sideways. In a narrow card, a table with the class `stacked` shows each row
// as a list; with `several` or `many` earlier, for tables with that many columns.
import type { ReactNode } from 'preact/compat'
import { Scroll } from './scroll.tsx'

/**
 * The title of a column, what it shows of a row, and the class of its cells: `num` aligns figures to the right, `extra`
 * hides the column in cards that are narrow and still show a table.
 */
export type Column<R> = readonly [title: string, cell: (row: R, index: number) => ReactNode, className?: string]

export interface Sorting {
  readonly columns: readonly string[]
  readonly by: string
  readonly isDescending: boolean
  readonly onSort: (column: string) => void
}

interface TableProps<R> {
  /** The accessible name of the region. */
  readonly name: string
  readonly rows: readonly R[]
  readonly columns: readonly Column<R>[]
  readonly className?: string
  /** Whether the first column names the row. */
  readonly hasRowHeaders?: boolean
  /** Makes some columns sortable. The caller sorts the rows. */
  readonly sorting?: Sorting
}

export function Table<R>({ name, rows, columns, className, hasRowHeaders = false, sorting }: TableProps<R>) {
  return (
    <Scroll name={name}>
      <table className={className}>
        <thead>
          <tr>
            {columns.map(([title, , cellClass]) => (
              <th
                key={title}
                scope="col"
                className={cellClass === 'num' || cellClass === 'extra' ? cellClass : undefined}
                aria-sort={sorting?.by === title ? (sorting.isDescending ? 'descending' : 'ascending') : undefined}
              >
                {sorting?.columns.includes(title) ? (
                  <button type="button" className="plain sort" onClick={() => sorting.onSort(title)}>
                    {title}
                    {sorting.by === title && (sorting.isDescending ? ' ↓' : ' ↑')}
                  </button>
                ) : (
                  title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no state of their own
            <tr key={index}>
              {columns.map(([title, cell, cellClass], at) =>
                at === 0 && hasRowHeaders ? (
                  <th key={title} scope="row">
                    {cell(row, index)}
                  </th>
                ) : (
                  <td key={title} className={cellClass} data-label={at === 0 ? undefined : title}>
                    {cell(row, index)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
