// Sorts the records of a list. An order is kept until records in it move. Then only these are sorted, and merged into the
// others. It is computed when a list needs it.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { ListPart } from './list-view.ts'

/** One of both. */
export interface Order {
  readonly part: ListPart
  readonly sorted?: Promise<Uint32Array>
  readonly pending?: {
    /** The order of an earlier view. */
    readonly before: Promise<Uint32Array>
    /** The records that have moved since, also into it or out of it. */
    readonly moved: ReadonlySet<number>
  }
}

/** Beyond it, all are sorted again. */
const movedMax = 10_000
/** Records that are sorted in one turn of the event loop. */
const placesPerTurn = 10_000

/** The order of a later view in which these records have moved. Undefined: it is to be computed anew. */
export function withChanges(order: Order, moved: readonly number[]): Order | undefined {
  if (moved.length === 0) return order
  const { part, sorted, pending } = order
  const before = sorted ?? pending?.before
  const all = new Set([...(pending?.moved ?? []), ...moved])
  return before && all.size <= movedMax ? { part, pending: { before, moved: all } } : undefined
}

export async function sortPlaces(
  before: Promise<Uint32Array> | undefined,
  moved: Iterable<number>,
  { isIn, compare }: { readonly isIn: (place: number) => boolean; readonly compare: (a: number, b: number) => number },
): Promise<Uint32Array> {
  const isMoved = new Set(before ? moved : [])
  let sorted: Uint32Array = before ? (await before).filter((place) => !isMoved.has(place)) : new Uint32Array()
  const added = Uint32Array.from(moved).filter(isIn)
  for (let from = 0; from < added.length; from += placesPerTurn) {
    const part = added.subarray(from, from + placesPerTurn).sort(compare)
    sorted = sorted.length === 0 ? part : mergePlaces(sorted, part, compare)
    await nextEventLoopTurn()
  }
  return sorted
}

function mergePlaces(a: Uint32Array, b: Uint32Array, compare: (a: number, b: number) => number): Uint32Array {
  const merged = new Uint32Array(a.length + b.length)
  let [atA, atB] = [0, 0]
  for (let at = 0; at < merged.length; at++) {
    const [nextA, nextB] = [a[atA], b[atB]]
    const isA = nextB === undefined || (nextA !== undefined && compare(nextA, nextB) <= 0)
    merged[at] = (isA ? nextA : nextB) as number
    if (isA) atA += 1
    else atB += 1
  }
  return merged
}
