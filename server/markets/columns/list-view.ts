// The values of all listed records at one version, in memory: about 120 bytes for each record. A view never changes, so a
// request that has one is not affected by others. A later view shares the blocks that have not changed.

import {
  comparedAmount,
  fastColumns,
  firstAmount,
  hashedFrom,
  rankOf,
  type SlowColumn,
  slowColumns,
} from '../records/list-columns.ts'
import { blockOf, blockSize, numberAt, slotOf } from '../ticks/packed-lines.ts'
import { type Order, sortPlaces, withChanges } from './sort-places.ts'

export const listKinds = ['market', 'event', 'series', 'tag'] as const
export type ListKind = (typeof listKinds)[number]

/** What lists are ordered by; `rank` is the order of search results. */
export type ListOrder = Exclude<SortedColumn, 'event_start_ms'>
export type SortedColumn =
  | ('number' | 'volume' | 'liquidity' | 'volume_24h' | 'updated_ms' | 'rank')
  | ('start_ms' | 'end_ms' | 'created_ms' | 'closed_ms' | 'event_start_ms')
export type FlagColumn = 'active' | 'closed' | 'archived' | 'featured'

/** `kind`: 0 where no record is. */
const columns = ['kind', 'number', ...slowColumns, ...fastColumns] as const
type Column = (typeof columns)[number]
const offsets = Object.fromEntries(columns.map((name, at) => [name, at * blockSize])) as Record<Column, number>

/** The values of the records of a block, one column after the other. The fast ones come last. */
export type ListBlock = Float64Array

export function copyBlock(block: ListBlock | undefined): ListBlock {
  if (block) return block.slice()
  const empty = new Float64Array(columns.length * blockSize)
  empty.fill(Number.NaN, offsets.volumeNum)
  return empty
}

export function setValue(block: ListBlock, slot: number, column: Column, value: number): void {
  block[offsets[column] + slot] = value
}

/** A row of market_list. */
export type ListRow = Readonly<Record<SlowColumn | 'place' | 'number', number>> & {
  readonly kind: ListKind
  readonly id: string
}

export function setRow(block: ListBlock, row: ListRow): void {
  const slot = slotOf(row.place)
  setValue(block, slot, 'kind', listKinds.indexOf(row.kind) + 1)
  setValue(block, slot, 'number', row.number)
  for (const name of slowColumns) setValue(block, slot, name, row[name])
}

export interface ViewHead {
  readonly seq: number
  readonly atMs: number
}

/** Which records are ordered: those of a kind, or only the closed or the other ones of it. */
export interface ListPart {
  readonly kind: ListKind
  readonly closed: boolean | undefined
  readonly order: ListOrder
}

export class ListView {
  readonly head: ViewHead
  readonly #blocks: readonly (ListBlock | undefined)[]
  /** Of the records whose id is not their number; shared with other views, because a place always has the same id. */
  readonly ids: Map<number, string>
  readonly #orders = new Map<string, Order>()

  constructor(head: ViewHead, blocks: readonly (ListBlock | undefined)[] = [], ids = new Map<number, string>()) {
    this.head = head
    this.#blocks = blocks
    this.ids = ids
  }

  /** A later view, with other blocks. `places`: the records that may have changed. */
  next(head: ViewHead, changed: ReadonlyMap<number, ListBlock>, places: readonly number[]): ListView {
    const blocks = [...this.#blocks]
    for (const [at, block] of changed) blocks[at] = block
    const view = new ListView(head, blocks, this.ids)
    for (const [name, order] of this.#orders) {
      const part = order.part
      const moved = places.filter((place) => {
        const [was, is] = [this.#isIn(part, place), view.#isIn(part, place)]
        return (was || is) && !(was && is && this.value(place, part.order) === view.value(place, part.order))
      })
      const later = withChanges(order, moved)
      if (later) view.#orders.set(name, later)
    }
    return view
  }

  block(at: number): ListBlock | undefined {
    return this.#blocks[at]
  }

  #get(place: number, column: Column): number {
    return this.#blocks[blockOf(place)]?.[offsets[column] + slotOf(place)] ?? 0
  }

  kind(place: number): ListKind | undefined {
    return listKinds[this.#get(place, 'kind') - 1]
  }

  id(place: number): string {
    return this.ids.get(place) ?? String(this.#get(place, 'number'))
  }

  flag(place: number, name: FlagColumn): boolean {
    return this.#get(place, name) === 1
  }

  /** `noValue`: the record has none. */
  value(place: number, column: SortedColumn): number {
    switch (column) {
      case 'volume':
        return comparedAmount(this.#volume(place))
      case 'liquidity':
        return comparedAmount(firstAmount(this.#get(place, 'liquidityNum'), this.#get(place, 'liquidity')))
      case 'volume_24h':
        return comparedAmount(this.#get(place, 'volume24hr'))
      case 'updated_ms': {
        const updatedMs = this.#get(place, 'updatedAt')
        return Number.isNaN(updatedMs) ? this.#get(place, 'tag_updated_ms') : updatedMs
      }
      case 'rank': {
        const isOpen = this.flag(place, 'active') && !this.flag(place, 'closed') && !this.flag(place, 'archived')
        return rankOf(isOpen, this.#volume(place))
      }
      default:
        return this.#get(place, column)
    }
  }

  #volume(place: number): number {
    return firstAmount(this.#get(place, 'volumeNum'), this.#get(place, 'volume'))
  }

  /** The order is total: value, then number, then id. */
  compare(order: ListOrder, a: number, b: number): number {
    return (
      this.value(a, order) - this.value(b, order) ||
      this.#get(a, 'number') - this.#get(b, 'number') ||
      (this.#get(a, 'number') < hashedFrom ? 0 : compareTexts(this.id(a), this.id(b)))
    )
  }

  /** Compares a record with a position, which may be one that no record has. */
  compareTo(
    order: ListOrder,
    place: number,
    at: { readonly value: number; readonly number: number; readonly id: string },
  ) {
    return (
      this.value(place, order) - at.value ||
      this.#get(place, 'number') - at.number ||
      compareTexts(this.id(place), at.id)
    )
  }

  #isIn({ kind, closed }: ListPart, place: number): boolean {
    return this.kind(place) === kind && (closed === undefined || this.flag(place, 'closed') === closed)
  }

  /** The places of these records, in ascending order. */
  async sorted(part: ListPart): Promise<Uint32Array> {
    const name = `${part.kind} ${part.closed} ${part.order}`
    const known = this.#orders.get(name)
    const { before, moved } = known?.pending ?? { before: undefined, moved: undefined }
    const sorted =
      known?.sorted ??
      sortPlaces(before, moved ?? this.#places(), {
        isIn: (place) => this.#isIn(part, place),
        compare: (a, b) => this.compare(part.order, a, b),
      })
    if (!known?.sorted) this.#orders.set(name, { part, sorted })
    return sorted
  }

  *#places(): Generator<number> {
    for (const [at, block] of this.#blocks.entries())
      for (let slot = 0; block && slot < blockSize; slot++) if (block[slot]) yield numberAt(at, slot)
  }
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b))
