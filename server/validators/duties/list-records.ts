// Counts and pages records from presence alone, without reading their figures.
import type { Range } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { measures } from '../ratings/measures.ts'
import { ChunkReader } from './chunk.ts'
import { type DayPart, type Level, levels, networkId, placeOf, presenceLevel, rowId } from './layout.ts'
import { unpackSet } from './presence.ts'
import { dayIn, type Grain, partsOf, planOf, type RecordKey, type RecordQuery, type Source } from './record-query.ts'
import { dataByIds } from './rows.ts'
import { sumRecords } from './sum-records.ts'

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

/** Rows of presence that are read at a time. */
const rowsAtOnce = 2048

export async function listRecords(
  reader: StateReader,
  { query, after, count }: ListInput,
  signal?: AbortSignal,
): Promise<RecordList> {
  const { sources, grains } = await planOf(reader, query)
  const { byValidator } = query
  const presence = new Presence(reader, query, sources)
  if (presence.rowCount > figureRows(query, sources)) return listByFigures(reader, { query, after, count }, signal)
  const byWindow = Map.groupBy(grains.keys(), (grain) => (grains[grain] as Grain).window)
  const windows = [...byWindow.keys()].sort((a, b) => b - a)
  const first: RecordKey[] = []
  let total = 0
  const windowsAtOnce = Math.max(1, Math.floor((rowsAtOnce * windows.length) / (presence.rowCount + 1)))
  for (let at = 0; at < windows.length; at += windowsAtOnce) {
    signal?.throwIfAborted()
    const some = windows.slice(at, at + windowsAtOnce)
    if (some.length > 1) await presence.read(some.flatMap((window) => byWindow.get(window) as number[]))
    for (const window of some) {
      const own = byWindow.get(window) as number[]
      const found = some.length > 1 ? presence.of(own) : await presence.find(own)
      const isCut = after !== undefined && window >= after.window
      if (!byValidator) {
        if (found.count() === 0) continue
        total += 1
        if (first.length < count) first.push({ window, validator: 0 })
      } else if (isCut || first.length < count) {
        for (const validator of found.members()) {
          if (isCut && validator <= after.validator) continue
          total += 1
          if (first.length < count) first.push({ window, validator })
        }
      } else total += found.count()
    }
  }
  return { total, first }
}

/** How many rows of figures a sum over the same records reads. */
const figureRows = ({ validators }: RecordQuery, sources: readonly Source[]): number =>
  Map.groupBy(sources, ({ level }) => level)
    .entries()
    .reduce((sum, [level, own]) => sum + own.length * stretchesOf(validators, level).length, 0)

/** Few validators that are far apart have fewer rows of figures than there are rows of presence. */
async function listByFigures(
  reader: StateReader,
  { query, after, count }: ListInput,
  signal?: AbortSignal,
): Promise<RecordList> {
  const { window, validator } = await sumRecords(reader, { query, wanted: { measures: [], scores: [] } }, signal)
  const keys = Array.from(window, (own, at): RecordKey => ({ window: own, validator: validator[at] as number }))
    .filter((key) => !after || key.window < after.window || key.validator > after.validator)
    .sort((a, b) => b.window - a.window || a.validator - b.validator)
  return { total: keys.length, first: keys.slice(0, count) }
}

