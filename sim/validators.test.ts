import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type AggregateRecord, aggregateFields, networks } from '#api/wire/validators.ts'
import { chainDays } from '#core/chain-time.ts'
import { aggregateEffectiveness } from '#groups/validators/aggregate-effectiveness.ts'
import { coveredEpochs } from '#groups/validators/duties.ts'
import { effectiveness } from '#groups/validators/effectiveness.ts'
import { metadata } from '#groups/validators/metadata.ts'
import { openDesk, type TestDesk, testNowMs } from '#test/desk.ts'
import { ask } from '#test/validators-world.ts'
import { loadValidators } from './validators.ts'

async function everyRecord(desk: TestDesk): Promise<AggregateRecord[]> {
  const pages = networks.map(async (network) => {
    const known = await desk.state.all<{ at: number }>(
      'select validator_index as at from validators where network = ?',
      network,
    )
    const indices = known.map(({ at }) => at)
    return (await ask(aggregateEffectiveness, desk, { network, indices, granularity: 'week', size: 1000 })).body.data
  })
  return (await Promise.all(pages)).flat()
}

/** Field → it has a value somewhere, it is null somewhere. */
function seen(records: readonly object[]): Map<string, { value: boolean; none: boolean }> {
  const fields = new Map<string, { value: boolean; none: boolean }>()
  for (const [name, value] of records.flatMap((record) => Object.entries(record))) {
    const field = fields.get(name) ?? { value: false, none: false }
    const isNone = value === null || (Array.isArray(value) && value.length === 0)
    fields.set(name, { value: field.value || !isNone, none: field.none || isNone })
  }
  return fields
}

test('sixty complete chain days of each network, up to the last one that is over', async () => {
  await using desk = await openDesk()
  const { indices, pubkeys } = await loadValidators(desk, 'a seed')
  for (const network of networks) {
    const line = chainDays(desk.settings.validators.networks[network])
    const today = line.dayAt(testNowMs)
    const expected = { from: line.epochsOf((today - 60) as never).from, until: line.epochsOf(today).from }
    assert.deepEqual(await coveredEpochs(desk.facts, network), [expected])
  }

  // Records add up as method 1 says, and each field has a value somewhere.
  const records = await everyRecord(desk)
  for (const record of records) {
    const sum = (...names: (keyof AggregateRecord)[]) => names.reduce((total, name) => total + Number(record[name]), 0)
    assert(Number(record.totalUniqueAttestations) <= Number(record.totalAttestationAssignments))
    assert(Number(record.totalUniqueAttestations) <= Number(record.totalAttestations))
    const penalties = sum(
      'sumLateSourcePenalties',
      'sumLateTargetPenalties',
      'sumMissedAttestationPenalties',
      'sumSyncCommitteePenalties',
      'sumWrongHeadPenalties',
      'sumWrongTargetPenalties',
    )
    assert.equal(record.estimatedPenalties, penalties)
    assert.equal(record.earnings, sum('estimatedRewards', 'estimatedPenalties') - 7_812_500 * sum('slashesReceived'))
    for (const [name, value] of Object.entries(record)) {
      assert(
        name.endsWith('Penalties') ? Number(value) <= 0 : value === null || Number(value) >= 0 || name === 'earnings',
      )
    }
  }
  const fields = seen(records)
  // A week has no day of its own; a wrong head costs nothing under the present rules.
  assert.deepEqual(
    aggregateFields.filter((name) => !fields.get(name)?.value),
    ['day'],
  )
  const never = [...fields.keys()].filter((name) => records.every((record) => !record[name as 'earnings']))
  assert.deepEqual(never, ['sumWrongHeadPenalties'])
  assert(
    records.some((record) => !('sumPriorityFees' in record)),
    'a network without an execution source',
  )

  // So has each field of the entities, and each list is empty and each text null somewhere.
  const cards = []
  for (const row of await desk.state.all<{ network: 'mainnet'; at: number }>(
    'select network, validator_index as at from validators',
  )) {
    cards.push((await ask(metadata, desk, { network: row.network, validator_index_or_pubkey: String(row.at) })).body)
  }
  for (const [name, { value, none }] of seen(cards)) {
    assert(value, `${name} has no value anywhere`)
    assert(none || ['validatorIndex', 'validatorPubkey'].includes(name), `${name} is never unknown`)
  }

  // The samples are there to be asked about.
  assert.deepEqual([indices.length, pubkeys.length], [5, 5])
  for (const who of [...indices.map(String), ...pubkeys]) {
    const { body } = await ask(effectiveness, desk, { validator_index_or_pubkey: who })
    assert.deepEqual([body.pages, body.results.length], [6, 10])
  }
})

test('the same seed at the same time gives the same world, and loading it again changes nothing', async () => {
  await using one = await openDesk()
  await using two = await openDesk()
  await loadValidators(one, 'harbour')
  const before = await everyRecord(one)
  await loadValidators(two, 'harbour')
  assert.deepEqual(await everyRecord(two), before)
  await loadValidators(one, 'harbour')
  assert.deepEqual(await everyRecord(one), before)
})
