// Since when each validator of a watch list has been kept (behaviour/validators.md#watch-lists). A list may change: whoever is added has no past,
// whoever is removed no more future, and answers can say so.
//
// 1. Validator −1 stands for everyone. A network without any row has always kept everyone.
// 2. Ranges are written in the transaction of the rows they speak of.
// 3. Whoever did not exist before is kept from the beginning: there was nothing to miss.
import type { Network } from '#api/wire/validators.ts'
import { merge, type Range, within } from '#core/ranges.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { networkId } from './layout.ts'

const everyone = -1
/** Until now and on; the largest number of the column. */
const still = 2 ** 31 - 1

/** Who is kept, in rising order, and how many validators there were when the segment began and ended. */
export interface WatchedNow {
  readonly validators: Int32Array
  readonly countBefore: number
  readonly count: number
}

/** Who is kept at present. */
export type Watched = 'everyone' | ReadonlySet<number>

export interface WatchChange {
  readonly now: Watched
  /** Validators who were there and were not kept, and those who are kept no more; −1: all others. */
  readonly added: readonly number[]
  readonly removed: readonly number[]
}

/** Undefined: nothing was ever written. */
export async function readWatched(duties: StateReader, network: Network): Promise<Watched | undefined> {
  const rows = await allRows(duties, network)
  if (rows.length === 0) return undefined
  const open = rows.filter(({ until }) => until === still).map(({ validator }) => validator)
  return open.includes(everyone) ? 'everyone' : new Set(open)
}

/** Brings the ranges up to date for a segment that begins at `from`. `before`: as read, or as this left it the last time. */
export async function writeWatched(
  tx: StateWriter,
  network: Network,
  from: number,
  watched: WatchedNow | undefined,
  before: Watched | undefined,
  isFirst: boolean,
): Promise<WatchChange | undefined> {
  const now: Watched = watched ? new Set(watched.validators) : 'everyone'
  // Figures that were written before ranges were kept are everyone's.
  const known = before ?? (isFirst ? new Set<number>() : 'everyone')
  if (now === 'everyone' && (before ?? 'everyone') === 'everyone') return undefined
  const added = now === 'everyone' ? [everyone] : [...now].filter((one) => known === 'everyone' || !known.has(one))
  const removed = known === 'everyone' ? [everyone] : [...known].filter((one) => now === 'everyone' || !now.has(one))
  if (added.length === 0 && removed.length === 0) return undefined
  const isNew = (one: number) => isFirst || (one !== everyone && one >= (watched?.countBefore ?? 0))
  const gone = new Set(removed)
  const rows = before
    ? await allRows(tx, network)
    : known === 'everyone'
      ? [{ validator: everyone, from: 0, until: still }]
      : []
  await tx.run('delete from watch_ranges where network = ?', networkId(network))
  await insert(tx, network, [
    ...rows
      .map((row) => (row.until === still && gone.has(row.validator) ? { ...row, until: from } : row))
      .filter((row) => row.from < row.until),
    ...added.map((validator) => ({ validator, from: isNew(validator) ? 0 : from, until: still })),
  ])
  const came = known === 'everyone' ? [] : added.filter((one) => !isNew(one))
  return came.length > 0 || removed.length > 0 ? { now, added: came, removed } : undefined
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

/** Epochs at which somebody was added or removed. */
export const watchChanges = async (duties: StateReader, network: Network): Promise<number[]> =>
  (await allRows(duties, network)).flatMap(({ from, until }) => [from, until])

/** Whether a validator was kept in some of these epochs and is not kept any more. */
export const hasLeft = async (duties: StateReader, network: Network, { from, until }: Range): Promise<boolean> =>
  (await allRows(duties, network)).some((row) => row.until < still && row.until > from && row.from < until)

/** Who was kept all through these epochs. */
export async function keptThrough(duties: StateReader, network: Network, { from, until }: Range): Promise<Watched> {
  const rows = await allRows(duties, network)
  if (rows.length === 0) return 'everyone'
  const kept = rows.filter((row) => row.from <= from && row.until >= until).map(({ validator }) => validator)
  return kept.includes(everyone) ? 'everyone' : new Set(kept)
}

/** Of what has been read: the epochs in which all of these validators were kept. */
export async function keptEpochs(
  duties: StateReader,
  network: Network,
  covered: readonly Range[],
  validators: readonly number[],
): Promise<Range[]> {
  const rows = await allRows(duties, network)
  if (rows.length === 0) return [...covered]
  const by = Map.groupBy(rows, ({ validator }) => validator)
  const rangesOf = (one: number) => by.get(one) ?? []
  return [...new Set(validators)].reduce<Range[]>(
    (left, validator) => {
      const own = merge([...rangesOf(validator), ...rangesOf(everyone)])
      return own.flatMap((range) => within(left, range))
    },
    [...covered],
  )
}
