// A released migration must never change, because databases that applied it keep what it did. When a version is released
// (its heading in CHANGELOG.md is no longer "(unreleased)"), this test requires the hashes of all migrations, and prints
// those that are missing.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { dutiesMigrations, ingestFileMigrations, stateFileMigrations, stateMigrations } from './migrations.ts'
import { dialect as postgresDialect } from './postgres/dialect.ts'
import type { Migration, StateDialect } from './state.ts'

/** Of each released migration: database, number and engine, and the hash of its statements. */
const released: Readonly<Record<string, string>> = {}

const dialects = {
  sqlite: { bytes: 'blob', strict: 'strict', clustered: 'strict, without rowid' },
  postgres: postgresDialect,
} as const satisfies Readonly<Record<string, StateDialect>>

type Engine = keyof typeof dialects

interface Database {
  readonly name: string
  readonly engines: readonly Engine[]
  readonly migrations: readonly Migration[]
}

const databases: readonly Database[] = [
  { name: 'state', engines: ['sqlite'], migrations: stateFileMigrations },
  { name: 'ingest', engines: ['sqlite'], migrations: ingestFileMigrations },
  { name: 'state', engines: ['postgres'], migrations: stateMigrations },
  { name: 'duties', engines: ['sqlite', 'postgres'], migrations: dutiesMigrations },
]

function hashesOf(list: readonly Database[]): Record<string, string> {
  const entries = list.flatMap(({ name: database, engines, migrations }) =>
    migrations.flatMap(({ id, name, up }) =>
      engines.map((engine) => [
        `${database} ${id} ${engine}`,
        hash('sha256', JSON.stringify([name, up(dialects[engine])]), 'hex').slice(0, 16),
      ]),
    ),
  )
  return Object.fromEntries(entries)
}

/** What differs from the released migrations. */
function changesOf(hashes: Readonly<Record<string, string>>, recorded: Readonly<Record<string, string>>): string[] {
  return Object.entries(recorded).flatMap(([name, expected]) =>
    hashes[name] === expected ? [] : [`${name} was released and has changed: append a migration instead`],
  )
}

const current = hashesOf(databases)

test('released migrations are unchanged', () => {
  assert.deepEqual(changesOf(current, released), [])
})

test('a released version has recorded all its migrations', async () => {
  const changelog = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  const [newest = ''] = /^## .+$/m.exec(changelog) ?? []
  assert.match(newest, /^## \d+\.\d+\.\d+/)
  if (newest.endsWith('(unreleased)')) return
  const missing = Object.entries(current).filter(([name]) => !(name in released))
  assert.deepEqual(missing, [], 'add these to `released`')
})

test('a change of one statement, on one engine, is noticed', () => {
  const [first] = dutiesMigrations
  assert.ok(first)
  const changed: Migration = {
    ...first,
    up: (dialect) => first.up(dialect).with(0, dialect === dialects.sqlite ? 'select 1' : (first.up(dialect)[0] ?? '')),
  }
  const others = databases.filter(({ name }) => name !== 'duties')
  const hashes = hashesOf([...others, { name: 'duties', engines: ['sqlite', 'postgres'], migrations: [changed] }])
  assert.deepEqual(changesOf(hashes, current), [
    'duties 1 sqlite was released and has changed: append a migration instead',
  ])
})

test('the files have the tables of the shared database, and only the position of reading is in both', () => {
  const tablesOf = (migrations: readonly Migration[]) =>
    migrations.flatMap(({ up }) =>
      up(dialects.postgres).flatMap((sql) => /^\s*create table (\w+)/.exec(sql)?.[1] ?? []),
    )
  const [state, ingest] = [tablesOf(stateFileMigrations), tablesOf(ingestFileMigrations)]
  assert.deepEqual([...new Set([...state, ...ingest])].sort(), tablesOf(stateMigrations).sort())
  assert.deepEqual(
    state.filter((table) => ingest.includes(table)),
    ['cursors'],
  )
})
