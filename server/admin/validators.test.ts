// What names the entity of a validator, as the console shows it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ExplainedEntity } from '#shared/console-calls.ts'
import { createKey } from '#storage/keys.ts'
import { openConsole } from '#test/console.ts'
import { pubkeyOf, register } from '#test/validators-world.ts'
import { importEntities } from '#validators/entities/import-entities.ts'

async function openValidators(settings: object = {}) {
  const site = await openConsole(settings)
  const { context } = site
  await register(context, 'hoodi', [7])
  await importEntities(context.ingest, 'hoodi', [{ at: 1, record: { index: 7, pool: 'Harbour' } }], 'pools.csv')
  const { key } = await createKey(context.state, { name: 'test', plan: 'standard' }, context.clock, context.random)
  const get = (path: string, authorization = `Bearer ${key}`) =>
    site.request(`/console/validators/${path}/entity`, { headers: { authorization } })
  return { ...site, get }
}

describe('GET /console/validators/{network}/{validator}/entity', () => {
  test('200: what names each field, since when, and all rules; by index or key', async () => {
    await using site = await openValidators()
    for (const validator of ['7', pubkeyOf(7)]) {
      const reply = await site.get(`hoodi/${validator}`)
      assert.equal(reply.status, 200)
      const { periods, rules } = reply.json<ExplainedEntity>()
      assert.deepEqual(
        periods.pool.map(({ name, fromDay, source, kind }) => [name, fromDay, source, kind]),
        [['Harbour', 0, 'pools.csv', 'rule']],
      )
      assert.deepEqual(
        rules.map(({ selector, names }) => [selector, names]),
        [['index', ['pool']]],
      )
    }
  })

  test('404: an unknown validator or network; 401: no key', async () => {
    await using site = await openValidators()
    for (const path of ['hoodi/8', 'mainnet/7', 'constructor/7', 'hoodi/x'])
      assert.equal((await site.get(path)).status, 404)
    assert.equal((await site.get('hoodi/7', '')).status, 401)
  })
})
