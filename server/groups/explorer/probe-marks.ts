// How far a search that could not finish has come, so that the next one for the same address goes on from there
// (decision 0066).
//
// 1. A mark says: no block up to this one, which is final, holds a transfer to the address. It only moves up.
import type { StateReader, StateWriter } from '#store/state.ts'
import { bytesOf } from './fundings.ts'

export interface Mark {
  readonly block: number
  /** Whether the account's state still tells from there on, or every block has to be read. */
  readonly stateTells: boolean
}

export async function findMark(state: StateReader, chain: string, address: string): Promise<Mark | undefined> {
  const row = await state.get<{ block: number; state_tells: number }>(
    'select block, state_tells from probe_marks where chain = ? and address = ?',
    chain,
    bytesOf(address, 20),
  )
  return row && { block: row.block, stateTells: row.state_tells === 1 }
}

export async function putMark(tx: StateWriter, chain: string, address: string, mark: Mark): Promise<void> {
  await tx.run(
    `insert into probe_marks (chain, address, block, state_tells) values (?, ?, ?, ?)
     on conflict (chain, address) do update set block = excluded.block, state_tells = excluded.state_tells
     where excluded.block > probe_marks.block`,
    chain,
    bytesOf(address, 20),
    mark.block,
    mark.stateTells ? 1 : 0,
  )
}

export async function dropMark(tx: StateWriter, chain: string, address: string): Promise<void> {
  await tx.run('delete from probe_marks where chain = ? and address = ?', chain, bytesOf(address, 20))
}
