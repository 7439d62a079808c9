// A temporary PgBouncer in front of a PostgreSQL server of test/postgres.ts.
//   await using pooler = await startPgBouncer(server, 'transaction')
import { chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asPostgres, type PostgresServer } from './postgres.ts'
import { end, freePort, isInstalled, launch, ownFolder } from './programs.ts'

const program = '/usr/sbin/pgbouncer'

/** Why tests with PgBouncer are skipped, for `skip`. */
export const noPgBouncer: string | false = isInstalled(program, '--version')
  ? false
  : 'there is no PgBouncer here (Debian: pgbouncer)'

export interface PgBouncer extends AsyncDisposable {
  /** URL of the first database of the server, through the pooler. */
  readonly url: string
  readonly port: number
}

/** `poolSize` is the number of its connections to PostgreSQL. */
export async function startPgBouncer(
  server: PostgresServer,
  mode: 'session' | 'transaction',
  poolSize = 20,
): Promise<PgBouncer> {
  const dir = await ownFolder('pgbouncer')
  const { before, ids } = asPostgres()
  if (ids) await chown(dir, ...ids)
  const port = await freePort()
  const users = join(dir, 'users.txt')
  await writeFile(users, '"postgres" ""\n')
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: users,
    pool_mode: mode,
    default_pool_size: poolSize,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const file = join(dir, 'pgbouncer.ini')
  await writeFile(file, `[databases]\n* = host=127.0.0.1 port=${server.port}\n[pgbouncer]\n${lines.join('\n')}\n`)
  const child = await launch({ cwd: dir, command: [...before, program, file], ready: port })
  return {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async [Symbol.asyncDispose]() {
      await end(child)
      await rm(dir, { recursive: true, force: true })
    },
  }
}
