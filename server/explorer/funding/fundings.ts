// Stores one first funding per chain and address (behaviour/explorer.md#what-counts-as-funding). Only this file
// writes the table, and only this file and extensions read it.
//
// 1. The earliest by block, transaction and position wins. Rows may arrive in any order and more than once, so several
//    processes may index the same blocks.
// 2. A position in a final block holds one transfer, so two rows with the same position are equal.
// 3. A row alone does not prove that it is the first. Complete coverage proves it (chain-coverage.ts), or a search, whose
//    ground the row refers to (grounds.ts).
import { strict as assert } from 'node:assert'
import { selectIn } from '#storage/select-in.ts'
import type { StateReader, StateWriter, Value } from '#storage/state.ts'
import { findOrPutGround, type Ground, readDistrustedNodes } from './grounds.ts'

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
  /** A search has proven that no transfer came earlier. */
  readonly isProven?: true
}

/** A row of fundings or unfinalized_fundings. */
type StoredFunding = Omit<Funding, 'address' | 'funder' | 'tx' | 'valueWei' | 'isProven'> &
  Record<'address' | 'funder' | 'tx', Uint8Array> & { readonly valueWei: string }

export const fundingColumns = 'chain address block tx_index position time_unix funder tx value_wei'.split(' ')
const selectedColumns = `chain, address, block, tx_index as "txIndex", position, time_unix as "timeUnix", funder, tx,
  value_wei as "valueWei"`

/** Returns the number of addresses that got their first or an earlier funding. */
export async function putFundings(tx: StateWriter, fundings: Iterable<Funding>): Promise<number> {
  const first = new Map<string, Funding>()
  for (const row of fundings) {
    const key = `${row.chain} ${row.address}`
    const known = first.get(key)
    if (!known || isBefore(row, known)) first.set(key, row)
  }
  const rows = [...first.values()].sort(byAddress).map(fundingValues)
  return tx.insertMany('fundings', fundingColumns, rows, keepEarliest)
}

type TransferPosition = Pick<Funding, 'block' | 'txIndex' | 'position'>

/** By block, transaction and position. */
export const isBefore = (a: TransferPosition, b: TransferPosition): boolean =>
  a.block !== b.block ? a.block < b.block : a.txIndex !== b.txIndex ? a.txIndex < b.txIndex : a.position < b.position

/**
 * In storage order, so that rows of one page are written together (decisions/write-first-fundings-in-address-order.md).
 */
const byAddress = (a: Funding, b: Funding): number => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0)

const keepEarliest = `
  on conflict (chain, address) do update set
    block = excluded.block, tx_index = excluded.tx_index, position = excluded.position, time_unix = excluded.time_unix,
    funder = excluded.funder, tx = excluded.tx, value_wei = excluded.value_wei, ground = 0
  where (excluded.block, excluded.tx_index, excluded.position) < (fundings.block, fundings.tx_index, fundings.position)`

export async function findFunding(state: StateReader, chain: string, address: string): Promise<Funding | undefined> {
  const row = await state.get<ProvableFunding>(selectFunding, chain, toBytes(address, 20))
  return row && toProvable(row)
}

/** In no particular order. */
export async function findFundings(
  state: StateReader,
  chain: string,
  addresses: readonly string[],
): Promise<Funding[]> {
  const keys = addresses.map((address) => toBytes(address, 20))
  return (await selectIn<ProvableFunding>(state, `${selectProvable} in`, [chain], keys)).map(toProvable)
}

/** 1: a search has proven the row of fundings, and its ground is not void; 0 otherwise. */
export const isProvenSql = `coalesce((select 1 from funding_grounds
  where funding_grounds.chain = fundings.chain and funding_grounds.ground = fundings.ground and is_void = 0), 0)`

type ProvableFunding = StoredFunding & { readonly proven: number }
const selectProvable = `select ${selectedColumns}, ${isProvenSql} as proven from fundings where chain = ? and address`
const selectFunding = `${selectProvable} = ?`

const toProvable = ({ proven, ...stored }: ProvableFunding): Funding =>
  proven === 1 ? { ...toFunding(stored), isProven: true } : toFunding(stored)

/** `from` is the statement after `from`: a table of fundings, the conditions, the order and the limit. */
export async function selectFundings(reader: StateReader, from: string, ...values: Value[]): Promise<Funding[]> {
  return (await reader.all<StoredFunding>(`select ${selectedColumns} from ${from}`, ...values)).map(toFunding)
}

/** Like selectFundings, for many keys. `from` ends with `… in`. */
export const selectFundingsIn = async (
  reader: StateReader,
  from: string,
  values: readonly Value[],
  keys: readonly Value[],
): Promise<Funding[]> =>
  (await selectIn<StoredFunding>(reader, `select ${selectedColumns} from ${from}`, values, keys)).map(toFunding)

const toFunding = ({ address, funder, tx, valueWei, ...row }: StoredFunding): Funding => ({
  ...row,
  address: toHex(address),
  funder: toHex(funder),
  tx: toHex(tx),
  valueWei: BigInt(valueWei),
})

/** `earlier`: an earlier one is stored. `distrusted`: a node of the ground is distrusted since the search, nothing is stored. */
type PutProven = 'stored' | 'earlier' | 'distrusted'

/** Stores a funding that a search has proven to be the first. Needs the chain's lock. */
export async function putProven(tx: StateWriter, funding: Funding, ground: Ground): Promise<PutProven> {
  const distrusted = ground.nodes.length === 0 ? [] : await readDistrustedNodes(tx, funding.chain)
  if (distrusted.some(({ node }) => ground.nodes.includes(node))) return 'distrusted'
  await putFundings(tx, [funding])
  const marked = await tx.run(
    `update fundings set ground = ?
     where chain = ? and address = ? and block = ? and tx_index = ? and position = ?`,
    await findOrPutGround(tx, funding.chain, ground),
    funding.chain,
    toBytes(funding.address, 20),
    funding.block,
    funding.txIndex,
    funding.position,
  )
  return marked === 1 ? 'stored' : 'earlier'
}

/** The values of fundingColumns. */
export function fundingValues(row: Funding): Value[] {
  assert(row.valueWei > 0n && row.funder !== row.address, `not a funding: ${row.tx} to ${row.address}`)
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

export const toHex = (bytes: Uint8Array): string => `0x${bytes.toHex()}`
