// The epochs in which each validator of a watch list was stored (behaviour/validators.md#watch-lists). The list may
// change: an added validator has earlier epochs only as far as they were read later, a removed one has no later epochs,
// and responses do not report such epochs as covered.
//
// 1. Validator −1 means all validators. A network without rows has always stored all of them. If no validator of the
//    first list exists yet, the row is an empty range.
// 2. Ranges are written in the transaction of the figures they are about.
// 3. A validator that did not exist before is covered from epoch 0: no duty of it can be missing.
// 4. The range without an end starts where the validator was added. Ranges before it are never joined to it, so that
//    this epoch stays known.
import type { Network } from '#api/contract/wire/validators.ts'
import { holes, merge, type Range, within } from '#core/ranges.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { networkId } from './layout.ts'

/** Stands for all validators in ranges. */
export const everyone = -1
/** The range has no end yet. This is the largest number of the column. */
const noEnd = 2 ** 31 - 1

/** The stored validators in ascending order, and the number of all validators at the start and end of the segment. */
export interface WatchedNow {
  readonly validators: Int32Array
  readonly countBefore: number
  readonly count: number
}

/** The validators that are stored at present. */
export type Watched = 'everyone' | ReadonlySet<number>

export interface WatchChange {
  readonly fromEpoch: number
  /** Validators that existed but were not stored before, and those that are no longer stored; −1: all others. */
  readonly added: readonly number[]
  readonly removed: readonly number[]
}

/** Undefined: nothing was ever written. */
export async function readWatched(duties: StateReader, network: Network): Promise<Watched | undefined> {
  const rows = await allRows(duties, network)
  return rows.length === 0 ? undefined : watchedIn(rows)
}

function watchedIn(rows: readonly WatchRange[]): Watched {
  const open = new Set(rows.filter(({ until }) => until === noEnd).map(({ validator }) => validator))
  return open.has(everyone) ? 'everyone' : open
}

/** Updates the ranges for a segment that begins at `from`. `isFirst`: no epoch was stored before. */
export async function writeWatched(
  tx: StateWriter,
  network: Network,
  from: number,
  watched: WatchedNow | undefined,
  isFirst: boolean,
): Promise<WatchChange | undefined> {
  const now: Watched = watched ? new Set(watched.validators) : 'everyone'
  const stored = await allRows(tx, network)
  // Without ranges, earlier figures are of all validators.
  const rows = stored.length === 0 && !isFirst ? [{ validator: everyone, from: 0, until: noEnd }] : stored
  const known = watchedIn(rows)
  if (now === 'everyone' && (stored.length === 0 || known === 'everyone')) return undefined
  const added =
    now === 'everyone' ? [everyone] : [...now].filter((validator) => known === 'everyone' || !known.has(validator))
  const removed =
    known === 'everyone' ? [everyone] : [...known].filter((validator) => now === 'everyone' || !now.has(validator))
  if (added.length === 0 && removed.length === 0) {
    if (isFirst) await insert(tx, network, [{ validator: everyone, from: 0, until: 0 }])
    return undefined
  }
  const isNew = (validator: number) => isFirst || (validator !== everyone && validator >= (watched?.countBefore ?? 0))
  const removedSet = new Set(removed)
  await tx.run('delete from watch_ranges where network = ?', networkId(network))
  await insert(tx, network, [
    ...rows
      .map((row) => (row.until === noEnd && removedSet.has(row.validator) ? { ...row, until: from } : row))
      .filter((row) => row.from < row.until),
    ...added.map((validator) => ({ validator, from: isNew(validator) ? 0 : from, until: noEnd })),
  ])
  const lateAdded = known === 'everyone' ? [] : added.filter((validator) => !isNew(validator))
  return lateAdded.length > 0 || removed.length > 0 ? { fromEpoch: from, added: lateAdded, removed } : undefined
}

/** Adds epochs before the end of the coverage to the ranges of these validators. */
export async function addWatchRanges(
  tx: StateWriter,
  network: Network,
  { from, until }: Range,
  validators: Iterable<number>,
): Promise<void> {
  // Ranges that overlap or touch, of any validator.
  const adjacent = 'where network = ? and from_epoch <= ? and until_epoch >= ? and until_epoch < ?'
  const values = [networkId(network), until, from, noEnd]
  const rowsByValidator = Map.groupBy(await rowsWhere(tx, adjacent, values), ({ validator }) => validator)
  for (const validator of validators) {
    const joined = merge([...(rowsByValidator.get(validator) ?? []), { from, until }])
    rowsByValidator.set(
      validator,
      joined.map((range) => ({ validator, ...range })),
    )
  }
  await tx.run(`delete from watch_ranges ${adjacent}`, ...values)
  await insert(tx, network, [...rowsByValidator.values()].flat())
}

