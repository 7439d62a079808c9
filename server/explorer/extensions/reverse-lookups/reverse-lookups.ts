// Finds stored fundings by funder and by transaction, for the pages of the console about entities and transactions.
//
// Each of the two lookups needs an index of all fundings. Both together make writing fundings several times as slow on
// SQLite, so they exist only with `explorer.reverseLookups`.
import type { State, StateReader } from '#storage/state.ts'
import { type Funding, selectFundings, toBytes } from '../../funding/fundings.ts'

/** Eight bytes of a hash are enough to find it and keep the index small. */
const indexes = {
  fundings_by_funder: 'fundings (chain, funder, block)',
  fundings_by_tx: 'fundings (substr(tx, 1, 8))',
}

/** Creates or deletes the indexes. Creating them reads all fundings. */
export async function syncReverseIndexes(ingest: State, isWanted: boolean): Promise<void> {
  if ((await hasReverseIndexes(ingest)) === isWanted) return
  await ingest.write(
    async (tx) => {
      for (const [name, columns] of Object.entries(indexes))
        await tx.run(isWanted ? `create index if not exists ${name} on ${columns}` : `drop index if exists ${name}`)
    },
    { lock: 'schema', isLong: true },
  )
}

/** Without them, a lookup would read all fundings. */
export async function hasReverseIndexes(ingest: State): Promise<boolean> {
  const found = await ingest.get(
    ingest.engine === 'sqlite'
      ? `select 1 as found from sqlite_master where type = 'index' and name = 'fundings_by_tx'`
      : `select 1 as found from pg_indexes where schemaname = current_schema() and indexname = 'fundings_by_tx'`,
  )
  return found !== undefined
}

/** The newest fundings that an address paid. */
export function findFundingsPaidBy(
  ingest: StateReader,
  chain: string,
  funder: string,
  rowsMax: number,
): Promise<Funding[]> {
  const from = 'fundings where chain = ? and funder = ? order by block desc limit ?'
  return selectFundings(ingest, from, chain, toBytes(funder, 20), rowsMax)
}

/** The fundings of a transaction, on any chain. */
export function findFundingsOfTx(ingest: StateReader, hash: string, rowsMax: number): Promise<Funding[]> {
  const tx = toBytes(hash, 32)
  const from = 'fundings where substr(tx, 1, 8) = ? and tx = ? order by chain, position limit ?'
  return selectFundings(ingest, from, tx.subarray(0, 8), tx, rowsMax)
}
