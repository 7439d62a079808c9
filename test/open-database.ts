// Opens and migrates one database, without the other one and the checks of openStores.
import { migrateStore } from '#storage/migrate.ts'
import { openUnmigratedPostgres } from '#storage/postgres/postgres.ts'
import { openUnmigratedSqlite } from '#storage/sqlite/sqlite.ts'
import type { State } from '#storage/state.ts'

export const openSqlite = async (...options: Parameters<typeof openUnmigratedSqlite>): Promise<State> =>
  migrateStore(await openUnmigratedSqlite(...options))

export const openPostgres = async (...options: Parameters<typeof openUnmigratedPostgres>): Promise<State> =>
  migrateStore(await openUnmigratedPostgres(...options))