/** Adds a filled gap to the ranges of the validators that were stored in it. */
export async function addFilledGap(
  tx: StateWriter,
  network: Network,
  epochs: Range,
  watched: WatchedNow | undefined,
): Promise<void> {
  const kept = await keptThrough(tx, network, epochs)
  if (kept === 'everyone') return
  const added = watched ? watched.validators.filter((one) => !kept.has(one)) : [everyone]
  await addWatchRanges(tx, network, epochs, added)
}

/** Whether all validators were stored in all of these epochs. */
export async function storesEveryone(
  duties: StateReader,
  network: Network,
  epochs: readonly Range[],
): Promise<boolean> {
  const kept = await keptEpochs(duties, network, epochs, [everyone])
  return epochs.every((range) => holes(kept, range).length === 0)
}

/**
 * The epochs before each present validator was added in which it is not stored, by validator; −1: all validators that
 * are stored in no other range. `startOf`: the first epoch to consider for a validator that was added at an epoch.
 */
export async function missingPast(
  duties: StateReader,
  network: Network,
  covered: readonly Range[],
  startOf: (added: number) => number,
): Promise<ReadonlyMap<number, readonly Range[]>> {
  const rows = await allRows(duties, network)
  const rangesOf = groupRanges(rows)
  const missing = new Map<number, readonly Range[]>()
  for (const { validator, from: added, until } of rows) {
    if (until < noEnd || added === 0) continue
    const stored = rangesOf(validator)
    const epochs = within(covered, { from: startOf(added), until: added }).flatMap((range) => holes(stored, range))
    if (epochs.length > 0) missing.set(validator, epochs)
  }
  return missing
}

interface WatchRange extends Range {
  readonly validator: number
}

const allRows = (duties: StateReader, network: Network): Promise<WatchRange[]> =>
  rowsWhere(duties, 'where network = ?', [networkId(network)])

const rowsWhere = (duties: StateReader, where: string, values: readonly number[]): Promise<WatchRange[]> =>
  duties.all<WatchRange>(
    `select validator, from_epoch as "from", until_epoch as "until" from watch_ranges ${where}`,
    ...values,
  )

/** The merged ranges of a validator, including those in which all validators were stored. */
function groupRanges(rows: readonly WatchRange[]): (validator: number) => Range[] {
  const byValidator = Map.groupBy(rows, ({ validator }) => validator)
  const ofEveryone = byValidator.get(everyone) ?? []
  return (validator) =>
    merge(validator === everyone ? ofEveryone : [...(byValidator.get(validator) ?? []), ...ofEveryone])
}

async function insert(tx: StateWriter, network: Network, rows: readonly WatchRange[]): Promise<void> {
  const values = rows.map(({ validator, from, until }) => [networkId(network), validator, from, until])
  await tx.insertMany('watch_ranges', ['network', 'validator', 'from_epoch', 'until_epoch'], values)
}

/** Another text whenever ranges have changed; undefined: there are none. */
export async function watchRangesVersion(duties: StateReader, network: Network): Promise<string | undefined> {
  const sql = `select count(*) as ranges, cast(sum(from_epoch) as bigint) as starts, cast(sum(until_epoch) as bigint) as ends
     from watch_ranges where network = ?`
  const row = await duties.get<{ ranges: number; starts: number; ends: number }>(sql, networkId(network))
  return row && row.ranges > 0 ? `${row.ranges} ${row.starts} ${row.ends}` : undefined
}

/** Epochs at which ranges begin and end, each once. */
export const watchChanges = async (duties: StateReader, network: Network): Promise<number[]> => [
  ...new Set((await allRows(duties, network)).flatMap(({ from, until }) => [from, until])),
]

/** Whether a validator was stored in some of these epochs and is no longer on the list. */
export async function hasLeft(duties: StateReader, network: Network, { from, until }: Range): Promise<boolean> {
  const rows = await allRows(duties, network)
  const present = watchedIn(rows)
  if (present === 'everyone') return false
  return rows.some((row) => row.until > from && row.from < until && !present.has(row.validator))
}

/** The validators that were stored in all of these epochs. */
export async function keptThrough(duties: StateReader, network: Network, epochs: Range): Promise<Watched> {
  const rows = await allRows(duties, network)
  if (rows.length === 0) return 'everyone'
  const rangesOf = groupRanges(rows)
  const isKept = (validator: number) => holes(rangesOf(validator), epochs).length === 0
  if (isKept(everyone)) return 'everyone'
  return new Set([...new Set(rows.map(({ validator }) => validator))].filter(isKept))
}

/** The covered epochs in which all of these validators were stored. */
export async function keptEpochs(
  duties: StateReader,
  network: Network,
  covered: readonly Range[],
  validators: readonly number[],
): Promise<Range[]> {
  const rows = await allRows(duties, network)
  if (rows.length === 0) return [...covered]
  const rangesOf = groupRanges(rows)
  return [...new Set(validators)].reduce<Range[]>(
    (left, validator) => rangesOf(validator).flatMap((range) => within(left, range)),
    [...covered],
  )
}
