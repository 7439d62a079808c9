// Stores unfinalized blocks and their fundings.
//
// 1. The blocks of a chain are an unbroken sequence, each the parent of the next. The lowest one is the anchor: it is
//    final and has no rows here.
// 2. Reverting a block deletes its rows. Finalizing it moves them to `fundings`. Both happen in the caller's
//    transaction.
import type { StateReader, StateWriter } from '#storage/state.ts'
import {
  type Funding,
  fundingColumns,
  fundingValues,
  putFundings,
  selectFundings,
  selectFundingsIn,
  toBytes,
  toHex,
} from '../fundings.ts'

export interface UnfinalizedBlock {
  readonly number: number
  readonly hash: string
}

/** Lowest first. */
export async function readUnfinalizedBlocks(reader: StateReader, chain: string): Promise<UnfinalizedBlock[]> {
  const sql = 'select block, hash from unfinalized_blocks where chain = ? order by block'
  const rows = await reader.all<{ block: number; hash: Uint8Array }>(sql, chain)
  return rows.map((row) => ({ number: row.block, hash: toHex(row.hash) }))
}

export async function addUnfinalizedBlock(
  tx: StateWriter,
  chain: string,
  { number, hash }: UnfinalizedBlock,
): Promise<void> {
  await tx.run('insert into unfinalized_blocks (chain, block, hash) values (?, ?, ?)', chain, number, toBytes(hash, 32))
}

export async function putUnfinalizedFundings(tx: StateWriter, fundings: Iterable<Funding>): Promise<void> {
  await tx.insertMany('unfinalized_fundings', fundingColumns, Array.from(fundings, fundingValues))
}

export async function revertBlocksFrom(tx: StateWriter, chain: string, from: number): Promise<void> {
  await tx.run('delete from unfinalized_fundings where chain = ? and block >= ?', chain, from)
  await tx.run('delete from unfinalized_blocks where chain = ? and block >= ?', chain, from)
}

/** Moves the rows of all blocks before `until` to `fundings` and keeps the last of these blocks as the anchor. */
export async function finalizeBlocksBefore(tx: StateWriter, chain: string, until: number): Promise<void> {
  const final = await selectFundings(tx, 'unfinalized_fundings where chain = ? and block < ?', chain, until)
  await putFundings(tx, final)
  await tx.run('delete from unfinalized_fundings where chain = ? and block < ?', chain, until)
  await tx.run('delete from unfinalized_blocks where chain = ? and block < ?', chain, until - 1)
}

export async function findUnfinalizedFunding(
  reader: StateReader,
  chain: string,
  address: string,
): Promise<Funding | undefined> {
  const from = 'unfinalized_fundings where chain = ? and address = ? order by block limit 1'
  return (await selectFundings(reader, from, chain, toBytes(address, 20)))[0]
}

/** In no particular order. */
export async function findUnfinalizedFundings(
  reader: StateReader,
  chain: string,
  addresses: readonly string[],
): Promise<Funding[]> {
  const keys = addresses.map((address) => toBytes(address, 20))
  return selectFundingsIn(reader, 'unfinalized_fundings where chain = ? and address in', [chain], keys)
}

/** The fundings of a transaction, on any chain. The table is small: it is read without an index. */
export function findUnfinalizedFundingsOfTx(reader: StateReader, hash: string, rowsMax: number): Promise<Funding[]> {
  const from = 'unfinalized_fundings where tx = ? order by chain, position limit ?'
  return selectFundings(reader, from, toBytes(hash, 32), rowsMax)
}
