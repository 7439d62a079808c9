// A state that an older version filled and this one opened: on PostgreSQL where TETRAD_TEST_STATE names one, otherwise a file.
//   await using old = await openUpgraded(22, (tx) => tx.run('insert …'))
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '#store/engines/postgres.ts'
import { openSqlite } from '#store/engines/sqlite.ts'
import { stateMigrations } from '#store/migrations.ts'
import type { Migration, State, StateWriter } from '#store/state.ts'
import { openSchema } from './postgres.ts'

/** `version` is the number of its last migration. */
export async function openUpgraded(
  version: number,
  fill: (tx: StateWriter) => Promise<unknown>,
): Promise<{ readonly state: State } & AsyncDisposable> {
  await using undo = new AsyncDisposableStack()
  const open = await opener(undo)
  const old = await open(stateMigrations.slice(0, version))
  await old.write(fill).finally(() => old.close())
  const state = undo.adopt(await open(stateMigrations), (opened) => opened.close())
  const all = undo.move()
  return { state, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

async function opener(undo: AsyncDisposableStack): Promise<(migrations: readonly Migration[]) => Promise<State>> {
  const server = process.env.TETRAD_TEST_STATE
  if (server) {
    const { url } = undo.use(await openSchema(server))
    return (migrations) => openPostgres(url, migrations, { connections: 2 })
  }
  const dir = undo.adopt(await mkdtemp(join(tmpdir(), 'tetrad-upgraded-')), (path) => rm(path, { recursive: true }))
  return (migrations) => openSqlite(join(dir, 'state.sqlite'), migrations, { busyWaitMs: 5000 })
}
