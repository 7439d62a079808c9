// Opens and migrates one database, without the other one and the checks of openStores.
import { migrateStore } from '#storage/migrate.ts'
import { inspectPostgres } from '#storage/postgres/postgres.ts'
import { inspectSqlite } from '#storage/sqlite/sqlite.ts'
import type { State } from '#storage/state.ts'

export const openSqlite = async (...options: Parameters<typeof inspectSqlite>): Promise<State> =>
  migrateStore(await inspectSqlite(...options))

export const openPostgres = async (...options: Parameters<typeof inspectPostgres>): Promise<State> =>
  migrateStore(await inspectPostgres(...options))
