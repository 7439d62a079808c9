// Counts and pages records from presence (presence.ts), without reading their figures.
import type { StateReader } from '#storage/state.ts'
import { measures } from '../method/measures.ts'
import { type DayPart, groupOf, groupsOf, levels, networkId, presenceLevel, rowId } from './layout.ts'
import { RowReader } from './packed-row.ts'
import { addValidator, emptySet, membersOf, unpackSet } from './presence.ts'
import {
  allUnitRows,
  dayIn,
  type Grain,
  partsOf,
  planOf,
  type RecordKey,
  type RecordQuery,
  type UnitSelection,
} from './record-query.ts'
import { dataByIds } from './rows.ts'
import { sumRecords } from './sum-records.ts'

export interface ListInput {
  readonly query: RecordQuery
  /** In this window and newer ones, skips validators up to this one. */
  readonly after?: RecordKey | undefined
  /** The number of records to list. */
  readonly count: number
  /** As for sums (record-sums.ts). */
  readonly figures?: string | undefined
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
  const { grains, hourParts } = plan
  const unitRows = [...hourParts, ...(await allUnitRows(reader, query, plan))]
  const { byValidator, validators } = query
  const presence = createPresence(reader, query, hourParts)
  if (presence.rowCount > figureRows(query, unitRows)) return listByFigures(reader, { query, after, count }, signal)
  const first: RecordKey[] = []
  let total = 0
  const addWindow = (window: number, members: ValidatorSet) => {
    const isCut = after !== undefined && window >= after.window
    if (!byValidator) {
      if (members.count() === 0) return
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
  // The newest first. The grains of a window follow each other.
  const order = [...grains.keys()].reverse()
  const grainsAtOnce = Math.max(1, Math.floor((rowsAtOnce * order.length) / (presence.rowCount + 1)))
  const windowOf = (grain: number) => (grains[grain] as Grain).window
  let window = grains.at(-1)?.window ?? 0
  let members = new ValidatorSet()
  for (let at = 0; at < order.length; at += grainsAtOnce) {
    signal?.throwIfAborted()
    // The rest of a window is not read if all validators have been found.
    const isComplete = members.count() === validators.length
    const batch = order.slice(at, at + grainsAtOnce).filter((grain) => !(isComplete && windowOf(grain) === window))
    await presence.read(batch)
    for (const grain of batch) {
      if (windowOf(grain) !== window) {
        addWindow(window, members)
        window = windowOf(grain)
        members = new ValidatorSet()
      }
      presence.addMembers(members, grain)
    }
  }
  addWindow(window, members)
  return { total, first }
}

/** The number of rows that a sum over the same records reads. */
const figureRows = ({ validators }: RecordQuery, unitRows: readonly UnitSelection[]): number =>
  Map.groupBy(unitRows, ({ level }) => level)
    .entries()
    .reduce((sum, [level, units]) => sum + units.length * groupsOf(level, validators).length, 0)

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
function createPresence(reader: StateReader, query: RecordQuery, hourParts: readonly UnitSelection[]) {
  const { network, days, validators } = query
  const wholeDays = (query.grain === 'days' && query.hourBounds?.wholeDays) || days
  const isWhole = (part: DayPart) => dayIn(query, part) >= wholeDays.from && dayIn(query, part) < wholeDays.until
  /** By grain: its hours, or its day parts. */
  const hoursByGrain = Map.groupBy(hourParts, ({ grainOfCell }) => grainOfCell[0] as number)
  const partsByGrain: ReadonlyMap<number, readonly DayPart[]> =
    query.grain === 'hours'
      ? new Map()
      : Map.groupBy(partsOf(query, days).filter(isWhole), (part) => dayIn(query, part) - days.from)
  const wanted = new ValidatorSet(validators)
  const hourGroups = groupsOf(levels.hours, validators)
  const rowReader = new RowReader(measures.length)
  let sets = new Map<number, Uint8Array>()
  let rows = new Map<number, Uint8Array>()

  const setId = (part: number, group: number) => rowId(presenceLevel, networkId(network), part, group)

  /** Reads the rows that `addMembers` needs for these grains. */
  async function read(grains: readonly number[]): Promise<void> {
    const parts = grains.flatMap((grain) => partsByGrain.get(grain) ?? [])
    const ids = parts.flatMap(({ number }) => wanted.groups.map((group) => setId(number, group)))
    const data = await dataByIds(reader, presenceLevel.table, ids)
    sets = new Map(Array.from(data, ([id, packed]) => [id, unpackSet(packed)]))
    const grainHours = grains.flatMap((grain) => hoursByGrain.get(grain) ?? [])
    if (grainHours.length === 0) return
    const hourIds = grainHours.flatMap(({ firstRowId }) => hourGroups.map((group) => firstRowId + group))
    rows = await dataByIds(reader, levels.hours.table, hourIds)
  }

  /** Adds the validators that have a row in the grain. */
  function addMembers(members: ValidatorSet, grain: number): void {
    for (const { number: part } of partsByGrain.get(grain) ?? [])
      for (const group of wanted.groups) members.addCommon(wanted, group, sets.get(setId(part, group)))
    for (const { firstRowId } of hoursByGrain.get(grain) ?? []) members.addAll(membersInHour(firstRowId))
  }

  function membersInHour(firstRowId: number): number[] {
    let open: Uint8Array | undefined
    return validators.filter((validator) => {
      const data = rows.get(firstRowId + groupOf(levels.hours, validator))
      if (!data) return false
      if (data !== open) rowReader.open(data)
      open = data
      return rowReader.isPresent(validator % levels.hours.validators)
    })
  }

  const countAll = (units: Iterable<readonly unknown[]>) => [...units].reduce((sum, { length }) => sum + length, 0)
  return {
    read,
    addMembers,
    /** The number of rows to read for all grains. */
    rowCount:
      countAll(partsByGrain.values()) * wanted.groups.length + countAll(hoursByGrain.values()) * hourGroups.length,
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
