// How far a search that could not finish has come, so that the next one for the same address goes on from there
// (decision 0066).
//
// 1. A mark says: no block up to this one, which is final, holds a transfer to the address. It only moves up, unless it rested on
//    less than the new one does, as a node's lists do that were refuted.
import type { StateReader, StateWriter } from '#store/state.ts'
import { bytesOf, hexOf, numberOfProof, type Proof, proofOfNumber } from './fundings.ts'

export interface Mark {
  readonly block: number
  /** Whether the account's state still tells from there on, or every block has to be read. */
  readonly stateTells: boolean
  readonly proof: Proof
}

interface MarkRow {
  readonly block: number
  readonly state_tells: number
  readonly proof: number
}

export async function findMark(state: StateReader, chain: string, address: string): Promise<Mark | undefined> {
  const row = await state.get<MarkRow>(
    'select block, state_tells, proof from probe_marks where chain = ? and address = ?',
    chain,
    bytesOf(address, 20),
  )
  return row && { block: row.block, stateTells: row.state_tells === 1, proof: proofOfNumber(row.proof) ?? 'looked' }
}

export async function putMark(tx: StateWriter, chain: string, address: string, mark: Mark): Promise<void> {
  await tx.run(
    `insert into probe_marks (chain, address, block, state_tells, proof) values (?, ?, ?, ?, ?)
     on conflict (chain, address) do update
     set block = excluded.block, state_tells = excluded.state_tells, proof = excluded.proof
     where excluded.block > probe_marks.block or excluded.proof < probe_marks.proof`,
    chain,
    bytesOf(address, 20),
    mark.block,
    mark.stateTells ? 1 : 0,
    numberOfProof(mark.proof),
  )
}

export async function dropMark(tx: StateWriter, chain: string, address: string): Promise<void> {
  await tx.run('delete from probe_marks where chain = ? and address = ?', chain, bytesOf(address, 20))
}

/** Marks that came to this block or further begin anew; those that nobody waits for go. */
export async function forgetMarks(tx: StateWriter, chain: string, block: number): Promise<void> {
  await tx.run('delete from probe_marks where chain = ? and block >= ? and wanted_ms is null', chain, block)
  const anew = 'update probe_marks set block = -1, state_tells = 1, proof = 1 where chain = ? and block >= ?'
  await tx.run(anew, chain, block)
}

/** Somebody waits for this search. */
export async function want(tx: StateWriter, chain: string, address: string, nowMs: number): Promise<void> {
  await tx.run(
    `insert into probe_marks (chain, address, block, state_tells, proof, wanted_ms) values (?, ?, -1, 1, 1, ?)
     on conflict (chain, address) do update set wanted_ms = excluded.wanted_ms`,
    chain,
    bytesOf(address, 20),
    nowMs,
  )
}

export async function unwant(tx: StateWriter, chain: string, address: string): Promise<void> {
  await tx.run('update probe_marks set wanted_ms = null where chain = ? and address = ?', chain, bytesOf(address, 20))
}

/**
 * Marks are worth nothing but the calls that the next search is spared: of those that nobody waits for, no more than `keep` stay, no matter
 * which. At most `rowsMax` go at a time; tells how many did.
 */
export async function dropMarks(tx: StateWriter, chain: string, keep: number, rowsMax: number): Promise<number> {
  const row = await tx.get<{ n: number }>(
    'select count(*) as n from probe_marks where chain = ? and wanted_ms is null',
    chain,
  )
  const over = Math.min(rowsMax, (row?.n ?? 0) - keep)
  if (over <= 0) return 0
  return tx.run(
    `delete from probe_marks where chain = ? and address in
       (select address from probe_marks where chain = ? and wanted_ms is null limit ?)`,
    ...[chain, chain, over],
  )
}

export interface Wanted {
  readonly address: string
  /** How far it has come. */
  readonly block: number
}

/** Searches that somebody waits for; the one that has been left alone longest comes first. */
export async function wantedOf(state: StateReader, chain: string, limit: number): Promise<Wanted[]> {
  const rows = await state.all<{ address: Uint8Array; block: number }>(
    `select address, block from probe_marks where chain = ? and wanted_ms is not null
     order by wanted_ms, address limit ?`,
    chain,
    limit,
  )
  return rows.map(({ address, block }) => ({ address: hexOf(address), block }))
}

export async function countWanted(state: StateReader, chain: string): Promise<number> {
  const row = await state.get<{ n: number }>(
    'select count(*) as n from probe_marks where chain = ? and wanted_ms is not null',
    chain,
  )
  return row?.n ?? 0
}
