// The epochs in which each validator of a watch list was stored (behaviour/validators.md#watch-lists). The list may
// change: an added validator has no earlier epochs, a removed one no later epochs, and the coverage of responses says
// so.
//
// 1. Validator −1 means all validators. A network without rows has always stored all of them.
// 2. Ranges are written in the transaction of the figures they are about.
// 3. A validator that did not exist before is covered from epoch 0: no duty of it can be missing.
import type { Network } from '#api/wire/validators.ts'
import { merge, type Range, within } from '#core/ranges.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { networkId } from './layout.ts'

const everyone = -1
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
  readonly now: Watched
  /** Validators that existed but were not stored before, and those that are no longer stored; −1: all others. */
  readonly added: readonly number[]
  readonly removed: readonly number[]
}

/** Undefined: nothing was ever written. */
export async function readWatched(duties: StateReader, network: Network): Promise<Watched | undefined> {
  const rows = await allRows(duties, network)
  if (rows.length === 0) return undefined
  const open = rows.filter(({ until }) => until === noEnd).map(({ validator }) => validator)
  return open.includes(everyone) ? 'everyone' : new Set(open)
}

/** Updates the ranges for a segment that begins at `from`. `before`: the state after the previous segment. */
export async function writeWatched(
  tx: StateWriter,
  network: Network,
  from: number,
  watched: WatchedNow | undefined,
  before: Watched | undefined,
  isFirst: boolean,
): Promise<WatchChange | undefined> {
  const now: Watched = watched ? new Set(watched.validators) : 'everyone'
  // Without ranges, earlier figures are of all validators.
  const known = before ?? (isFirst ? new Set<number>() : 'everyone')
  if (now === 'everyone' && (before ?? 'everyone') === 'everyone') return undefined
  const added =
    now === 'everyone' ? [everyone] : [...now].filter((validator) => known === 'everyone' || !known.has(validator))
  const removed =
    known === 'everyone' ? [everyone] : [...known].filter((validator) => now === 'everyone' || !now.has(validator))
  if (added.length === 0 && removed.length === 0) return undefined
  const isNew = (validator: number) => isFirst || (validator !== everyone && validator >= (watched?.countBefore ?? 0))
  const removedSet = new Set(removed)
  const rows = before
    ? await allRows(tx, network)
    : known === 'everyone'
      ? [{ validator: everyone, from: 0, until: noEnd }]
      : []
  await tx.run('delete from watch_ranges where network = ?', networkId(network))
  await insert(tx, network, [
    ...rows
      .map((row) => (row.until === noEnd && removedSet.has(row.validator) ? { ...row, until: from } : row))
      .filter((row) => row.from < row.until),
    ...added.map((validator) => ({ validator, from: isNew(validator) ? 0 : from, until: noEnd })),
  ])
  const lateAdded = known === 'everyone' ? [] : added.filter((validator) => !isNew(validator))
  return lateAdded.length > 0 || removed.length > 0 ? { now, added: lateAdded, removed } : undefined
}

interface WatchRange extends Range {
  readonly validator: number
}

async function allRows(duties: StateReader, network: Network): Promise<WatchRange[]> {
  const rows = await duties.all<{ validator: number; from_epoch: number; until_epoch: number }>(
    'select validator, from_epoch, until_epoch from watch_ranges where network = ?',
    networkId(network),
  )
  return rows.map(({ validator, from_epoch, until_epoch }) => ({ validator, from: from_epoch, until: until_epoch }))
}

async function insert(tx: StateWriter, network: Network, rows: readonly WatchRange[]): Promise<void> {
  const values = rows.map(({ validator, from, until }) => [networkId(network), validator, from, until])
  await tx.insertMany('watch_ranges', ['network', 'validator', 'from_epoch', 'until_epoch'], values)
}

/** Whether the network has, or ever had, a watch list. */
export async function isWatched(duties: StateReader, network: Network): Promise<boolean> {
  const sql = 'select 1 as one from watch_ranges where network = ? limit 1'
  return (await duties.get(sql, networkId(network))) !== undefined
}

/** Epochs at which a validator was added or removed. */
export const watchChanges = async (duties: StateReader, network: Network): Promise<number[]> =>
  (await allRows(duties, network)).flatMap(({ from, until }) => [from, until])

/** Whether a validator was stored in some of these epochs and is no longer on the list. */
export const hasLeft = async (duties: StateReader, network: Network, { from, until }: Range): Promise<boolean> =>
  (await allRows(duties, network)).some((row) => row.until < noEnd && row.until > from && row.from < until)

/** The validators that were stored in all of these epochs. */
export async function keptThrough(duties: StateReader, network: Network, { from, until }: Range): Promise<Watched> {
  const rows = await allRows(duties, network)
  if (rows.length === 0) return 'everyone'
  const kept = rows.filter((row) => row.from <= from && row.until >= until).map(({ validator }) => validator)
  return kept.includes(everyone) ? 'everyone' : new Set(kept)
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
  const rangesByValidator = Map.groupBy(rows, ({ validator }) => validator)
  const rangesOf = (validator: number) => rangesByValidator.get(validator) ?? []
  return [...new Set(validators)].reduce<Range[]>(
    (left, validator) => {
      const own = merge([...rangesOf(validator), ...rangesOf(everyone)])
      return own.flatMap((range) => within(left, range))
    },
    [...covered],
  )
}
