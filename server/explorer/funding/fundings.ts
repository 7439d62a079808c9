// One first funding per address and chain (behaviour/explorer.md#what-counts-as-funding). Indexers, the demo world and the endpoint go through here.
//
// 1. The earliest by block, transaction and position wins, in whatever order rows arrive and however often: writing is
//    commutative and idempotent, so backfills may run in parallel and be repeated.
// 2. A place (block, transaction, position) of a final block holds one transfer, so two rows of one place are the same.
// 3. A row alone does not prove that nothing came earlier: that is coverage's to say (standing.ts), or a probe's, which
//    marks the row it has proven.
import { strict as assert } from 'node:assert'
import type { StateReader, StateWriter, Value } from '#storage/state.ts'

export interface Funding {
  readonly chain: string
  /** Lower-case hexadecimal with 0x, as are funder and tx. */
  readonly address: string
  readonly block: number
  readonly txIndex: number
  /** Inside the transaction: 0 is its own value, internal transfers follow in the order they happened. */
  readonly position: number
  readonly timeUnix: number
  readonly funder: string
  readonly tx: string
  readonly valueWei: bigint
  /** A search has proven that it is the first. */
  readonly isProven?: true
}

/** Columns in which fundings are stored, final or not. */
export interface StoredFunding {
  readonly block: number
  readonly tx_index: number
  readonly position: number
  readonly time_unix: number
  readonly funder: Uint8Array
  readonly tx: Uint8Array
  readonly value_wei: string
}

/** Tells how many addresses got their first or an earlier funding. */
export async function putFundings(tx: StateWriter, fundings: Iterable<Funding>): Promise<number> {
  const first = new Map<string, Funding>()
  for (const row of fundings) {
    const key = `${row.chain} ${row.address}`
    const known = first.get(key)
    if (!known || isBefore(row, known)) first.set(key, row)
  }
  const rows = [...first.values()].sort(byAddress).map(fundingValues)
  return tx.insertMany('fundings', ['chain', 'address', ...fundingColumns.split(', ')], rows, keepEarliest)
}

type TransferPosition = Pick<Funding, 'block' | 'txIndex' | 'position'>

/** By block, transaction and position. */
export const isBefore = (a: TransferPosition, b: TransferPosition): boolean =>
  a.block !== b.block ? a.block < b.block : a.txIndex !== b.txIndex ? a.txIndex < b.txIndex : a.position < b.position

/** In the order they are stored in: rows that share a page are written to it together (decisions/write-first-fundings-in-address-order.md). */
const byAddress = (a: Funding, b: Funding): number => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0)

const keepEarliest = `
  on conflict (chain, address) do update set
    block = excluded.block, tx_index = excluded.tx_index, position = excluded.position, time_unix = excluded.time_unix,
    funder = excluded.funder, tx = excluded.tx, value_wei = excluded.value_wei, proven = 0
  where (excluded.block, excluded.tx_index, excluded.position) < (fundings.block, fundings.tx_index, fundings.position)`

export async function findFunding(state: StateReader, chain: string, address: string): Promise<Funding | undefined> {
  const row = await state.get<StoredFunding & { proven: number }>(selectFunding, chain, toBytes(address, 20))
  return row && { ...toFunding(chain, address, row), ...(row.proven === 1 && { isProven: true }) }
}

/** Stores a funding that a search has proven to be the first. False if an earlier one is stored. */
export async function putProven(tx: StateWriter, funding: Funding): Promise<boolean> {
  await putFundings(tx, [funding])
  const marked = await tx.run(
    `update fundings set proven = 1
     where chain = ? and address = ? and block = ? and tx_index = ? and position = ?`,
    funding.chain,
    toBytes(funding.address, 20),
    funding.block,
    funding.txIndex,
    funding.position,
  )
  return marked === 1
}

export const fundingColumns = 'block, tx_index, position, time_unix, funder, tx, value_wei'
const selectFunding = `select ${fundingColumns}, proven from fundings where chain = ? and address = ?`

export const toFunding = (chain: string, address: string, row: StoredFunding): Funding => ({
  chain,
  address,
  block: row.block,
  txIndex: row.tx_index,
  position: row.position,
  timeUnix: row.time_unix,
  funder: toHex(row.funder),
  tx: toHex(row.tx),
  valueWei: BigInt(row.value_wei),
})

/** In the order of `chain, address` and fundingColumns. */
export function fundingValues(row: Funding): Value[] {
  assert(row.valueWei > 0n && row.funder !== row.address, `no funding: ${row.tx} to ${row.address}`)
  return [
    row.chain,
    toBytes(row.address, 20),
    row.block,
    row.txIndex,
    row.position,
    row.timeUnix,
    toBytes(row.funder, 20),
    toBytes(row.tx, 32),
    row.valueWei.toString(),
  ]
}

export function toBytes(hex: string, length: number): Uint8Array {
  const bytes = Buffer.from(hex.slice(2), 'hex')
  assert(bytes.length === length, `expected ${length} bytes of hexadecimal: ${hex}`)
  return bytes
}

export const toHex = (bytes: Uint8Array): string =>
  `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
