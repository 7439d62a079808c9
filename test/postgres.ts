// A temporary PostgreSQL server for tests, on loopback. Its locale is English, so that text that is not ordered by bytes
// is detected.
//   await using server = await startPostgres()
//   const url = await server.schema()
import { type ChildProcess, execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chown, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dutiesMigrations, stateMigrations } from '#storage/migrations.ts'
import { openDuties, openState } from '#storage/open.ts'
import { parsePostgresUrl } from '#storage/postgres/address.ts'
import { PostgresSession } from '#storage/postgres/session.ts'
import type { State } from '#storage/state.ts'
import { lendState } from './lend-state.ts'
import { openPostgres } from './open-database.ts'
import { end, freePort, launch, ownFolder, withParent } from './programs.ts'
import { templateOf } from './template.ts'

const programs = '/usr/lib/postgresql'
const versions = existsSync(programs) ? readdirSync(programs).filter((name) => /^\d+$/.test(name)) : []
const newest = versions
  .sort((a, b) => Number(b) - Number(a))
  .find((name) => existsSync(join(programs, name, 'bin', 'initdb')))
const bin = (name: string): string => join(programs, newest ?? '', 'bin', name)

/** Why tests on PostgreSQL are skipped, for `skip`. */
export const noPostgres: string | false = newest ? false : 'there is no PostgreSQL here (Debian: postgresql)'

export interface PostgresServer extends AsyncDisposable {
  /** URL of its first database, as a superuser without a password. */
  readonly url: string
  readonly dir: string
  readonly port: number
  /** URL of an empty schema. */
  schema(): Promise<string>
  /** The first row, if any. */
  sql<R>(statement: string): Promise<R | undefined>
  /** Kills it, like a crash. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Starts it again with checksums of pages. */
  enableChecksums(): Promise<void>
  /** A standby of this server. */
  standby(): Promise<PostgresServer & { promote(): Promise<void> }>
}

/** PostgreSQL does not run as root. */
export const asPostgres = (): { readonly before: readonly string[]; readonly ids?: readonly [number, number] } => {
  if (process.getuid?.() !== 0) return { before: withParent }
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  const ids = [id('-u'), id('-g')] as const
  return { before: [...withParent, `--reuid=${ids[0]}`, `--regid=${ids[1]}`, '--clear-groups'], ids }
}

async function postgresFolder(): Promise<string> {
  const dir = await ownFolder('postgres')
  await giveToPostgres(dir)
  return dir
}

async function giveToPostgres(dir: string): Promise<void> {
  const { ids } = asPostgres()
  if (ids) await chown(dir, ...ids)
}

