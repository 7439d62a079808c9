// The fast values of the records of a batch (ticks/block-values.ts): read with one query, changed in memory, and written as
// one row of ticks for each block.
import { stringifyJson } from '#api/contract/json.ts'
import type { StateWriter, Value } from '#storage/state.ts'
import { readHistoryHead } from '../read/versions.ts'
import type { Diff } from '../records/diff-records.ts'
import { BlockValues, type FastRecord, packTicks, type TickChange } from '../ticks/block-values.ts'
import { type CommitRow, packBlocks } from '../ticks/commit-blocks.ts'
import { bitOf, blockOf } from '../ticks/packed-lines.ts'
import { readBlocks } from '../ticks/read-values.ts'

/** Rows of ticks after which the values row of a block is written anew. Readers read them all. */
const ticksMax = 8

export class ValueSet {
  readonly #blocks: Map<number, BlockValues>
  readonly #ticks = new Map<number, TickChange[]>()

  private constructor(blocks: Map<number, BlockValues>) {
    this.#blocks = blocks
  }

  /** `take`: takes blocks from a cache. */
  static async read(
    tx: StateWriter,
    numbers: readonly number[],
    take: (blocks: Iterable<number>) => Map<number, BlockValues> = () => new Map(),
  ): Promise<ValueSet> {
    const wanted = new Set(numbers.map(blockOf))
    const blocks = take(wanted)
    for (const [block, values] of await readBlocks(
      tx,
      [...wanted].filter((one) => !blocks.has(one)),
    ))
      blocks.set(block, values)
    return new ValueSet(blocks)
  }

  /** As they are after the write. */
  blocks(): ReadonlyMap<number, BlockValues> {
    return this.#blocks
  }

  get(number: number): FastRecord['fields'] {
    return this.#blocks.get(blockOf(number))?.get(number).fields ?? {}
  }

  /** A change by the version `seq`. */
  put(
    number: number,
    fields: FastRecord['fields'],
    diff: Diff,
    version: Pick<TickChange, 'seq' | 'isPart'>,
    atMs: number,
  ) {
    const block = blockOf(number)
    this.#blocks.getOrInsertComputed(block, () => new BlockValues()).set(number, { changedMs: atMs, fields })
    this.#ticks.getOrInsertComputed(block, () => []).push({ number, ...version, diff: stringifyJson(diff) })
  }

  /** `afterSeq` and `seq`: the newest version before and with this transaction. */
  async write(tx: StateWriter, afterSeq: number, seq: number, atMs: number): Promise<void> {
    const [ticks, values, rows]: [Value[][], Value[][], CommitRow[]] = [[], [], []]
    for (const [block, changes] of this.#ticks) {
      const bits = new Set(changes.map(({ number }) => bitOf(number)))
      const slots = bits.values().reduce((sum, bit) => sum + bit, 0)
      const row = { block, seq: changes[0]?.seq ?? seq }
      rows.push(row)
      ticks.push([row.seq, atMs, block, slots, packTicks(changes)])
      const current = this.#blocks.get(block)
      if (!current) continue
      const newTicks = (current.newTicks ?? ticksMax) + 1
      current.newTicks = newTicks < ticksMax ? newTicks : 0
      if (newTicks >= ticksMax) values.push(toRow(block, seq, current))
    }
    if (rows.length === 0) return
    await tx.insertMany('market_ticks', ['seq', 'at_ms', 'block', 'slots', 'changes'], ticks)
    const commit = [seq, afterSeq, atMs, packBlocks(afterSeq, rows)]
    await tx.insertMany('market_commits', ['seq', 'after_seq', 'at_ms', 'blocks'], [commit])
    await putValues(tx, values)
  }
}

/** Moves the values rows of some blocks to the newest version, so that the ticks before can be deleted. */
export async function advanceValues(tx: StateWriter, blocks: readonly number[]): Promise<void> {
  const head = await readHistoryHead(tx)
  const rows = [...(await readBlocks(tx, blocks))].map(([block, values]) => toRow(block, head.seq, values))
  await putValues(tx, rows)
}

const toRow = (block: number, seq: number, values: BlockValues): Value[] => {
  return [block, seq, values.pack(), values.packListed()]
}

const putValues = (tx: StateWriter, rows: readonly (readonly Value[])[]): Promise<number> =>
  tx.insertMany(
    'market_values',
    ['block', 'seq', 'records', 'listed'],
    rows,
    `on conflict (block) do update set seq = excluded.seq, records = excluded.records, listed = excluded.listed`,
  )
