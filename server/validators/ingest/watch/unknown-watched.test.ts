import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext } from '#test/context.ts'
import { pubkeyOf, register } from '#test/validators-world.ts'
import { putValidators } from '../../registry/registry.ts'
import { findUnknownWatched } from './unknown-watched.ts'

test('unknown indices, keys and addresses are found, whatever their spelling', async () => {
  await using context = await openContext()
  await register(context, 'hoodi', [12])
  const withAddress = { index: 7, pubkey: pubkeyOf(7), withdrawalAddress: `0x${'ab'.repeat(20)}` }
  const epochs = { activationEligibilityEpoch: 0, activationEpoch: 0, exitEpoch: null, withdrawableEpoch: null }
  await putValidators(context.ingest, 'hoodi', [{ ...withAddress, ...epochs }])
  const known = ['12', '0012', pubkeyOf(12).toUpperCase().replace('0X', '0x'), `0x${'AB'.repeat(20)}`]
  const unknown = ['34', pubkeyOf(34), `0x${'cd'.repeat(20)}`]
  assert.deepEqual(await findUnknownWatched(context.ingest, 'hoodi', [...known, ...unknown]), unknown)
  assert.deepEqual(await findUnknownWatched(context.ingest, 'mainnet', ['12']), ['12'])
  const many = Array.from({ length: 1200 }, (_, at) => String(at))
  assert.equal((await findUnknownWatched(context.ingest, 'hoodi', many)).length, 1198)
})
