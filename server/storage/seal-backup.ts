// Completes a backup of this version: opens the copied files, as a server would, and counts their rows. A restore checks
// its files in the same way.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { checkIntegrity, type Manifest, writeManifest } from './backup.ts'
import { lockName } from './folder-lock.ts'
import { openStores, type Stores } from './open.ts'
import type { State } from './state.ts'

/** Opens and checks the copy, and writes the manifest. May run in another process than `copyStores`. */
export const sealBackup = async (target: string, madeAtMs: number, version: string): Promise<Manifest> =>
  writeManifest(target, madeAtMs, version, await checkFiles(target))

/** Checks all files. No other process may have them open. */
export async function checkFiles(dir: string): Promise<Manifest['rows']> {
  checkIntegrity(dir)
  const stores = await openStores(dir)
  try {
    return await rowCounts(stores)
  } finally {
    await stores.close()
    await rm(join(dir, lockName), { force: true })
  }
}

export const rowCounts = async ({ state, ingest, duties }: Omit<Stores, 'close'>): Promise<Manifest['rows']> => ({
  state: await tableRows(state),
  ingest: await tableRows(ingest),
  duties: await tableRows(duties),
})

async function tableRows(state: State): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  const tables = await state.all<{ name: string }>(
    `select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name`,
  )
  for (const { name } of tables) {
    const row = await state.get<{ count: number }>(`select count(*) as count from "${name}"`)
    rows[name] = row?.count ?? 0
  }
  return rows
}
