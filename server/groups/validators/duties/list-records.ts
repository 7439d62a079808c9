// Counts and pages records from presence alone, without reading their figures.
import type { Range } from '#core/ranges.ts'
import type { StateReader } from '#store/state.ts'
import { measures } from '../measures.ts'
import { ChunkReader } from './chunk.ts'
import { type DayPart, type Level, levels, networkId, placeOf, presenceLevel, rowId } from './layout.ts'
import { hasMember, unpackSet } from './presence.ts'
import { dayIn, type Grain, partsOf, planOf, type RecordKey, type RecordQuery, type Source } from './record-query.ts'
import { dataByIds } from './rows.ts'

export interface ListInput {
  readonly query: RecordQuery
  /** Of this window and newer ones: leaves out the validators up to this one. */
  readonly after?: RecordKey | undefined
  /** How many of the first records to name. */
  readonly count: number
}

export interface RecordList {
  readonly total: number
  /** Newest window first, then by validator. */
  readonly first: readonly RecordKey[]
}

/** Windows whose presence is read at a time. */
const windowsAtOnce = 32

export async function listRecords(
  reader: StateReader,
  { query, after, count }: ListInput,
  signal?: AbortSignal,
): Promise<RecordList> {
  const { sources, grains } = await planOf(reader, query)
  const { validators, byValidator } = query
  const presence = new Presence(reader, query, sources)
  const byWindow = Map.groupBy(grains.keys(), (grain) => (grains[grain] as Grain).window)
  const windows = [...byWindow.keys()].sort((a, b) => b - a)
  const first: RecordKey[] = []
  let total = 0
  for (let at = 0; at < windows.length; at += windowsAtOnce) {
    signal?.throwIfAborted()
    const some = windows.slice(at, at + windowsAtOnce)
    await presence.read(some.flatMap((window) => byWindow.get(window) as number[]))
    for (const window of some) {
      const isThere = presence.of(byWindow.get(window) as number[])
      if (!byValidator) {
        if (!isThere.includes(1)) continue
        total += 1
        if (first.length < count) first.push({ window, validator: 0 })
        continue
      }
      for (let place = 0; place < isThere.length; place++) {
        if (isThere[place] === 0) continue
        const validator = validators[place] as number
        if (after && window >= after.window && validator <= after.validator) continue
        total += 1
        if (first.length < count) first.push({ window, validator })
      }
    }
  }
  return { total, first }
}

/** Which of the validators have rows in which grains. */
class Presence {
  readonly #reader: StateReader
  readonly #query: RecordQuery
  /** By grain: hours that are added up into it, or day parts. */
  readonly #hours: ReadonlyMap<number, readonly Source[]>
  readonly #parts: ReadonlyMap<number, readonly DayPart[]>
  /** Stretches of the validators that share a row of presence. */
  readonly #stretches: readonly (Range & { readonly place: number })[]
  #sets = new Map<number, Uint8Array>()
  #rows = new Map<number, Uint8Array>()
  readonly #chunk = new ChunkReader(measures.length)

  constructor(reader: StateReader, query: RecordQuery, sources: readonly Source[]) {
    this.#reader = reader
    this.#query = query
    const hours = sources.filter(({ level }) => level === levels.hours)
    this.#hours = Map.groupBy(hours, ({ grains }) => grains[0] as number)
    const { days, cut } = query
    const isWhole = ({ day }: { readonly day: number }) =>
      !cut || (day >= cut.wholeDays.from && day < cut.wholeDays.until)
    this.#parts =
      query.grain === 'hours'
        ? new Map()
        : Map.groupBy(partsOf(query, days).filter(isWhole), (part) => dayIn(query, part) - days.from)
    this.#stretches = stretchesOf(query.validators, presenceLevel)
  }

  /** Reads what `of` needs for these grains. */
  async read(grains: readonly number[]): Promise<void> {
    const { network } = this.#query
    const parts = grains.flatMap((grain) => this.#parts.get(grain) ?? [])
    const ids = parts.flatMap(({ part }) =>
      this.#stretches.map(({ place }) => rowId(presenceLevel, networkId(network), part, place)),
    )
    const found = await dataByIds(this.#reader, presenceLevel.table, ids)
    this.#sets = new Map(Array.from(found, ([id, data]) => [id, unpackSet(data)]))
    const places = [...new Set(this.#query.validators.map((validator) => placeOf(levels.hours, validator)))]
    const hours = grains.flatMap((grain) => this.#hours.get(grain) ?? [])
    const hourIds = hours.flatMap(({ firstId }) => places.map((place) => firstId + place))
    this.#rows = await dataByIds(this.#reader, levels.hours.table, hourIds)
  }

  /** One entry per validator: 1 where it has a row in one of the grains. */
  of(grains: readonly number[]): Uint8Array {
    const isThere = new Uint8Array(this.#query.validators.length)
    for (const grain of grains) {
      for (const { part } of this.#parts.get(grain) ?? []) this.#markPart(part, isThere)
      for (const { firstId } of this.#hours.get(grain) ?? []) this.#markHour(firstId, isThere)
    }
    return isThere
  }

  #markPart(part: number, isThere: Uint8Array): void {
    const { network, validators } = this.#query
    for (const { place, from, until } of this.#stretches) {
      const set = this.#sets.get(rowId(presenceLevel, networkId(network), part, place))
      if (!set) continue
      const first = place * presenceLevel.validators
      for (let at = from; at < until; at++) if (hasMember(set, (validators[at] as number) - first)) isThere[at] = 1
    }
  }

  #markHour(firstId: number, isThere: Uint8Array): void {
    const { validators } = this.#query
    for (const { place, from, until } of stretchesOf(validators, levels.hours)) {
      const data = this.#rows.get(firstId + place)
      if (!data) continue
      this.#chunk.open(data)
      for (let at = from; at < until; at++)
        if (this.#chunk.isPresent((validators[at] as number) % levels.hours.validators)) isThere[at] = 1
    }
  }
}

/** Stretches of these validators, which rise, that lie in one row. */
function stretchesOf(validators: readonly number[], level: Level): (Range & { readonly place: number })[] {
  const stretches: { place: number; from: number; until: number }[] = []
  validators.forEach((validator, at) => {
    const place = placeOf(level, validator)
    const last = stretches.at(-1)
    if (last?.place === place) last.until = at + 1
    else stretches.push({ place, from: at, until: at + 1 })
  })
  return stretches
}
