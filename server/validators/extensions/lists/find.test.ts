// The extension endpoint validators.find.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Input } from '#api/contract/kit.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { callHandler, inputOfLink, invalidInputs, putDeposits, writeEpochs } from '#test/validators-world.ts'
import { importEntities } from '../../entities/import-entities.ts'
import { putValidators, readEntities, type ValidatorEntry } from '../../registry/registry.ts'
import { find } from './find.ts'

const address = (digit: string) => `0x${digit.repeat(40)}`
const keyOf = (index: number) => `0x${index.toString(16).padStart(8, '0')}${'e'.repeat(88)}`
const entry = (index: number, changes: Partial<ValidatorEntry> = {}): ValidatorEntry => ({
  index,
  pubkey: keyOf(index),
  activationEligibilityEpoch: 1,
  activationEpoch: 2,
  exitEpoch: null,
  withdrawableEpoch: null,
  withdrawalAddress: null,
  ...changes,
})

let context: TestContext
before(async () => {
  context = await openContext()
  // Epochs up to 999 have been read.
  await writeEpochs(context, 'mainnet', { from: 0, until: 1000 }, [])
  await putValidators(context.ingest, 'mainnet', [
    entry(1, { withdrawalAddress: address('a') }),
    entry(2, { withdrawalAddress: address('a'), exitEpoch: 1200, withdrawableEpoch: 1456 }),
    entry(3, { exitEpoch: 999, withdrawableEpoch: 1255 }),
    entry(4, { exitEpoch: 700, withdrawableEpoch: 956 }),
    entry(5, { activationEpoch: 1000 }),
    entry(6, { activationEpoch: null }),
    entry(0x1234567, { activationEpoch: 999 }),
  ])
  await putValidators(context.ingest, 'hoodi', [entry(1, { withdrawalAddress: address('a') })])
  await putDeposits(context.ingest, 'mainnet', [
    { index: 3, address: address('d') },
    { index: 4, address: address('d') },
    { index: 4, address: address('e') },
  ])
  const entities = [
    { index: 1, pool: 'Lantern', subpool: 'North', nodeOperators: ['Fjord', 'Basalt'] },
    { index: 2, pool: 'Lantern', nodeOperators: ['Fjord'] },
    { index: 3, pool: 'Lantern' },
    { index: 4, pool: 'Harbour', nodeOperators: ['Basalt'] },
    { index: 5, nodeOperators: ['Fjord'] },
  ]
  const records = entities.map((record, at) => ({ at, record }))
  await importEntities(context.ingest, 'mainnet', records, 'test')
})
after(() => context[Symbol.asyncDispose]())

type Given = Input<typeof find.endpoint>
const body = async (given: Given) => (await callHandler(find, context, given)).body
const found = async (given: Given) => (await body(given)).validators.map(({ validatorIndex }) => validatorIndex)

