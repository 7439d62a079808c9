// Reads the fast values of records from the rows of their blocks (block-values.ts has the rules), and their changes.
import type { StateReader } from '#storage/state.ts'
import type { KindName } from '../records/kinds.ts'
import { BlockValues, type FastRecord, type TickChange, type TickRow, unpackTicks } from './block-values.ts'
import { unpackOne } from './pack-codec.ts'
import { bitOf, blockOf, slotOf } from './packed-lines.ts'
import { describeChanges, valuesInPack } from './packs.ts'

interface ReadRow {
  readonly block: number
  readonly seq: number
  /** Null: a values row. */
  readonly atMs: number | null
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
    `select block, seq, null as "atMs", records as packed from market_values
     where block in (select value from json_each(?))
     union all
     select t.block, t.seq, t.at_ms, t.changes from market_values v
     join market_ticks t on t.block = v.block and t.seq > v.seq
     where v.block in (select value from json_each(?)) order by 2`,
    ...[list, list],
  )
  // The values row of a block is older than its ticks.
  for (const { block, seq, atMs, packed } of rows) {
    if (atMs === null) values.set(block, new BlockValues({ records: packed }))
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

/** Reads the values of records after the version `seq`. Calls `spend` with the number of rows. */
export const valuesAfter =
  (reader: StateReader, seq: number, spend: (rows: number) => Promise<void>) =>
  async (number: number): Promise<FastRecord['fields']> => {
    const block = blockOf(number)
    // The row with a version, which may be after its first one.
    const beforeRowOf = 'coalesce((select max(seq) - 1 from market_ticks where block = ? and seq <= ?), 0)'
    // One statement, because a merge may replace ticks by a pack meanwhile. Of the pack, nothing else is needed.
    const rows = await reader.all<{ part: number; seq: number; atMs: number; packed: Uint8Array }>(
      `with pack as (select until_seq, packed from market_packs where block = ? and until_seq >= ?
           order by until_seq limit 1)
       select 0 as part, until_seq as seq, 0 as "atMs", packed from pack
       union all
       select 1, seq, 0, records from market_values where block = ? and not exists (select 1 from pack)
       union all
       select 2, t.seq, t.at_ms, t.changes from market_values v join market_ticks t on t.block = v.block
         and t.seq > case when v.seq > ? then ${beforeRowOf} else v.seq end and (t.seq <= v.seq or t.seq <= ?)
       where v.block = ? and not exists (select 1 from pack)
       order by 1, 2`,
      ...[block, seq, block, seq, block, seq, seq, block],
    )
    await spend(rows.length)
    const [first, ...ticks] = rows
    if (first?.part === 0) return valuesInPack(first.packed, number, seq)
    if (first?.part !== 1) return {}
    const values = new BlockValues({ records: first.packed })
    const isUndo = first.seq > seq
    const [from, until] = isUndo ? [seq, first.seq] : [first.seq, seq]
    const changes = ticks.flatMap((row) =>
      unpackTicks({ block, seq: row.seq, changes: row.packed }, number).map((change) => ({ change, atMs: row.atMs })),
    )
    for (const { change, atMs } of isUndo ? changes.toReversed() : changes)
      if (change.seq > from && change.seq <= until) values.change(change, atMs, isUndo)
    return values.get(number).fields
  }

/** A change with the time of its version. */
export type TimedChange = TickChange & { readonly atMs: number }

/** A record with fast fields. */
export interface NumberedRecord {
  readonly kind: KindName
  readonly number: number
}

/**
 * The newest changes of a record up to a version, newest first, and the version from which on these are all. At least
 * `countMin`, unless there are fewer.
 */
export async function readChangesBack(
  reader: StateReader,
  record: NumberedRecord,
  until: number,
  countMin: number,
): Promise<{ readonly changes: readonly TimedChange[]; readonly from: number }> {
  const { number } = record
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
  if (rows.length > countMin) return { changes, from: rows.at(-1)?.seq ?? 0 }
  // Of ticks that were merged after they were read, nothing is taken twice.
  let last = (rows.at(-1)?.seq ?? until + 1) - 1
  while (changes.length < countMin) {
    const pack = await readPackUpTo(reader, blockOf(number), last)
    if (!pack) return { changes, from: 0 }
    const history = unpackOne(pack.packed, slotOf(number))
    if (history) changes.push(...describeChanges(record.kind, number, history, { from: 0, until: last }).reverse())
    last = pack.from - 1
  }
  return { changes, from: last + 1 }
}

/** The newest pack of a block that begins with a version or before it. */
const readPackUpTo = (reader: StateReader, block: number, seq: number) =>
  reader.get<{ from: number; packed: Uint8Array }>(
    `select from_seq as "from", packed from
       (select * from (select until_seq, from_seq, packed from market_packs where block = ? and until_seq >= ?
          order by until_seq limit 1) as c where from_seq <= ?
        union all
        select * from (select until_seq, from_seq, packed from market_packs where block = ? and until_seq < ?
          order by until_seq desc limit 1) as e) as found
     order by until_seq desc limit 1`,
    ...[block, seq, seq, block, seq],
  )
