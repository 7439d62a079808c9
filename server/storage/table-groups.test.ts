import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { dutiesMigrations, stateMigrations } from './migrations.ts'
import { dialect } from './postgres/dialect.ts'
import { groupOfTable, groupsWrittenBy } from './table-groups.ts'

test('every table has a group', () => {
  const sql = [...stateMigrations, ...dutiesMigrations].flatMap(({ up }) => up(dialect)).join('\n')
  const tables = Array.from(sql.matchAll(/create table (\w+)/g), ([, table = '']) => table)
  assert.ok(tables.length > 50, String(tables.length))
  assert.deepEqual(
    tables.filter((table) => groupOfTable(table) === 'other'),
    [],
  )
})

test('the tables that a statement writes are found, and an unknown statement may change everything', () => {
  const cases = [
    ['select * from keys', []],
    ['select token from leases where name = ? for no key update', []],
    ['select id from keys for update', []],
    ['insert into keys (id) values (?) on conflict (id) do update set name = excluded.name', ['keys']],
    ['update keys set name = ?', ['keys']],
    ['with old as (delete from usage returning day) insert into market_list select day from old', ['usage', 'markets']],
    ['insert into counters values (1)', ['other']],
    ['create table a (n bigint)', ['other']],
    ['set local statement_timeout = 0', []],
  ] as const
  for (const [sql, groups] of cases) assert.deepEqual(groupsWrittenBy(sql), groups, sql)
})
