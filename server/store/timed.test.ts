import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDesk } from '#test/desk.ts'
import { timedFacts, timedState } from './timed.ts'

test('every operation is told once, with its port, whether it succeeds or fails', async () => {
  await using desk = await openDesk()
  const told: string[] = []
  const tell = (port: string, operation: string, tookMs: number) => {
    assert.ok(tookMs >= 0)
    told.push(`${port} ${operation}`)
  }
  const state = timedState(desk.state, desk.clock, tell)
  const facts = timedFacts(desk.facts, desk.clock, tell)
  assert.deepEqual({ ...(await state.get('select 1 as one')) }, { one: 1 })
  assert.equal((await state.all('select 1 as one union select 2 as one')).length, 2)
  assert.equal(await state.write(async () => 7), 7)
  await assert.rejects(state.get('select nonsense'))
  assert.equal((await facts.query('select 1 as one')).length, 1)
  await assert.rejects(facts.write(async (tx) => tx.run('nonsense')))
  assert.deepEqual(told, ['state get', 'state all', 'state write', 'state get', 'facts query', 'facts write'])
})
