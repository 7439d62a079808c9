// Counts and pages records from presence (presence.ts), without reading their figures.
import type { Range } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { measures } from '../ratings/measures.ts'
import { ChunkReader } from './chunk.ts'
import { type DayPart, groupOf, type Level, levels, networkId, presenceLevel, rowId } from './layout.ts'
import { addValidator, emptySet, membersOf, unpackSet } from './presence.ts'
import {
  dayIn,
  daySources,
  type Grain,
  partsOf,
  planOf,
  type RecordKey,
  type RecordQuery,
  type Source,
} from './record-query.ts'
import { dataByIds } from './rows.ts'
import { sumRecords } from './sum-records.ts'

export interface ListInput {
  readonly query: RecordQuery
  /** In this window and newer ones, skips validators up to this one. */
  readonly after?: RecordKey | undefined
  /** The number of records to list. */
  readonly count: number
}

export interface RecordList {
  readonly total: number
  /** Newest window first, then by validator. */
  readonly first: readonly RecordKey[]
}

/** Rows of presence per batch. */
const rowsAtOnce = 2048

export async function listRecords(
  reader: StateReader,
  { query, after, count }: ListInput,
  signal?: AbortSignal,
): Promise<RecordList> {
  const plan = planOf(query)
  const { grains, hours } = plan
  const sources = [...hours, ...(await daySources(reader, query, plan))]
  const { byValidator } = query
  const presence = createPresence(reader, query, hours)
  if (presence.rowCount > figureRows(query, sources)) return listByFigures(reader, { query, after, count }, signal)
  const byWindow = Map.groupBy(grains.keys(), (grain) => (grains[grain] as Grain).window)
  const windows = [...byWindow.keys()].sort((a, b) => b - a)
  const first: RecordKey[] = []
  let total = 0
  const windowsAtOnce = Math.max(1, Math.floor((rowsAtOnce * windows.length) / (presence.rowCount + 1)))
  for (let at = 0; at < windows.length; at += windowsAtOnce) {
    signal?.throwIfAborted()
    const batch = windows.slice(at, at + windowsAtOnce)
    if (batch.length > 1) await presence.read(batch.flatMap((window) => byWindow.get(window) as number[]))
    for (const window of batch) {
      const ownGrains = byWindow.get(window) as number[]
      const members = batch.length > 1 ? presence.membersIn(ownGrains) : await presence.readMembersIn(ownGrains)
      const isCut = after !== undefined && window >= after.window
      if (!byValidator) {
        if (members.count() === 0) continue
        total += 1
        if (first.length < count) first.push({ window, validator: 0 })
      } else if (isCut || first.length < count) {
        for (const validator of members.members()) {
          if (isCut && validator <= after.validator) continue
          total += 1
          if (first.length < count) first.push({ window, validator })
        }
      } else total += members.count()
    }
  }
  return { total, first }
}

/** The number of rows that a sum over the same records reads. */
const figureRows = ({ validators }: RecordQuery, sources: readonly Source[]): number =>
  Map.groupBy(sources, ({ level }) => level)
    .entries()
    .reduce((sum, [level, units]) => sum + units.length * groupRuns(validators, level).length, 0)

/** For few validators with distant indices, there are fewer rows of figures than rows of presence. */
async function listByFigures(
  reader: StateReader,
  { query, after, count }: ListInput,
  signal?: AbortSignal,
): Promise<RecordList> {
  const { window, validator } = await sumRecords(reader, { query, wanted: { measures: [], scores: [] } }, signal)
  const keys = Array.from(
    window,
    (windowKey, at): RecordKey => ({ window: windowKey, validator: validator[at] as number }),
  )
    .filter((key) => !after || key.window < after.window || key.validator > after.validator)
    .sort((a, b) => b.window - a.window || a.validator - b.validator)
  return { total: keys.length, first: keys.slice(0, count) }
}