function runAs(program: string, args: readonly string[], cwd: string): void {
  const [command = '', ...rest] = [...asPostgres().before, bin(program), ...args]
  execFileSync(command, rest, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
}

/** `settings`: more settings of the server. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const template = await templateOf(`postgres-${newest}`, initialize)
  const dir = await postgresFolder()
  execFileSync('cp', ['-a', join(template, 'data'), dir])
  return serverIn(dir, 'write', settings)
}

async function initialize(dir: string): Promise<void> {
  await giveToPostgres(dir)
  const language = ['--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US']
  runAs('initdb', ['-D', join(dir, 'data'), '-U', 'postgres', '--auth=trust', '--no-sync', ...language], dir)
  const rules = join(dir, 'data', 'pg_hba.conf')
  // Roles with a password must use it.
  await writeFile(rules, `host all guarded 127.0.0.1/32 scram-sha-256\n${await readFile(rules, 'utf8')}`)
}

async function serverIn(
  dir: string,
  purpose: 'write' | 'replica' = 'write',
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let child = await begin(dir, port, settings)
  const sql = <R>(statement: string) => runSql<R>(url, statement, purpose)
  // The backends end with the postmaster, without notice to clients.
  const kill = () => end(child, 'SIGQUIT')
  const spareSchemas: string[] = []
  return {
    url,
    dir,
    port,
    sql,
    kill,
    async schema() {
      if (spareSchemas.length === 0) spareSchemas.push(...(await createSchemas(url)))
      return spareSchemas.pop() as string
    },
    async start() {
      child = await begin(dir, port, settings)
    },
    async enableChecksums() {
      const data = join(dir, 'data')
      runAs('pg_ctl', ['-D', data, '-m', 'fast', '-w', 'stop'], dir)
      runAs('pg_checksums', ['--enable', '--no-sync', '-D', data], dir)
      child = await begin(dir, port, settings)
    },
    async standby() {
      const second = await postgresFolder()
      const target = join(second, 'data')
      runAs('pg_basebackup', ['-D', target, '-d', url, '-R', '-c', 'fast', '-X', 'stream', '--no-sync'], second)
      const server = await serverIn(second, 'replica')
      const promote = async () => runAs('pg_ctl', ['-D', target, '-w', 'promote'], second)
      return Object.assign(server, { promote })
    },
    async [Symbol.asyncDispose]() {
      await kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

let schemas = 0

/** URLs of empty schemas. A connection costs the server as much as ten schemas. */
async function createSchemas(url: string): Promise<string[]> {
  const names = Array.from({ length: 10 }, () => `t${process.pid}_${++schemas}`)
  await runSql(url, names.map((name) => `create schema ${name}`).join(';'))
  return names.map((name) => `${url}?options=${encodeURIComponent(`-c search_path=${name}`)}`)
}

let template: Promise<string> | undefined

/** One connection for all databases of a process, because each new one costs the server a process. */
let administrator: Promise<PostgresSession> | undefined

async function administer(url: string, statement: string): Promise<void> {
  administrator ??= PostgresSession.open(parsePostgresUrl(url), 'write')
  await (await administrator).script(statement)
}

/** Copying files is twice as fast as copying through the WAL. */
const copying = Number(newest) >= 15 ? 'strategy file_copy' : ''

interface CreatedDatabase {
  readonly url: string
  readonly session: PostgresSession
  /** Open from their first use to the end of the process, because each of them takes three or more connections. */
  readonly stores: Map<keyof typeof openStore, Promise<State>>
}

export interface MigratedDatabase extends AsyncDisposable {
  readonly url: string
  /** The connections of a closed store are used again by the next caller. */
  open(store: keyof typeof openStore): Promise<State>
}

const openStore = {
  state: (url: string) => openState('', { state: url }),
  duties: (url: string) => openDuties('', { state: url }),
}

const idleDatabases: CreatedDatabase[] = []

/**
 * A database with all tables and no other rows than those of the migrations. A database that is no longer used is emptied
 * for the next caller, because creating one costs several times as much.
 */
export async function openMigratedDatabase(url: string): Promise<MigratedDatabase> {
  const database = idleDatabases.pop() ?? (await createMigratedDatabase(url))
  return {
    url: database.url,
    async open(store) {
      let opening = database.stores.get(store)
      if (!opening) {
        opening = openStore[store](`${database.url}?application_name=${reusedName}`)
        database.stores.set(store, opening)
      }
      return lendState(await opening)
    },
    async [Symbol.asyncDispose]() {
      await database.session.script(emptyTables)
      idleDatabases.push(database)
    },
  }
}

/** Copied from one that is migrated once per process. */
async function createMigratedDatabase(url: string): Promise<CreatedDatabase> {
  template ??= makeTemplate(url)
  schemas += 1
  const name = `d${process.pid}_${schemas}`
  await administer(url, `create database ${name} template ${await template} ${copying}`)
  const copyUrl = databaseUrl(url, name)
  return { url: copyUrl, session: await PostgresSession.open(parsePostgresUrl(copyUrl), 'write'), stores: new Map() }
}

async function makeTemplate(url: string): Promise<string> {
  const name = `template_${process.pid}`
  await runSql(url, `create database ${name}`)
  const templateUrl = databaseUrl(url, name)
  await (await openPostgres(templateUrl, stateMigrations, { connections: 1 })).close()
  await (await openPostgres(templateUrl, dutiesMigrations, { connections: 1, schemaSuffix: 'duties' })).close()
  await runSql(templateUrl, copyInitialRows)
  return name
}

/** Without the numbers of commits, because open stores continue them. */
const filledTables = `
  select name, pg_relation_size(name::regclass) as bytes
  from pg_tables, format('%I.%I', schemaname, tablename) as name
  where schemaname in ('public', 'public_duties') and tablename <> 'state_commits'
    and pg_relation_size(name::regclass) > 0`

/** Rows that the migrations insert, in the schema `initial`. */
const copyInitialRows = `
  do $$
  declare filled record;
  begin
    create schema initial;
    for filled in ${filledTables} loop
      execute format('create table initial.%I as table %s', filled.name, filled.name);
    end loop;
  end $$`

/** The application name of connections that are used again. */
const reusedName = 'reused'

/**
 * Connections that a test did not close are ended, because they could still write. A small table is faster emptied by a
 * delete, because truncating it creates new files for its indexes too.
 */
const emptyTables = `
  do $$
  declare filled record;
  begin
    perform pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and (application_name <> '${reusedName}' or state <> 'idle');
    -- Without checks of foreign keys: all tables will be empty.
    set local session_replication_role = replica;
    for filled in ${filledTables} loop
      execute case when filled.bytes > 65536 then 'truncate ' || filled.name || ' cascade' else 'delete from ' || filled.name end;
    end loop;
    for filled in select tablename as name from pg_tables where schemaname = 'initial' loop
      execute format('insert into %s table initial.%I', filled.name, filled.name);
    end loop;
  end $$`

const databaseUrl = (url: string, name: string): string => url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`)

async function runSql<R>(
  url: string,
  statement: string,
  purpose: 'write' | 'replica' = 'write',
): Promise<R | undefined> {
  const session = await PostgresSession.open(parsePostgresUrl(url), purpose)
  try {
    return await session.script<R>(statement)
  } finally {
    await session.close()
  }
}

function begin(dir: string, port: number, more: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: dir,
    // Tests do not need durability, nor statistics of thousands of small tables.
    fsync: 'off',
    autovacuum: 'off',
    max_connections: 200,
    hot_standby_feedback: 'on',
    wal_receiver_status_interval: 1,
    ...more,
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [...asPostgres().before, bin('postgres'), '-D', join(dir, 'data'), ...options]
  return launch({ cwd: dir, command, ready: /ready to accept (read-only )?connections/ })
}