/** Which of the validators have rows in which grains. */
class Presence {
  readonly #reader: StateReader
  readonly #query: RecordQuery
  /** By grain: hours that are added up into it, or day parts. */
  readonly #hours: ReadonlyMap<number, readonly Source[]>
  readonly #parts: ReadonlyMap<number, readonly DayPart[]>
  readonly #validators: ValidatorSet
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
    this.#validators = new ValidatorSet(query.validators)
  }

  /** How many rows there are to read for all grains. */
  get rowCount(): number {
    const parts = this.#parts.values().reduce((sum, { length }) => sum + length, 0)
    const hours = this.#hours.values().reduce((sum, { length }) => sum + length, 0)
    return parts * this.#validators.places.length + hours * stretchesOf(this.#query.validators, levels.hours).length
  }

  /** Reads what `of` needs for these grains. */
  async read(grains: readonly number[]): Promise<void> {
    const { network } = this.#query
    const parts = grains.flatMap((grain) => this.#parts.get(grain) ?? [])
    const ids = parts.flatMap(({ part }) =>
      this.#validators.places.map((place) => rowId(presenceLevel, networkId(network), part, place)),
    )
    const found = await dataByIds(this.#reader, presenceLevel.table, ids)
    this.#sets = new Map(Array.from(found, ([id, data]) => [id, unpackSet(data)]))
    const hours = grains.flatMap((grain) => this.#hours.get(grain) ?? [])
    if (hours.length === 0) return
    const places = [...new Set(this.#query.validators.map((validator) => placeOf(levels.hours, validator)))]
    const hourIds = hours.flatMap(({ firstId }) => places.map((place) => firstId + place))
    this.#rows = await dataByIds(this.#reader, levels.hours.table, hourIds)
  }

  /** As `of`, for a window that may have many grains: some at a time, until all validators have been found. */
  async find(grains: readonly number[]): Promise<ValidatorSet> {
    const found = new ValidatorSet()
    const grainsAtOnce = Math.max(1, Math.floor(rowsAtOnce / (2 * this.#validators.places.length)))
    for (let at = 0; at < grains.length && found.count() < this.#query.validators.length; at += grainsAtOnce) {
      const some = grains.slice(at, at + grainsAtOnce)
      await this.read(some)
      found.addAll([...this.of(some).members()])
    }
    return found
  }

  /** The validators that have a row in one of the grains. */
  of(grains: readonly number[]): ValidatorSet {
    const { network } = this.#query
    const found = new ValidatorSet()
    for (const grain of grains) {
      for (const { part } of this.#parts.get(grain) ?? [])
        for (const place of this.#validators.places)
          found.addFrom(this.#validators, place, this.#sets.get(rowId(presenceLevel, networkId(network), part, place)))
      for (const { firstId } of this.#hours.get(grain) ?? []) found.addAll(this.#inHour(firstId))
    }
    return found
  }

  #inHour(firstId: number): number[] {
    const { validators } = this.#query
    return stretchesOf(validators, levels.hours).flatMap(({ place, from, until }) => {
      const data = this.#rows.get(firstId + place)
      if (!data) return []
      const chunk = this.#chunk.open(data)
      return validators.slice(from, until).filter((validator) => chunk.isPresent(validator % levels.hours.validators))
    })
  }
}

/** Validators as bits, 32 768 of them in one bitmap: counting them is a matter of words, not of validators. */
class ValidatorSet {
  readonly #bits = new Map<number, Uint32Array>()

  constructor(validators: readonly number[] = []) {
    this.addAll(validators)
  }

  /** The bitmaps that it has. */
  get places(): readonly number[] {
    return [...this.#bits.keys()]
  }

  addAll(validators: readonly number[]): void {
    for (const validator of validators) {
      const words = this.#wordsAt(placeOf(presenceLevel, validator))
      const number = validator % presenceLevel.validators
      words[number >> 5] = (words[number >> 5] as number) | (1 << (number & 31))
    }
  }

  /** Adds those of the other set that are in this bitmap as well. */
  addFrom(other: ValidatorSet, place: number, set: Uint8Array | undefined): void {
    const own = other.#bits.get(place)
    if (!set || !own) return
    const [words, more] = [this.#wordsAt(place), new Uint32Array(set.buffer)]
    for (let at = 0; at < words.length; at++)
      words[at] = (words[at] as number) | ((more[at] as number) & (own[at] as number))
  }

  count(): number {
    let count = 0
    for (const words of this.#bits.values())
      for (let at = 0; at < words.length; at++) count += bitsIn(words[at] as number)
    return count
  }

  /** In rising order. */
  *members(): Generator<number> {
    for (const place of this.places.toSorted((a, b) => a - b)) {
      const words = this.#bits.get(place) as Uint32Array
      for (let at = 0; at < words.length; at++) {
        const word = words[at] as number
        if (word === 0) continue
        for (let bit = 0; bit < 32; bit++)
          if (((word >>> bit) & 1) === 1) yield place * presenceLevel.validators + at * 32 + bit
      }
    }
  }

  #wordsAt(place: number): Uint32Array {
    const known = this.#bits.get(place) ?? new Uint32Array(presenceLevel.validators / 32)
    this.#bits.set(place, known)
    return known
  }
}

/** How many bits of a 32-bit word are set. */
function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
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