/** Which of the validators have rows in which grains. */
function createPresence(reader: StateReader, query: RecordQuery, hours: readonly Source[]) {
  const { network, days, cut, validators } = query
  const isWhole = ({ day }: { readonly day: number }) =>
    !cut || (day >= cut.wholeDays.from && day < cut.wholeDays.until)
  /** By grain: its hours, or its day parts. */
  const hoursByGrain = Map.groupBy(hours, ({ grains }) => grains[0] as number)
  const partsByGrain: ReadonlyMap<number, readonly DayPart[]> =
    query.grain === 'hours'
      ? new Map()
      : Map.groupBy(partsOf(query, days).filter(isWhole), (part) => dayIn(query, part) - days.from)
  const wanted = new ValidatorSet(validators)
  const chunkReader = new ChunkReader(measures.length)
  let sets = new Map<number, Uint8Array>()
  let rows = new Map<number, Uint8Array>()

  const setId = (part: number, group: number) => rowId(presenceLevel, networkId(network), part, group)

  /** Reads the rows that `membersIn` needs for these grains. */
  async function read(grains: readonly number[]): Promise<void> {
    const parts = grains.flatMap((grain) => partsByGrain.get(grain) ?? [])
    const ids = parts.flatMap(({ part }) => wanted.groups.map((group) => setId(part, group)))
    const data = await dataByIds(reader, presenceLevel.table, ids)
    sets = new Map(Array.from(data, ([id, packed]) => [id, unpackSet(packed)]))
    const grainHours = grains.flatMap((grain) => hoursByGrain.get(grain) ?? [])
    if (grainHours.length === 0) return
    const groups = [...new Set(validators.map((validator) => groupOf(levels.hours, validator)))]
    const hourIds = grainHours.flatMap(({ firstId }) => groups.map((group) => firstId + group))
    rows = await dataByIds(reader, levels.hours.table, hourIds)
  }

  /** The validators that have a row in one of the grains. */
  function membersIn(grains: readonly number[]): ValidatorSet {
    const members = new ValidatorSet()
    for (const grain of grains) {
      for (const { part } of partsByGrain.get(grain) ?? [])
        for (const group of wanted.groups) members.addCommon(wanted, group, sets.get(setId(part, group)))
      for (const { firstId } of hoursByGrain.get(grain) ?? []) members.addAll(membersInHour(firstId))
    }
    return members
  }

  function membersInHour(firstId: number): number[] {
    return groupRuns(validators, levels.hours).flatMap(({ group, from, until }) => {
      const data = rows.get(firstId + group)
      if (!data) return []
      const chunk = chunkReader.open(data)
      return validators.slice(from, until).filter((validator) => chunk.isPresent(validator % levels.hours.validators))
    })
  }

  const countAll = (units: Iterable<readonly unknown[]>) => [...units].reduce((sum, { length }) => sum + length, 0)
  return {
    read,
    membersIn,
    /** The number of rows to read for all grains. */
    rowCount:
      countAll(partsByGrain.values()) * wanted.groups.length +
      countAll(hoursByGrain.values()) * groupRuns(validators, levels.hours).length,
    /** Like `membersIn`, for a window with many grains: reads them in batches until all validators have been found. */
    async readMembersIn(grains: readonly number[]): Promise<ValidatorSet> {
      const members = new ValidatorSet()
      const grainsAtOnce = Math.max(1, Math.floor(rowsAtOnce / (2 * wanted.groups.length)))
      for (let at = 0; at < grains.length && members.count() < validators.length; at += grainsAtOnce) {
        const batch = grains.slice(at, at + grainsAtOnce)
        await read(batch)
        members.addAll([...membersIn(batch).members()])
      }
      return members
    },
  }
}

/** A set of validators: one bitmap per group of 32 768 (presence.ts). */
class ValidatorSet {
  readonly #sets = new Map<number, Uint8Array>()

  constructor(validators: readonly number[] = []) {
    this.addAll(validators)
  }

  /** Groups that have a bitmap. */
  get groups(): readonly number[] {
    return [...this.#sets.keys()]
  }

  addAll(validators: readonly number[]): void {
    for (const validator of validators) addValidator(this.#sets, validator)
  }

  /** Adds the validators of `other` that are also in the bitmap `set` of this group. */
  addCommon(other: ValidatorSet, group: number, set: Uint8Array | undefined): void {
    const otherSet = other.#sets.get(group)
    if (!set || !otherSet) return
    const [words, setWords, otherWords] = [
      wordsOf(this.#sets.getOrInsertComputed(group, emptySet)),
      wordsOf(set),
      wordsOf(otherSet),
    ]
    for (let at = 0; at < words.length; at++)
      words[at] = (words[at] as number) | ((setWords[at] as number) & (otherWords[at] as number))
  }

  count(): number {
    let count = 0
    for (const set of this.#sets.values()) {
      const words = wordsOf(set)
      for (let at = 0; at < words.length; at++) count += countBits(words[at] as number)
    }
    return count
  }

  /** In ascending order. */
  *members(): Generator<number> {
    for (const group of this.groups.toSorted((a, b) => a - b))
      for (const member of membersOf(this.#sets.get(group) as Uint8Array))
        yield group * presenceLevel.validators + member
  }
}

/** Combining and counting goes by words, for speed. */
const wordsOf = (set: Uint8Array): Uint32Array => new Uint32Array(set.buffer)

/** The number of set bits of a 32-bit word. */
function countBits(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** Divides ascending validators into runs that share a row. */
function groupRuns(validators: readonly number[], level: Level): (Range & { readonly group: number })[] {
  const runs: { group: number; from: number; until: number }[] = []
  validators.forEach((validator, at) => {
    const group = groupOf(level, validator)
    const last = runs.at(-1)
    if (last?.group === group) last.until = at + 1
    else runs.push({ group, from: at, until: at + 1 })
  })
  return runs
}
