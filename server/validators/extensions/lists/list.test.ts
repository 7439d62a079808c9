// The extension endpoint validators.list. Runs on SQLite and on PostgreSQL (test/on-postgres.test.ts).
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import type { Input } from '#api/contract/kit.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { callHandler, inputOfLink, invalidInputs, pubkeyOf, putDeposits, writeEpochs } from '#test/validators-world.ts'
import { metadata } from '../../endpoints/metadata.ts'
import { importEntities } from '../../entities/import-entities.ts'
import { putValidators } from '../../registry/registry.ts'
import { list } from './list.ts'

const network = 'mainnet'
const address = (digit: string) => `0x${digit.repeat(40)}`

let context: TestContext
before(async () => {
  context = await openContext()
  await writeEpochs(context, network, { from: 0, until: 10 }, [])
  await putValidators(
    context.ingest,
    network,
    [1, 2, 3, 5, 8, 13].map((index) => ({
      ...{ index, pubkey: pubkeyOf(index), activationEligibilityEpoch: 1, activationEpoch: 2, exitEpoch: null },
      ...{ withdrawableEpoch: null, withdrawalAddress: index > 3 ? address('a') : null },
    })),
  )
  await putDeposits(context.ingest, network, [
    { index: 3, address: address('d') },
    { index: 13, address: address('d') },
    { index: 13, address: address('e') },
  ])
  const entities = [
    { index: 1, pool: 'Lantern', subpool: 'North', nodeOperators: ['Fjord', 'Basalt'] },
    { index: 2, pool: 'Lantern', nodeOperators: ['Fjord'] },
    { index: 8, pool: 'Harbour', nodeOperators: ['Basalt'], dvtNetwork: 'Mesh', dvtOperators: ['One', 'Two'] },
  ]
  const records = entities.map((record, at) => ({ at, record }))
  await importEntities(context.ingest, network, records, 'test')
})
after(() => context[Symbol.asyncDispose]())

type Given = Input<typeof list.endpoint>
const page = async (given: Given) => (await callHandler(list, context, given)).body
const listed = async (given: Given) => (await page(given)).data.map(({ validatorIndex }) => validatorIndex)

describe('200', () => {
  test('200: each record is the reply of validators.metadata', async () => {
    const { data, next } = await page({})
    assert.equal(next, null)
    assert.deepEqual(
      data.map(({ validatorIndex }) => validatorIndex),
      [1, 2, 3, 5, 8, 13],
    )
    for (const record of data) {
      const name = String(record.validatorIndex)
      assert.deepEqual((await callHandler(metadata, context, { validator_index_or_pubkey: name })).body, record)
    }
  })

  test('200: operators, pools and addresses select validators, each once', async () => {
    assert.deepEqual(await listed({ operatorsIds: ['Fjord'] }), [1, 2])
    assert.deepEqual(await listed({ operatorsIds: ['Fjord', 'Basalt', 'Fjord'], idType: 'nodeOperator' }), [1, 2, 8])
    assert.deepEqual(await listed({ operatorsIds: ['Harbour', 'Lantern'], idType: 'pool' }), [1, 2, 8])
    assert.deepEqual(await listed({ operatorsIds: ['Fjord'], idType: 'pool' }), [])
    assert.deepEqual(await listed({ operatorsIds: [address('D'), address('e')], idType: 'depositAddress' }), [3, 13])
    assert.deepEqual(await listed({ operatorsIds: [address('a')], idType: 'withdrawalAddress' }), [5, 8, 13])
    assert.deepEqual(await listed({ withdrawalAddress: address('A') }), [5, 8, 13])
    assert.deepEqual(await listed({ network: 'hoodi' }), [])
  })

  test('200: the other spelling of the parameters selects the same validators', async () => {
    assert.deepEqual(await listed({ operators_ids: ['Harbour'], id_type: 'pool' }), [8])
    assert.deepEqual(await listed({ withdrawal_address: address('a') }), [5, 8, 13])
    const { next } = await page({ operators_ids: ['Lantern'], id_type: 'pool', size: 1 })
    assert.equal(next, '/v0/eth/validators?operators_ids=Lantern&id_type=pool&size=1&from=2')
  })

  test('200: the links lead through every validator once, whatever the page size', async () => {
    for (const given of [{}, { operatorsIds: ['Fjord', 'Basalt'] }, { withdrawalAddress: address('a') }] as Given[]) {
      const whole = await listed(given)
      for (const size of [1, 2, 3, 6]) {
        const walked: number[] = []
        let input: Given | undefined = { ...given, size }
        while (input) {
          const { data, next }: Awaited<ReturnType<typeof page>> = await page(input)
          walked.push(...data.map(({ validatorIndex }) => validatorIndex))
          input = next === null ? undefined : inputOfLink(list.endpoint, next)
        }
        assert.deepEqual(walked, whole, JSON.stringify({ given, size }))
      }
    }
  })

  test('200: from is the first index, also of one that does not exist', async () => {
    assert.deepEqual(await listed({ from: 4, size: 2 }), [5, 8])
    assert.deepEqual(await listed({ from: 14 }), [])
  })
})

test('400: two filters, or names where addresses are needed', async () => {
  const both = { operatorsIds: ['Fjord'], withdrawalAddress: address('a') }
  assert.deepEqual(await invalidInputs(page(both)), ['query.operatorsIds', 'query.withdrawalAddress'])
  const named: Given = { operatorsIds: ['Fjord'], idType: 'depositAddress' }
  assert.deepEqual(await invalidInputs(page(named)), ['query.operatorsIds'])
})
