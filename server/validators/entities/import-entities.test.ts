// Import of entities: all selectors, rejected records, and the history.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openContext } from '#test/context.ts'
import { putDeposits } from '#test/validators-world.ts'
import { putValidators, readValidator } from '../registry/registry.ts'
import { importEntities, parseEntityRecords } from './import-entities.ts'

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

test('records select validators by index, key, deposit or withdrawal address; later lines win; others are rejected with their line', async () => {
  await using context = await openRegistry()
  const totals = await importEntities(context.ingest, 'hoodi', parseEntityRecords(csv), 'file.csv')
  assert.deepEqual([totals.records, totals.validators, totals.changed], [7, 4, 4])
  assert.deepEqual(
    totals.rejects.map(({ at, reason: why }) => [at, why]),
    [
      [6, 'no known validator matches'],
      [7, 'exactly one of index, pubkey, depositAddress, withdrawalAddress is required'],
      [8, 'depositAddress is invalid'],
    ],
  )
  const pools = await Promise.all(
    [1, 2, 3, 4].map(async (index) => (await readValidator(context.ingest, 'hoodi', index))?.entity),
  )
  assert.deepEqual(
    pools.map((entity) => entity?.pool),
    ['North, Pool', 'West', 'West', 'East'],
  )
  assert.deepEqual(pools[0]?.nodeOperators, ['Fjord', 'Basalt'])
})

test('the same file changes nothing; another file replaces the entity', async () => {
  await using context = await openRegistry()
  const one = parseEntityRecords('[{"index":1,"pool":"Old","nodeOperators":["A"]}]')
  await importEntities(context.ingest, 'hoodi', one, 'old.json')
  assert.equal((await importEntities(context.ingest, 'hoodi', one, 'old.json')).changed, 0)
  await importEntities(context.ingest, 'hoodi', parseEntityRecords('[{"index":"1","pool":"New"}]'), 'new.json')
  assert.equal((await readValidator(context.ingest, 'hoodi', 1))?.entity?.pool, 'New')
  assert.equal((await readValidator(context.ingest, 'hoodi', 2))?.entity, undefined, 'nothing is guessed about others')
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
