// Opens the databases of a data folder for commands, with or without a running server. Commands of a configured
// installation refuse demo data (behaviour/operations.md#demo-data).
import { existsSync } from 'node:fs'
import type { Stores } from '#storage/open.ts'
import type { State, StateReader } from '#storage/state.ts'
import { CommandFailure } from './failure.ts'
import { note } from './print.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

/**
 * 'found': the database must exist, so that a mistyped --data does not look like an empty one. 'made': create it.
 */
export async function withStores<T>(
  options: CommonOptions,
  folder: 'found' | 'made',
  work: (stores: Pick<Stores, 'state' | 'ingest'>) => Promise<T>,
): Promise<T> {
  const dir = dataDirOf(options)
  const { store } = (await configOf(options)).settings
  const { openStateAndIngest, refuseUnfinishedRestore, stateFile } = await import('#storage/open.ts')
  if (folder === 'found' && store.state === '') {
    refuseUnfinishedRestore(dir)
    if (!existsSync(stateFile(dir))) throw missingData(dir)
  }
  const stores = await openStateAndIngest(dir, { ...store, onUpgrade: note })
  try {
    await refuseDemo(options, stores)
    return await work(stores)
  } finally {
    await stores.close()
  }
}

/** For keys, usage, sessions, rates and quotes. */
export const withState = <T>(
  options: CommonOptions,
  folder: 'found' | 'made',
  work: (state: State) => Promise<T>,
): Promise<T> => withStores(options, folder, ({ state }) => work(state))

/** For labels, fundings, markets and the registry of validators. */
export const withIngest = <T>(
  options: CommonOptions,
  folder: 'found' | 'made',
  work: (ingest: State) => Promise<T>,
): Promise<T> => withStores(options, folder, ({ ingest }) => work(ingest))

function missingData(dir: string): CommandFailure {
  const advice = 'Use --data for another folder, or start the server once.'
  return new CommandFailure(
    'data.missing',
    existsSync(dir)
      ? `Data folder ${dir} contains no database. ${advice}`
      : `Data folder ${dir} does not exist. ${advice}`,
  )
}

/**
 * Every command that opens a database calls this first. A configured installation must not show demo data or add to it.
 * Without a configuration, commands may use demo data.
 */
export async function refuseDemo(
  options: CommonOptions,
  stores: { readonly state: StateReader; readonly ingest: StateReader },
): Promise<'nothing' | 'demo' | 'own'> {
  const { contentsOf } = await import('#simulator/demo-mark.ts')
  const contents = await contentsOf(stores)
  if (contents !== 'demo') return contents
  const { configured, settings } = await configOf(options)
  if (!configured) return contents
  const folderText = settings.store.state === '' ? dataDirOf(options) : 'The database of store.state'
  throw new CommandFailure(
    'data.demo',
    `${folderText} contains demo data. Use --data for another folder, or delete this one.`,
  )
}
