import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Facts } from '#store/facts.ts'
import { openDesk } from '#test/desk.ts'
import { writeEpochs } from '#test/validators-world.ts'
import { standingOf } from './standing.ts'

/** The same store, counting the questions; `version` as that of a store which others write to as well. */
function counting(facts: Facts, isShared = false): { facts: Facts; asked: () => number } {
  let asked = 0
  const counted: Facts = Object.assign(Object.create(facts) as Facts, {
    query: (...args: Parameters<Facts['query']>) => {
      asked += 1
      return facts.query(...args)
    },
    version: () => (isShared ? undefined : facts.version()),
  })
  return { facts: counted, asked: () => asked }
}

test('what has been read of a network is asked once, and again after the next write', async (context) => {
  await using desk = await openDesk()
  if (desk.facts.version() === undefined) return void context.skip('several processes write to this engine')
  const { facts, asked } = counting(desk.facts)
  assert.deepEqual(await standingOf(facts, 'hoodi'), { covered: [], isWatched: false })
  const once = asked()
  await Promise.all([standingOf(facts, 'hoodi'), standingOf(facts, 'hoodi')])
  assert.equal(asked(), once)
  await writeEpochs(desk, 'hoodi', { from: 4, until: 6 }, [])
  assert.deepEqual(await standingOf(facts, 'hoodi'), { covered: [{ from: 4, until: 6 }], isWatched: false })
  assert.equal(asked(), 2 * once)
  assert.deepEqual((await standingOf(facts, 'mainnet')).covered, [])
})

test('a watch list that comes is noticed', async () => {
  await using desk = await openDesk()
  assert.equal((await standingOf(desk.facts, 'hoodi')).isWatched, false)
  await desk.facts.write((tx) =>
    tx.append('beacon_watched', { network: ['hoodi'], validator: [2], from_epoch: [0], until_epoch: [9] }),
  )
  assert.equal((await standingOf(desk.facts, 'hoodi')).isWatched, true)
  assert.equal((await standingOf(desk.facts, 'mainnet')).isWatched, false)
})

test('where others write as well, it is asked every time', async () => {
  await using desk = await openDesk()
  const { facts, asked } = counting(desk.facts, true)
  await standingOf(facts, 'hoodi')
  const once = asked()
  await standingOf(facts, 'hoodi')
  assert.equal(asked(), 2 * once)
})

test('a failure is not kept', async () => {
  await using desk = await openDesk()
  let fails = true
  const facts: Facts = Object.assign(Object.create(desk.facts) as Facts, {
    query: (...args: Parameters<Facts['query']>) =>
      fails ? Promise.reject(new Error('not now')) : desk.facts.query(...args),
    version: () => desk.facts.version(),
  })
  await assert.rejects(standingOf(facts, 'hoodi'), /not now/)
  fails = false
  assert.deepEqual((await standingOf(facts, 'hoodi')).covered, [])
})
