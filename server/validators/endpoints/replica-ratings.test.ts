// Figures of 4.5 and 4.6 from a replica: they belong to the coverage of the response, or come from the primary.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { openContext } from '#test/context.ts'
import { network, readEarnings, shortDays, validator, writeEarnings } from '#test/earnings-of-validator.ts'
import { callHandler, register } from '#test/validators-world.ts'
import { withReplica } from '#test/with-replica.ts'
import { recordPastChange } from '../duties/past-changes.ts'
import { dutiesOnThisThread } from '../duties/store.ts'
import { effectiveness } from './effectiveness.ts'

const settings = { validators: shortDays }

test('figures of a replica are used only if it has the coverage and the past changes of the response', async () => {
  await using context = await openContext(settings)
  await using replica = await openContext(settings)
  await register(context, network, [validator])
  const { state, replicaReads } = withReplica(context.dutiesState, replica.dutiesState)
  const served = { ...context, duties: dutiesOnThisThread(state) }
  const pages = async () => {
    const { body } = await callHandler(effectiveness, served, { network, validator_index_or_pubkey: String(validator) })
    return body.results.length
  }
  await writeEarnings(context, 0, 8, 1)
  await writeEarnings(replica, 0, 8, 100)
  assert.deepEqual(await readEarnings(served), [800, 7])
  assert.equal(await pages(), 2)
  const used = replicaReads()
  assert.ok(used >= 2, 'both endpoints read from the replica')

  await writeEarnings(context, 8, 12, 1)
  assert.deepEqual(await readEarnings(served), [12, 11], 'the replica is behind')
  assert.equal(await pages(), 3)
  assert.equal(replicaReads(), used)

  await writeEarnings(replica, 8, 12, 100)
  assert.deepEqual(await readEarnings(served), [1200, 11])
  const time = context.settings.validators.networks[network]
  await context.dutiesState.write((tx) => recordPastChange(tx, network, time, { from: 0, until: 4 }))
  assert.deepEqual(await readEarnings(served), [12, 11], 'a past day has changed')
})
