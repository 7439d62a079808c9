// Which blocks a commit has changed (market_commits): each with the number of its row of ticks, in this order.
import { ByteReader, ByteWriter } from './bytes.ts'

export interface CommitRow {
  readonly block: number
  /** The first version of the block in this commit. */
  readonly seq: number
}

export function packBlocks(afterSeq: number, rows: readonly CommitRow[]): Uint8Array {
  const writer = new ByteWriter()
  let [block, seq] = [0, afterSeq]
  for (const row of rows) {
    writer.signed(row.block - block)
    writer.whole(row.seq - seq)
    ;({ block, seq } = row)
  }
  return Uint8Array.from(writer.end())
}

export function unpackBlocks({
  afterSeq,
  blocks,
}: {
  readonly afterSeq: number
  readonly blocks: Uint8Array
}): CommitRow[] {
  const reader = new ByteReader(blocks)
  const rows: CommitRow[] = []
  let [block, seq] = [0, afterSeq]
  while (!reader.isAtEnd) {
    block += reader.signed()
    seq += reader.whole()
    rows.push({ block, seq })
  }
  return rows
}
