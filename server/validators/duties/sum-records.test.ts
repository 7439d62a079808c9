// Sums that exceed 32 bits.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openContext } from '#test/context.ts'
import { perfect, writeEpochs } from '#test/validators-world.ts'
import { plainTime } from './layout.ts'

test('sums of many validators are exact beyond 32 bits', async () => {
  await using context = await openContext()
  const draws = createSeededRandom('large sums')
  // Each takes 24 bits or fewer; together they take more than 32.
  const rows = Array.from({ length: 1200 }, (_, validator) => {
    return { ...perfect, epoch: 0, validator, attestation_reward: draws.whole(0, 2 ** 24) }
  })
  await writeEpochs(context, 'mainnet', { from: 0, until: 1 }, rows)
  const query = {
    ...({
      network: 'mainnet',
      isUtc: false,
      days: { from: 0, until: 1 },
      windowOfDay: [0],
      byValidator: false,
    } as const),
    time: plainTime(context.settings.validators.networks.mainnet),
    validators: rows.map(({ validator }) => validator),
    grain: 'days' as const,
  }
  const wanted = { measures: ['attestation_reward', 'assigned'] as const, scores: ['attester'] as const }
  const { sums } = await context.duties.query('sumRecords', { query, wanted })
  const expected = rows.reduce((total, row) => total + row.attestation_reward, 0)
  assert(expected > 2 ** 32)
  assert.deepEqual([...(sums.attestation_reward ?? [])], [expected])
  assert.deepEqual([...(sums.assigned ?? [])], [1200])
})
