// Figures of 4.5 and 4.6 from a replica: they belong to the coverage of the response, or come from the primary.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { callHandler, perfect, register, writeEpochs } from '#test/validators-world.ts'
import { withReplica } from '#test/with-replica.ts'
import { recordPastChange } from '../duties/past-changes.ts'
import { dutiesOnThisThread } from '../duties/store.ts'
import { aggregateEffectiveness } from './aggregate-effectiveness.ts'
import { effectiveness } from './effectiveness.ts'

const settings = { validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4 } } } }
const network = 'hoodi'

/** The earnings show which database was read. */
const write = (context: TestContext, from: number, until: number, earnings: number) =>
  writeEpochs(
    context,
    network,
    { from, until },
    Array.from({ length: until - from }, (_, at) => ({ ...perfect, epoch: from + at, validator: 5, earnings })),
  )

test('figures of a replica are used only if it has the coverage and the past changes of the response', async () => {
  await using context = await openContext(settings)
  await using replica = await openContext(settings)
  await register(context, network, [5])
  const { state, replicaReads } = withReplica(context.dutiesState, replica.dutiesState)
  const served = { ...context, duties: dutiesOnThisThread(state) }
  const ask = async () => {
    const { body, confidence } = await callHandler(aggregateEffectiveness, served, {
      network,
      indices: [5],
      granularity: 'all',
      include: ['earnings'],
      groupBy: 'timeWindow',
    })
    return [body.data[0]?.earnings, confidence?.asOf]
  }
  const pages = async () => {
    const { body } = await callHandler(effectiveness, served, { network, validator_index_or_pubkey: '5' })
    return body.results.length
  }
  await write(context, 0, 8, 1)
  await write(replica, 0, 8, 100)
  assert.deepEqual(await ask(), [800, 7])
  assert.equal(await pages(), 2)
  const used = replicaReads()
  assert.ok(used >= 2, 'both endpoints read from the replica')

  await write(context, 8, 12, 1)
  assert.deepEqual(await ask(), [12, 11], 'the replica is behind')
  assert.equal(await pages(), 3)
  assert.equal(replicaReads(), used)

  await write(replica, 8, 12, 100)
  assert.deepEqual(await ask(), [1200, 11])
  const time = context.settings.validators.networks[network]
  await context.dutiesState.write((tx) => recordPastChange(tx, network, time, { from: 0, until: 4 }))
  assert.deepEqual(await ask(), [12, 11], 'a past day has changed')
})
