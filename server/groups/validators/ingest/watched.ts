// Since when each validator of a watch list has been kept (decision 0075). A list may change: whoever is added has no past,
// whoever is removed no more future, and answers can say so.
//
// 1. Validator −1 stands for everyone. A network without any row has always kept everyone.
// 2. Ranges are written in the transaction of the rows they speak of.
// 3. Whoever did not exist before is kept from the beginning: there was nothing to miss.
import type { Network } from '#api/wire/validators.ts'
import { merge, type Range, within } from '#core/ranges.ts'
import type { FactsReader, FactsWriter } from '#store/facts.ts'
import type { Piece } from './mill.ts'

const everyone = -1
/** Until now and on; the largest number of the column. */
const still = 2 ** 31 - 1

/** Who is kept at present. */
export type Watched = 'everyone' | ReadonlySet<number>

export interface WatchChange {
  readonly now: Watched
  /** Validators who were there and were not kept, and those who are kept no more; −1: all others. */
  readonly added: readonly number[]
  readonly removed: readonly number[]
}

/** Undefined: nothing was ever written. */
export async function readWatched(facts: FactsReader, network: Network): Promise<Watched | undefined> {
  const rows = await facts.query<{ validator: number; until_epoch: number }>(
    'select validator, until_epoch from beacon_watched where network = ?',
    [network],
  )
  if (rows.length === 0) return undefined
  const open = rows.filter(({ until_epoch }) => until_epoch === still).map(({ validator }) => validator)
  return open.includes(everyone) ? 'everyone' : new Set(open)
}

/** Brings the ranges up to date for a piece that begins at `from`. `before`: as read, or as this left it the last time. */
export async function writeWatched(
  tx: FactsWriter,
  network: Network,
  from: number,
  watched: Piece['watched'],
  before: Watched | undefined,
  isFirst: boolean,
): Promise<WatchChange | undefined> {
  const now: Watched = watched ? new Set(watched.validators) : 'everyone'
  // Rows that were written before ranges were kept are everyone's.
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
  await tx.remove('beacon_watched', { key: network })
  await append(tx, network, [
    ...rows.map((row) => (row.until === still && gone.has(row.validator) ? { ...row, until: from } : row)),
    ...added.map((validator) => ({ validator, from: isNew(validator) ? 0 : from, until: still })),
  ])
  const came = known === 'everyone' ? [] : added.filter((one) => !isNew(one))
  return came.length > 0 || removed.length > 0 ? { now, added: came, removed } : undefined
}

interface WatchedRow extends Range {
  readonly validator: number
}

async function allRows(tx: FactsWriter, network: Network): Promise<WatchedRow[]> {
  const rows = await tx.query<{ validator: number; from_epoch: number; until_epoch: number }>(
    'select validator, from_epoch, until_epoch from beacon_watched where network = ?',
    [network],
  )
  return rows.map(({ validator, from_epoch, until_epoch }) => ({ validator, from: from_epoch, until: until_epoch }))
}

const append = (tx: FactsWriter, network: Network, rows: readonly WatchedRow[]): Promise<void> =>
  tx.append('beacon_watched', {
    network: rows.map(() => network),
    validator: rows.map(({ validator }) => validator),
    from_epoch: rows.map(({ from }) => from),
    until_epoch: rows.map(({ until }) => until),
  })

/** How many validators a network with a watch list has, as of the last epoch that was read; undefined: not known. */
export async function validatorCount(facts: FactsReader, network: Network): Promise<number | undefined> {
  const [row] = await facts.query<{ validators: number }>('select validators from beacon_counts where network = ?', [
    network,
  ])
  return row?.validators
}

/** In the transaction of the rows. */
export async function writeCount(tx: FactsWriter, network: Network, count: number): Promise<void> {
  if ((await validatorCount(tx, network)) === count) return
  await tx.remove('beacon_counts', { key: network })
  await tx.append('beacon_counts', { network: [network], validators: [count] })
}

/** Whether the network has, or ever had, a watch list. */
export async function isWatched(facts: FactsReader, network: Network): Promise<boolean> {
  const [any] = await facts.query('select 1 as one from beacon_watched where network = ? limit 1', [network])
  return any !== undefined
}

/** Whether somebody was kept in some of these epochs who is kept no more. */
export async function hasLeft(facts: FactsReader, network: Network, { from, until }: Range): Promise<boolean> {
  const [row] = await facts.query<{ rows: number }>(
    `select count(*) as rows from beacon_watched
     where network = ? and until_epoch < ${still} and until_epoch > ? and from_epoch < ?`,
    [network, from, until],
  )
  return (row?.rows ?? 0) > 0
}

/** Who was kept all through these epochs. */
export async function keptThrough(facts: FactsReader, network: Network, { from, until }: Range): Promise<Watched> {
  if (!(await isWatched(facts, network))) return 'everyone'
  const rows = await facts.query<{ validator: number }>(
    'select validator from beacon_watched where network = ? and from_epoch <= ? and until_epoch >= ?',
    [network, from, until],
  )
  const kept = new Set(rows.map(({ validator }) => validator))
  return kept.has(everyone) ? 'everyone' : kept
}

/** Of what has been read: the epochs in which all of these validators were kept. */
export async function keptEpochs(
  facts: FactsReader,
  network: Network,
  covered: readonly Range[],
  validators: readonly number[],
): Promise<Range[]> {
  if (!(await isWatched(facts, network))) return [...covered]
  const rows = await facts.query<{ validator: number; from_epoch: number; until_epoch: number }>(
    `select validator, from_epoch, until_epoch from beacon_watched
     where network = ? and (validator in (select id from {who}) or validator = ${everyone})`,
    [network],
    { who: [...new Set(validators)] },
  )
  const by = Map.groupBy(rows, ({ validator }) => validator)
  const rangesOf = (one: number) => (by.get(one) ?? []).map((row) => ({ from: row.from_epoch, until: row.until_epoch }))
  return [...new Set(validators)].reduce<Range[]>(
    (left, validator) => {
      const own = merge([...rangesOf(validator), ...rangesOf(everyone)])
      return own.flatMap((range) => within(left, range))
    },
    [...covered],
  )
}
