// Import of entities: all selectors, rejected records, and the history.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { putDeposits } from '#test/validators-world.ts'
import { putValidators, readEntities } from '../registry/registry.ts'
import { importEntities } from './import-entities.ts'
import { parseEntityRecords } from './parse-rules.ts'

const keyOf = (index: number) => `0x${String(index).padStart(96, '0')}`
const [withdrawals, payer] = [`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(20)}`]

async function openRegistry() {
  const context = await openContext()
  const entry = (index: number, withdrawalAddress: string | null) => ({
    index,
    pubkey: keyOf(index),
    activationEligibilityEpoch: 0,
    activationEpoch: 0,
    exitEpoch: null,
    withdrawableEpoch: null,
    withdrawalAddress,
  })
  await putValidators(context.ingest, 'hoodi', [
    entry(1, null),
    entry(2, withdrawals),
    entry(3, withdrawals),
    entry(4, null),
  ])
  await putDeposits(context.ingest, 'hoodi', [{ index: 4, address: payer }])
  return context
}

const csv = `index,pubkey,depositAddress,withdrawalAddress,pool,nodeOperators
1,,,,"North, Pool",Fjord; Basalt
,${keyOf(2).toUpperCase().replace('0X', '0x')},,,South,
,,${payer},,East,Cedar
,,,${withdrawals},West,
9,,,,Nobody,
1,${keyOf(1)},,,Both,
,,0x12,,Odd,
`

const poolsOf = async (context: TestContext, indices: readonly number[]) => {
  const entities = await readEntities(context.ingest, 'hoodi', indices)
  return indices.map((index) => entities.get(index)?.pool)
}

test('records select validators by index, key, deposit or withdrawal address; invalid ones are rejected with their line', async () => {
  await using context = await openRegistry()
  const totals = await importEntities(context.ingest, 'hoodi', parseEntityRecords(csv), 'file.csv')
  assert.deepEqual([totals.records, totals.rules, totals.changed, totals.unmatched], [7, 5, 4, 1])
  assert.deepEqual(
    totals.rejects.map(({ at, reason: why }) => [at, why]),
    [
      [7, 'exactly one of index, pubkey, indices, withdrawalAddress, depositAddress is required'],
      [8, 'depositAddress is invalid'],
    ],
  )
  assert.deepEqual(await poolsOf(context, [1, 2, 3, 4]), ['North, Pool', 'South', 'West', 'East'])
  const entities = await readEntities(context.ingest, 'hoodi', [1])
  assert.deepEqual(entities.get(1)?.nodeOperators, ['Fjord', 'Basalt'])
})

test('the same file changes nothing; a newer import of another source wins', async () => {
  await using context = await openRegistry()
  const records = '[{"index":1,"pool":"Older"},{"index":1,"pool":"Old","nodeOperators":["A"]}]'
  const one = parseEntityRecords(records)
  await importEntities(context.ingest, 'hoodi', one, 'old.json')
  const again = await importEntities(context.ingest, 'hoodi', one, 'old.json')
  assert.deepEqual([again.rules, again.changed], [0, 0])
  await importEntities(context.ingest, 'hoodi', parseEntityRecords('[{"index":"1","pool":"New"}]'), 'new.json')
  assert.deepEqual(await poolsOf(context, [1, 2]), ['New', undefined], 'nothing is guessed about others')
  const entity = (await readEntities(context.ingest, 'hoodi', [1])).get(1)
  assert.deepEqual(entity?.nodeOperators, ['A'], 'the newer import does not name operators')
})

test('with replacesAll, records that the file does not have any more are removed', async () => {
  await using context = await openRegistry()
  const both = parseEntityRecords(`index,withdrawalAddress,pool\n1,,North\n,${withdrawals},South\n`)
  await importEntities(context.ingest, 'hoodi', both, 'pools.csv')
  await importEntities(context.ingest, 'hoodi', parseEntityRecords('index,pool\n4,Other\n'), 'other.csv')
  const left = parseEntityRecords('index,pool\n1,North\n')
  const totals = await importEntities(context.ingest, 'hoodi', left, 'pools.csv', { replacesAll: true })
  assert.deepEqual([totals.rules, totals.changed], [1, 2])
  assert.deepEqual(await poolsOf(context, [1, 2, 3, 4]), ['North', undefined, undefined, 'Other'])
})

describe('CSV', () => {
  test('quoted cells may contain commas, line ends and quotes', () => {
    assert.deepEqual(
      parseEntityRecords('pool,subpool\r\n"x, ""y""","1\n2"\n\nlast,\n').map(({ at, record }) => [at, record]),
      [
        [2, { pool: 'x, "y"', subpool: '1\n2' }],
        [5, { pool: 'last' }],
      ],
    )
  })

  test('the error names the line of an unclosed quote, or the unknown column', () => {
    assert.throws(() => parseEntityRecords('index\n"b'), /line 2: the closing quote is missing/)
    assert.throws(() => parseEntityRecords('index,pool\n1,"a"b\n2,c\n'), /line 2: there is text after a closing quote/)
    assert.throws(() => parseEntityRecords('index,color\n1,red\n'), /unknown columns: color/)
  })
})
