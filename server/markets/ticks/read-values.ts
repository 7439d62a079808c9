// Reads the fast values of records from the rows of their blocks (block-values.ts has the rules), and their changes.
import type { StateReader } from '#storage/state.ts'
import { BlockValues, type FastRecord, type TickChange, type TickRow, unpackTicks } from './block-values.ts'
import { bitOf, blockOf } from './packed-lines.ts'

interface ReadRow {
  readonly block: number
  readonly seq: number
  /** Null: a values row. */
  readonly atMs: number | null
  readonly ticks: number
  readonly packed: Uint8Array
}

/** The current values of these blocks, by block. */
export async function readBlocks(
  reader: StateReader,
  blocks: readonly number[],
): Promise<ReadonlyMap<number, BlockValues>> {
  const values = new Map<number, BlockValues>()
  if (blocks.length === 0) return values
  const list = JSON.stringify(blocks)
  const rows = await reader.all<ReadRow>(
    `select block, seq, null as "atMs", ticks, records as packed from market_values
     where block in (select value from json_each(?))
     union all
     select t.block, t.seq, t.at_ms, 0, t.changes from market_values v
     join market_ticks t on t.block = v.block and t.seq > v.seq
     where v.block in (select value from json_each(?)) order by 2`,
    ...[list, list],
  )
  // The values row of a block is older than its ticks.
  for (const { block, seq, atMs, ticks, packed } of rows) {
    if (atMs === null) values.set(block, new BlockValues({ ticks, records: packed }))
    const current = values.get(block)
    if (atMs === null || !current) continue
    current.newTicks = (current.newTicks ?? 0) + 1
    for (const change of unpackTicks({ block, seq, changes: packed })) current.change(change, atMs)
  }
  return values
}

/** Reads the current values of records, each block once. The reader needs one snapshot. */
export function currentValues(reader: StateReader) {
  const blocks = new Map<number, BlockValues | undefined>()
  return async (numbers: readonly number[]): Promise<(number: number) => FastRecord | undefined> => {
    const missing = [...new Set(numbers.map(blockOf))].filter((block) => !blocks.has(block))
    const read = await readBlocks(reader, missing)
    for (const block of missing) blocks.set(block, read.get(block))
    return (number) => blocks.get(blockOf(number))?.get(number)
  }
}

/** Reads the values of records after the version `seq`, each block once. Calls `spend` with the number of rows. */
export function valuesAfter(reader: StateReader, seq: number, spend: (rows: number) => Promise<void>) {
  const blocks = new Map<number, BlockValues | undefined>()
  return async (number: number): Promise<FastRecord['fields']> => {
    const block = blockOf(number)
    if (!blocks.has(block)) blocks.set(block, await readBlockAfter(reader, block, seq, spend))
    return blocks.get(block)?.get(number).fields ?? {}
  }
}

async function readBlockAfter(
  reader: StateReader,
  block: number,
  seq: number,
  spend: (rows: number) => Promise<void>,
): Promise<BlockValues | undefined> {
  const row = await reader.get<{ seq: number; records: Uint8Array }>(
    `with present as (select seq from market_past_values where block = ? and seq >= ?
         union all select seq from market_values where block = ?),
       best as (select seq from present order by case when seq >= ? then seq else 9007199254740991 end limit 1)
     select seq, records from market_values where block = ? and seq in (select seq from best)
     union all
     select seq, records from market_past_values where block = ? and seq in (select seq from best)`,
    ...[block, seq, block, seq, block, block],
  )
  if (!row) return undefined
  const isUndo = row.seq > seq
  const [from, until] = isUndo ? [seq, row.seq] : [row.seq, seq]
  const rows = await readTickRows(reader, block, from, until)
  await spend(rows.length)
  const values = new BlockValues({ ticks: 0, ...row })
  const changes = rows.flatMap((tick) => unpackTicks(tick).map((change) => ({ change, atMs: tick.atMs })))
  for (const { change, atMs } of isUndo ? changes.toReversed() : changes)
    if (change.seq > from && change.seq <= until) values.change(change, atMs, isUndo)
  return values
}

/** Rows with versions after `from` and up to `until`. The first may begin before `from`. */
const readTickRows = (reader: StateReader, block: number, from: number, until: number) =>
  reader.all<TickRow>(
    `select block, seq, at_ms as "atMs", changes from market_ticks where block = ? and seq <= ? and seq >=
       coalesce((select max(seq) from market_ticks where block = ? and seq <= ?), 0) order by seq`,
    ...[block, until, block, from],
  )

/** A change with the time of its version. */
export type TimedChange = TickChange & { readonly atMs: number }

/**
 * The newest changes of a record up to a version, newest first, and the version from which on these are all. At least
 * `countMin`, unless there are fewer.
 */
export async function readChangesBack(
  reader: StateReader,
  number: number,
  until: number,
  countMin: number,
): Promise<{ readonly changes: readonly TimedChange[]; readonly from: number }> {
  const rows = await reader.all<TickRow>(
    `select block, seq, at_ms as "atMs", changes from market_ticks
     where block = ? and seq <= ? and (slots & ?) <> 0 order by seq desc limit ?`,
    // Of the newest row, all changes of the record may be after `until`, because other records share it.
    ...[blockOf(number), until, bitOf(number), countMin + 1],
  )
  const changes = rows.flatMap((row) =>
    unpackTicks(row, number)
      .filter(({ seq }) => seq <= until)
      .map((change) => ({ ...change, atMs: row.atMs }))
      .reverse(),
  )
  return { changes, from: rows.length > countMin ? (rows.at(-1)?.seq ?? 0) : 0 }
}
