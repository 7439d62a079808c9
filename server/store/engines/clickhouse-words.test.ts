import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { sums } from '../facts.suite.ts'
import { tablesOf } from '../slices.ts'
import { literal, rowsOf } from './clickhouse-cells.ts'
import { renameAnswer, renameClickhouse } from './clickhouse-faults.ts'
import { placeOf } from './clickhouse-place.ts'
import { createSql } from './clickhouse-tables.ts'
import { bind } from './clickhouse-words.ts'

const tables = tablesOf([sums])
const words = (sql: string, values: Parameters<typeof literal>[0][] = [], lists = {}) =>
  bind(sql, values, lists, tables, (table) => `counts_in_${table}`)

test('values are written so that nothing in them can end them', () => {
  const cases: [Parameters<typeof literal>[0], string][] = [
    ["it's", "'it\\'s'"],
    ['a\\', "'a\\\\'"],
    ["\\' or 1=1 --", "'\\\\\\' or 1=1 --'"],
    ['nul\0', "'nul\\0'"],
    [null, 'null'],
    [-(2n ** 63n), '-9223372036854775808'],
    [2 ** 53, '9007199254740992'],
    [1e21, '1000000000000000000000'],
    [0.1, '1e-1'],
    [-1234.5, '-1.2345e+3'],
  ]
  for (const [cell, sql] of cases) assert.equal(literal(cell), sql)
  assert.throws(() => literal(Number.NaN), /no number/)
})

test('a table shows what counts, beside the conditions of the query; other names and quoted text stay', () => {
  assert.equal(words('select who from sums').sql, 'select who from sums prewhere counts_in_sums')
  assert.equal(
    words('select who from sums\n where who = ? and (hour = 1 or hour = 2) group by who', [3]).sql,
    'select who from sums prewhere counts_in_sums and who = 3 and (hour = 1 or hour = 2) group by who',
  )
  const twice =
    'select 1 from (select who from sums) as a where who < 1 or who > 2 union all select 1 from sums where who = 1'
  assert.equal(words(twice).sql.match(/prewhere counts_in_sums/g)?.length, 2)
  assert.equal(
    words(`select 'from sums where \\' as x from elsewhere`).sql,
    `select 'from sums where \\\\' as x from elsewhere`,
  )
})

test('an or that would let rows in that do not count is refused', () => {
  assert.throws(() => words('select 1 from sums where who = 1 or who = 2'), /parentheses/)
  assert.throws(() => words('select 1 from (select 1 from sums where (who = 1) or who = 2) as a'), /parentheses/)
})

test('ids travel beside the statement, in the type of the column they are held against', () => {
  const { sql, externals } = words(
    'select 1 from sums where who in (select id from {some}) and 2 in (select id from {some})',
    [],
    {
      some: [5, 2 ** 40, -1],
    },
  )
  assert.match(sql, /who in \(select id from some_narrow\) and 2 in \(select id from some_wide\)/)
  assert.deepEqual(externals, [
    { name: 'some_narrow', structure: 'id Int32', lines: '5\n-1\n' },
    { name: 'some_wide', structure: 'id Int64', lines: '5\n1099511627776\n-1\n' },
  ])
})

test('lines of an answer become rows, exact and unescaped', () => {
  const text =
    'a\tb\tc\td\nInt64\tNullable(UInt8)\tString\tFloat64\n9007199254740993\t\\N\tx\\ty\\\\n\\n\t1.5\n-4\t1\t\tnan\n'
  assert.deepEqual(rowsOf(text), [
    { a: 9007199254740993n, b: null, c: 'x\ty\\n\n', d: 1.5 },
    { a: -4, b: 1, c: '', d: null },
  ])
  assert.deepEqual(rowsOf('a\nString\n'), [])
})

test('an address names hosts, database and cluster; its name keeps the password to itself', () => {
  const place = placeOf('clickhouse://me:p%40ss%2Fword@one:1234,two/facts?cluster=big')
  assert.deepEqual(place, {
    name: 'ClickHouse at one:1234,two/facts',
    hosts: ['http://one:1234', 'http://two:8123'],
    user: 'me',
    password: 'p@ss/word',
    database: 'facts',
    cluster: 'big',
  })
  assert.deepEqual(placeOf('clickhouse://one/facts?tls=true').hosts, ['https://one:8443'])
  for (const odd of [
    'clickhouse://one/',
    'clickhouse://one/a-b',
    'clickhouse://me:se/cret@one/facts',
    'clickhouse://one/facts?x=1',
  ])
    assert.throws(
      () => placeOf(odd),
      (error) => /must look like/.test(String(error)) && !String(error).includes('cret'),
    )
})

test('errors of old and new servers are told by their code', () => {
  const old = new Error('Code: 241, e.displayText() = DB::Exception: Memory limit exceeded, e.what() = DB::Exception\n')
  const current = Object.assign(new Error('Memory limit exceeded'), { code: '241', type: 'MEMORY_LIMIT_EXCEEDED' })
  for (const error of [old, current])
    assert.match(String(renameClickhouse(renameAnswer(error), 'here')), /needs more memory.*Memory limit exceeded/)
  assert.match(String(renameClickhouse(renameAnswer(new Error('socket hang up')), 'here')), /here cannot be reached/)
})

test('what came after 18.16 is used by servers that have it', () => {
  const [table] = sums.tables ?? []
  assert(table)
  const layout = { database: 'd', cluster: undefined, isCurrent: false }
  assert.doesNotMatch(createSql(table, layout).join(), /codec|LowCardinality/)
  assert.match(createSql(table, { ...layout, isCurrent: true }).join(), /network LowCardinality\(String\).*codec/)
  assert.match(
    createSql(table, { ...layout, cluster: 'c' }).join(),
    /ReplicatedMergeTree.*Distributed\(c, d, sums_rows, who\)/s,
  )
})
