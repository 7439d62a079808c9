import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateWith } from '#test/authorization.ts'
import { openContext } from '#test/context.ts'
import { timedDuties, timedState } from './timed.ts'

test('every operation is reported once with its database, after success and failure', async () => {
  await using context = await openContext()
  const reported: string[] = []
  const report = (port: string, operation: string, tookMs: number) => {
    assert.ok(tookMs >= 0)
    reported.push(`${port} ${operation}`)
  }
  const state = timedState(context.state, context.clock, report)
  const duties = timedDuties(context.duties, context.clock, report)
  assert.deepEqual({ ...(await state.get('select 1 as one')) }, { one: 1 })
  assert.equal((await state.all('select 1 as one union select 2 as one')).length, 2)
  assert.equal(await state.write(async () => 7), 7)
  await assert.rejects(state.get('select nonsense'))
  assert.equal(await state.snapshot(async () => 8), 8)
  assert.deepEqual({ ...(await duties.get('select 1 as one')) }, { one: 1 })
  assert.equal((await duties.all('select 1 as one')).length, 1)
  assert.equal(typeof (await duties.query('countRows', undefined)), 'object')
  await assert.rejects(duties.update('nonsense' as never, {} as never))
  const ofState = ['state get', 'state all', 'state write', 'state get', 'state snapshot']
  assert.deepEqual(reported, [...ofState, 'duties get', 'duties all', 'duties query', 'duties write'])
})

test('a wait for a lock is reported with the name of the lock', async () => {
  await using context = await openContext()
  const reported: unknown[] = []
  const waiting = stateWith(context.state, {
    write: (work, options) => {
      if (options?.lock) options.onLockWait?.(70)
      return context.state.write(work, options)
    },
  })
  const state = timedState(waiting, context.clock, (...report) => reported.push(report), 'ingest')
  await state.write(async () => {}, { lock: 'markets' })
  await state.write(async () => {})
  assert.deepEqual(reported, [
    ['ingest', 'lock:markets', 70],
    ['ingest', 'write', 0],
    ['ingest', 'write', 0],
  ])
})
