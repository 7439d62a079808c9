// Spec 4.7.
import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { Network } from '#api/contract/wire/validators.ts'
import type { StateWriter } from '#storage/state.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { callHandler, pubkeyOf, putDeposits, register, writeEpochs } from '#test/validators-world.ts'
import { writeCount } from '../duties/networks.ts'
import { writeWatched } from '../duties/watch-ranges.ts'
import { importEntities } from '../entities/import-entities.ts'
import { putValidators } from '../registry/registry.ts'
import { metadata } from './metadata.ts'

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

const inputFor = (network: Network, validator: string) => ({ network, validator_index_or_pubkey: validator })
const watching = (watch: readonly string[]) => ({ validators: { networks: { mainnet: { watch } } } })

describe('200', () => {
  test('returns all known fields, by index or by key in any spelling', async () => {
    await using context = await openContext()
    await putValidators(context.ingest, 'mainnet', [entry])
    const deposits = [address('f'), address('e'), address('F')].map((text) => ({ index: 12, address: text }))
    await putDeposits(context.ingest, 'mainnet', deposits)
    await importEntities(context.ingest, 'mainnet', [{ at: 1, record: entity }], 'test')
    const key = pubkeyOf(12)
    for (const who of ['12', '012', key, key.slice(2), key.toUpperCase().replace('0X', '0x')]) {
      const { body } = await callHandler(metadata, context, { validator_index_or_pubkey: who })
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

  test('unknown strings and far-future epochs are null, unknown lists are empty', async () => {
    await using context = await openContext()
    const nulls = { activationEligibilityEpoch: null, activationEpoch: null, exitEpoch: null, withdrawableEpoch: null }
    await putValidators(context.ingest, 'holesky', [{ ...entry, ...nulls, withdrawalAddress: null }])
    const { body } = await callHandler(metadata, context, { validator_index_or_pubkey: '12', network: 'holesky' })
    const { validatorIndex, validatorPubkey, nodeOperators, depositAddresses, dvtOperators, ...rest } = body
    assert.deepEqual({ validatorIndex, validatorPubkey }, { validatorIndex: 12, validatorPubkey: pubkeyOf(12) })
    assert.deepEqual([nodeOperators, depositAddresses, dvtOperators], [[], [], []])
    assert.deepEqual(new Set(Object.values(rest)), new Set([null]))
  })

  test('writing an entry again updates it', async () => {
    await using context = await openContext()
    await putValidators(context.ingest, 'mainnet', [{ ...entry, exitEpoch: null }])
    await putValidators(context.ingest, 'mainnet', [entry])
    const records = [{ ...entity, pool: 'Old' }, entity].map((record, at) => ({ at, record }))
    await importEntities(context.ingest, 'mainnet', records, 'test')
    const { body } = await callHandler(metadata, context, { validator_index_or_pubkey: '12' })
    assert.deepEqual([body.exitEpoch, body.pool], [30, 'Lantern Pool'])
  })
})

describe('404', () => {
  test('an unknown validator is not found', async () => {
    await using context = await openContext()
    await register(context, 'mainnet', [1])
    await writeEpochs(context, 'mainnet', { from: 0, until: 3 }, [])
    for (const who of ['2', '999999999999', pubkeyOf(2)]) {
      const outcome = await metadata.handle(inputFor('mainnet', who), context, testRequestInfo())
      assert.equal(outcome.is, 'nothing')
      assert.deepEqual(outcome.is === 'nothing' && outcome.confidence?.coverage, 'complete')
    }
  })

  test('with a watch list, a validator that may exist is reported as not stored', async () => {
    await using context = await openContext(watching([pubkeyOf(1), pubkeyOf(70)]))
    await register(context, 'mainnet', [1])
    await writeEpochs(context, 'mainnet', { from: 0, until: 3 }, [])
    await context.dutiesState.write(async (tx) => {
      const watched = { validators: Int32Array.of(1), countBefore: 60, count: 60 }
      await writeWatched(tx, 'mainnet', 0, watched, true)
      await writeCount(tx, 'mainnet', 60)
    })
    for (const who of ['2', '59', pubkeyOf(2), pubkeyOf(2).slice(2).toUpperCase()]) {
      const fault = { code: 'validators.not_watched', status: 404, headers: { 'x-tetrad-coverage': 'none' } }
      await assert.rejects(metadata.handle(inputFor('mainnet', who), context, testRequestInfo()), fault, who)
    }
    // The network has 60 validators, and a key on the list that is not in the registry belongs to none of them.
    for (const who of ['60', '999999999999', pubkeyOf(70), pubkeyOf(70).slice(2).toUpperCase()]) {
      assert.equal((await metadata.handle(inputFor('mainnet', who), context, testRequestInfo())).is, 'nothing', who)
    }
    assert.equal((await metadata.handle(inputFor('mainnet', '1'), context, testRequestInfo())).is, 'body')
    // Without a watch list, the registry has all validators again.
    const everyone = (tx: StateWriter) => writeWatched(tx, 'mainnet', 3, undefined, false)
    await context.dutiesState.write(async (tx) => void (await everyone(tx)))
    assert.equal((await metadata.handle(inputFor('mainnet', '2'), context, testRequestInfo())).is, 'nothing')
  })
})

describe('404 with an explanation', () => {
  test('on a network that is not read, no validator is reported as nonexistent', async () => {
    await using context = await openContext()
    await register(context, 'mainnet', [1])
    await writeEpochs(context, 'mainnet', { from: 0, until: 3 }, [])
    await register(context, 'hoodi', [2])
    for (const who of ['1', pubkeyOf(1)]) {
      const fault = {
        code: 'validators.not_read',
        status: 404,
        publicMessage: /^This server does not read this network/,
      }
      await assert.rejects(metadata.handle(inputFor('hoodi', who), context, testRequestInfo()), fault)
    }
    assert.equal((await metadata.handle(inputFor('hoodi', '2'), context, testRequestInfo())).is, 'body')
  })
})

describe('503', () => {
  test('while the first epoch is being read, the response has retry-after', async () => {
    await using context = await openContext({
      validators: { networks: { hoodi: { beacon: { urls: ['http://node.test'] } } } },
    })
    const fault = { code: 'validators.not_covered', retryAfterMs: 60_000, headers: { 'x-tetrad-coverage': 'none' } }
    await assert.rejects(metadata.handle(inputFor('hoodi', '1'), context, testRequestInfo()), fault)
  })
})