describe('200', () => {
  test('finds validators by index, key, pool, node operator, deposit and withdrawal address', async () => {
    assert.deepEqual(await found({ index: 3 }), [3])
    assert.deepEqual(await found({ index: 99 }), [])
    assert.deepEqual(await found({ pubkey: keyOf(4) }), [4])
    assert.deepEqual(await found({ pubkey: keyOf(4).slice(2).toUpperCase() }), [4])
    assert.deepEqual(await found({ pool: 'Lantern' }), [1, 2, 3])
    assert.deepEqual(await found({ pool: 'lantern' }), [])
    assert.deepEqual(await found({ nodeOperator: 'Fjord' }), [1, 2, 5])
    assert.deepEqual(await found({ depositAddress: address('D') }), [3, 4])
    assert.deepEqual(await found({ withdrawalAddress: address('A') }), [1, 2])
    assert.deepEqual(await found({ withdrawalAddress: address('b') }), [])
  })

  test('the start of a key matches all keys that begin with it, also with an odd number of digits', async () => {
    assert.deepEqual(await found({ pubkey: '0x000000' }), [1, 2, 3, 4, 5, 6])
    assert.deepEqual(await found({ pubkey: '0000000' }), [1, 2, 3, 4, 5, 6])
    assert.deepEqual(await found({ pubkey: '0x01234567' }), [0x1234567])
    assert.deepEqual(await found({ pubkey: '0x012345' }), [0x1234567])
    assert.deepEqual(await found({ pubkey: '0x0123456f' }), [])
  })

  test('a validator has all known fields, and a status by its epochs', async () => {
    const { validators } = await body({ pool: 'Lantern', limit: 1 })
    assert.deepEqual(validators, [
      {
        validatorIndex: 1,
        validatorPubkey: keyOf(1),
        status: 'active',
        pool: 'Lantern',
        subpool: 'North',
        nodeOperators: ['Fjord', 'Basalt'],
        withdrawalAddress: address('a'),
        activationEpoch: 2,
        exitEpoch: null,
      },
    ])
    const all = (await body({ pubkey: '0x000000' })).validators
    assert.deepEqual(
      all.map(({ status }) => status),
      ['active', 'exiting', 'exited', 'withdrawable', 'pending', 'pending'],
    )
    assert.equal((await body({ index: 0x1234567 })).validators[0]?.status, 'active')
  })

  test('pages continue after the last index and have each validator once', async () => {
    const walked: number[] = []
    let given: Given = { pubkey: '0x000000', limit: 4 }
    for (;;) {
      const { validators, next } = await body(given)
      walked.push(...validators.map(({ validatorIndex }) => validatorIndex))
      if (next === null) break
      given = inputOfLink(find.endpoint, next) as Given
    }
    assert.deepEqual(walked, [1, 2, 3, 4, 5, 6])
    const { next } = await body({ pool: 'Lantern', limit: 2 })
    assert.equal(next, '/v1/eth/validators?pool=Lantern&limit=2&after=2')
    assert.equal((await body({ pool: 'Lantern', limit: 3 })).next, null)
  })

  test('without a filter, pools are listed by size', async () => {
    const pools = [
      { pool: 'Lantern', validators: 3 },
      { pool: 'Harbour', validators: 1 },
    ]
    assert.deepEqual(await body({}), { validators: [], pools, next: null })
    assert.deepEqual((await body({ pool: 'Harbour' })).pools, [{ pool: 'Harbour', validators: 1 }])
    assert.deepEqual((await body({ pool: 'Nobody' })).pools, [])
  })

  test('each network has its own validators and pools', async () => {
    assert.deepEqual(await found({ network: 'hoodi', withdrawalAddress: address('a') }), [1])
    assert.deepEqual((await body({ network: 'hoodi' })).pools, [])
  })
})

describe('400', () => {
  test('two filters at once are refused', async () => {
    const wrong = callHandler(find, context, { pool: 'Lantern', index: 1 })
    assert.deepEqual(await invalidInputs(wrong), ['query.index', 'query.pool'])
  })
})

test('after any changes of entities, pools and operators find exactly their validators', async () => {
  await using changed = await openContext()
  await putValidators(
    changed.ingest,
    'mainnet',
    [0, 1, 2, 3].map((index) => entry(index)),
  )
  const pool = fc.constantFrom(undefined, 'A', 'B', 'C')
  const operators = fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 })
  const record = fc.record({ index: fc.nat(3), pool, nodeOperators: operators })
  const run = async (records: readonly { index: number; pool: string | undefined; nodeOperators: string[] }[]) => {
    const entities = records.map(({ pool: name, ...rest }, at) => ({
      at,
      record: { ...rest, ...(name && { pool: name }) },
    }))
    await importEntities(changed.ingest, 'mainnet', entities, 'test')
    const rows = [...(await readEntities(changed.ingest, 'mainnet', [0, 1, 2, 3]))]
    const { pools } = (await callHandler(find, changed, {})).body
    for (const name of ['A', 'B', 'C']) {
      const members = rows.filter(([, entity]) => entity.pool === name).map(([index]) => index)
      assert.equal(pools.find((one) => one.pool === name)?.validators ?? 0, members.length)
      const { validators } = (await callHandler(find, changed, { pool: name })).body
      assert.deepEqual(
        validators.map(({ validatorIndex }) => validatorIndex),
        members,
      )
    }
    for (const name of ['x', 'y', 'z']) {
      const members = rows.filter(([, { nodeOperators }]) => nodeOperators.includes(name)).map(([index]) => index)
      const { validators } = (await callHandler(find, changed, { nodeOperator: name })).body
      assert.deepEqual(
        validators.map(({ validatorIndex }) => validatorIndex),
        members,
      )
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(record, { maxLength: 6 }), run), { numRuns: 40 })
})
