// The blocks that are not final yet and what they brought, as the store keeps them.
//
// 1. The kept blocks of a chain are one unbroken run, each the parent of the next. The lowest is final; it is the hook
//    the run hangs on, and has no rows here.
// 2. Taking a block back takes its rows with it; making one final moves its rows to the fundings and covers it, all in
//    the transaction of the caller.
import type { StateReader, StateWriter } from '#storage/state.ts'
import {
  type Funding,
  fundingColumns,
  fundingValues,
  putFundings,
  type StoredFunding,
  toBytes,
  toFunding,
  toHex,
} from '../fundings.ts'

export interface UnfinalizedBlock {
  readonly number: number
  readonly hash: string
}

/** Lowest first. */
export async function readUnfinalizedBlocks(reader: StateReader, chain: string): Promise<UnfinalizedBlock[]> {
  const rows = await reader.all<{ block: number; hash: Uint8Array }>(
    'select block, hash from near_blocks where chain = ? order by block',
    chain,
  )
  return rows.map((row) => ({ number: row.block, hash: toHex(row.hash) }))
}

export async function addUnfinalizedBlock(
  tx: StateWriter,
  chain: string,
  { number, hash }: UnfinalizedBlock,
): Promise<void> {
  await tx.run('insert into near_blocks (chain, block, hash) values (?, ?, ?)', chain, number, toBytes(hash, 32))
}

export async function putUnfinalizedFundings(tx: StateWriter, fundings: Iterable<Funding>): Promise<void> {
  const sql = `insert into near_fundings (chain, address, ${fundingColumns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`
  for (const row of fundings) await tx.run(sql, ...fundingValues(row))
}

/** Takes back every block from `from` on. */
export async function revertBlocksFrom(tx: StateWriter, chain: string, from: number): Promise<void> {
  await tx.run('delete from near_fundings where chain = ? and block >= ?', chain, from)
  await tx.run('delete from near_blocks where chain = ? and block >= ?', chain, from)
}

/** Moves every block before `until` to the fundings, and keeps the last of them as the hook. */
export async function finalizeBlocksBefore(tx: StateWriter, chain: string, until: number): Promise<void> {
  const rows = await tx.all<StoredFunding & { address: Uint8Array }>(
    `select address, ${fundingColumns} from near_fundings where chain = ? and block < ?`,
    chain,
    until,
  )
  await putFundings(
    tx,
    rows.map((row) => toFunding(chain, toHex(row.address), row)),
  )
  await tx.run('delete from near_fundings where chain = ? and block < ?', chain, until)
  await tx.run('delete from near_blocks where chain = ? and block < ?', chain, until - 1)
}

export async function findUnfinalizedFunding(
  reader: StateReader,
  chain: string,
  address: string,
): Promise<Funding | undefined> {
  const row = await reader.get<StoredFunding>(
    `select ${fundingColumns} from near_fundings where chain = ? and address = ? order by block limit 1`,
    chain,
    toBytes(address, 20),
  )
  return row && toFunding(chain, address, row)
}
