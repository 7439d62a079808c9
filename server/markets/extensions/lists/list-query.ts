// What a page of a list is about: its kind, filters, order and position (find-page.ts).
import type { FlagColumn, ListKind, ListOrder, SortedColumn } from '../../columns/list-view.ts'
import type { KeyName } from '../../write/list-rows.ts'

export type { ListKind } from '../../columns/list-view.ts'
export type OrderColumn = Exclude<ListOrder, 'rank'>
/** Columns with a value that a range can have. */
export type RangeColumn = Exclude<SortedColumn, 'rank'>

export interface ListQuery {
  readonly kind: ListKind
  readonly order: OrderColumn
  readonly ascending: boolean
  /** Undefined: open records, or both kinds if records are named. */
  readonly closed?: boolean | undefined
  readonly flags?: Partial<Readonly<Record<Exclude<FlagColumn, 'closed'>, boolean | undefined>>>
  /** Both ends are included. A record without a value is in no range. */
  readonly ranges?: readonly ValueRange[]
  readonly ids?: readonly string[] | undefined
  /** Current slugs. */
  readonly slugs?: readonly string[] | undefined
  /** Names of markets: those that have one of the values of each key. */
  readonly named?: readonly KeyFilter[]
  /** Records with one of the values of each key. */
  readonly keys?: readonly KeyFilter[]
  /** Records with one of these tags; a market also has the tags of its events. */
  readonly tagIds?: readonly string[] | undefined
  /** Records with all of these tags. */
  readonly allTagIds?: readonly string[] | undefined
  /** Records with a tag that has one of these slugs. */
  readonly tagSlugs?: readonly string[] | undefined
  /** Records with none of these tags. */
  readonly excludedTagIds?: readonly string[] | undefined
  /** Events of one of these series. */
  readonly seriesIds?: readonly string[] | undefined
  /** Events of a series with this recurrence. */
  readonly seriesRecurrence?: string | undefined
}

export interface KeyFilter {
  readonly name: KeyName
  readonly values: readonly string[]
  /** Records that have none of the values. */
  readonly isExcluded?: boolean
}

export interface ValueRange {
  readonly column: RangeColumn
  readonly min?: number | undefined
  readonly max?: number | undefined
}

export interface ListPosition {
  readonly value: number
  readonly number: number
  readonly id: string
}

export interface PageRequest {
  readonly offset: number
  readonly limit: number
  readonly after?: ListPosition | undefined
}

export interface ListPage {
  readonly ids: readonly string[]
  /** The last record that was returned or examined; undefined at the end of the list. */
  readonly next?: ListPosition | undefined
  /** The walk stopped at its limit before the page was full. */
  readonly isCut: boolean
}
