import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { openDesk, testVisit } from '#test/desk.ts'
import { ask, pubkeyOf, putDeposits, register } from '#test/validators-world.ts'
import { importEntities } from './entities.ts'
import { metadata } from './metadata.ts'
import { putValidators } from './registry.ts'

const address = (digit: string) => `0x${digit.repeat(40)}`
const entity = {
  index: 12,
  pool: 'Lantern Pool',
  subpool: 'North',
  dvtNetwork: 'Braid',
  nodeOperators: ['B', 'A'],
  dvtOperators: ['C'],
}
const entry = {
  index: 12,
  pubkey: pubkeyOf(12),
  activationEligibilityEpoch: 10,
  activationEpoch: 20,
  exitEpoch: 30,
  withdrawableEpoch: 286,
  withdrawalAddress: address('D'),
}

describe('200', () => {
  test('everything that is known, asked by index or by key in any spelling', async () => {
    await using desk = await openDesk()
    await putValidators(desk.state, 'mainnet', [entry])
    const deposits = [address('f'), address('e'), address('F')].map((text) => ({ index: 12, address: text }))
    await putDeposits(desk.state, 'mainnet', deposits)
    await importEntities(desk.state, 'mainnet', [{ at: 1, record: entity }], 'test', desk.clock.now())
    const key = pubkeyOf(12)
    for (const who of ['12', '012', key, key.slice(2), key.toUpperCase().replace('0X', '0x')]) {
      const { body } = await ask(metadata, desk, { validator_index_or_pubkey: who })
      assert.deepEqual(
        body,
        {
          validatorIndex: 12,
          validatorPubkey: key,
          pool: 'Lantern Pool',
          dvtNetwork: 'Braid',
          nodeOperators: ['B', 'A'],
          depositAddresses: [address('e'), address('f')],
          dvtOperators: ['C'],
          activationEpoch: 20,
          activationEligibilityEpoch: 10,
          exitEpoch: 30,
          withdrawableEpoch: 286,
          withdrawalAddress: address('d'),
          subpool: 'North',
        },
        who,
      )
    }
  })

  test('unknown strings and far-future epochs are null, unknown lists are empty, decision 0038', async () => {
    await using desk = await openDesk()
    const nulls = { activationEligibilityEpoch: null, activationEpoch: null, exitEpoch: null, withdrawableEpoch: null }
    await putValidators(desk.state, 'holesky', [{ ...entry, ...nulls, withdrawalAddress: null }])
    const { body } = await ask(metadata, desk, { validator_index_or_pubkey: '12', network: 'holesky' })
    const { validatorIndex, validatorPubkey, nodeOperators, depositAddresses, dvtOperators, ...rest } = body
    assert.deepEqual({ validatorIndex, validatorPubkey }, { validatorIndex: 12, validatorPubkey: pubkeyOf(12) })
    assert.deepEqual([nodeOperators, depositAddresses, dvtOperators], [[], [], []])
    assert.deepEqual(new Set(Object.values(rest)), new Set([null]))
  })

  test('writing an entry again brings it up to date', async () => {
    await using desk = await openDesk()
    await putValidators(desk.state, 'mainnet', [{ ...entry, exitEpoch: null }])
    await putValidators(desk.state, 'mainnet', [entry])
    const records = [{ ...entity, pool: 'Old' }, entity].map((record, at) => ({ at, record }))
    await importEntities(desk.state, 'mainnet', records, 'test', 2)
    const { body } = await ask(metadata, desk, { validator_index_or_pubkey: '12' })
    assert.deepEqual([body.exitEpoch, body.pool], [30, 'Lantern Pool'])
  })
})

describe('404', () => {
  test('a validator that the network does not know is not found', async () => {
    await using desk = await openDesk()
    await register(desk, 'mainnet', [1])
    for (const [network, who] of [
      ['mainnet', '2'],
      ['mainnet', '999999999999'],
      ['mainnet', pubkeyOf(2)],
      ['hoodi', '1'],
    ] as const) {
      const outcome = await metadata.reply({ network, validator_index_or_pubkey: who }, desk, testVisit())
      assert.equal(outcome.is, 'nothing')
      // Decision 0002: nothing of this network has been read, and the caller is told.
      assert.equal(outcome.is === 'nothing' && outcome.confidence?.coverage, 'none')
    }
  })
})
