import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openDesk, type TestDesk, testVisit } from '#test/desk.ts'
import { putMarkets } from './records.ts'
import { changeStream } from './stream-changes.ts'

const trade = (desk: TestDesk, id: number, bestBid: number) =>
  desk.state.write((tx) =>
    putMarkets(tx, [{ kind: 'market', id: String(id), fields: { slug: `m-${id}`, bestBid } }], desk.clock.now()),
  )

/** The texts a follower is sent while time runs, until `enough`. */
async function follow(desk: TestDesk, input: object, enough: (text: string) => boolean, act = async () => {}) {
  const outcome = await changeStream.reply(input, desk, testVisit())
  assert.ok(outcome.is === 'stream')
  const stop = new AbortController()
  let text = ''
  const reading = (async () => {
    for await (const chunk of outcome.chunks(stop.signal)) text += chunk
  })()
  await act()
  for (let turns = 0; turns < 2000 && !enough(text); turns++) {
    await new Promise((resolve) => setImmediate(resolve))
    desk.clock.move(250)
  }
  stop.abort()
  await reading
  return text
}

const idsIn = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

test('invariant 1: every change after the cursor once, in order, more than a batch and while they happen', async () => {
  await using desk = await openDesk()
  for (let at = 0; at < 250; at++) await trade(desk, at % 5, at / 1000)
  const act = async () => {
    for (let at = 0; at < 5; at++) await trade(desk, at, 0.9)
  }
  const text = await follow(desk, { after: '10' }, (so) => idsIn(so).at(-1) === 255, act)
  assert.deepEqual(
    idsIn(text),
    Array.from({ length: 245 }, (_, at) => at + 11),
  )
})

test('without a cursor it starts now; a quiet line says that it is alive', async () => {
  await using desk = await openDesk()
  await trade(desk, 1, 0.1)
  const text = await follow(desk, {}, (so) => so.split(': still here').length > 3)
  assert.deepEqual(idsIn(text), [])
  assert.match(text, /^retry: \d+\n\n(: still here\n\n)+$/)
})

test('last-event-id wins over the cursor of the address, and filters hold', async () => {
  await using desk = await openDesk()
  for (const id of [1, 2, 1, 2]) await trade(desk, id, desk.clock.now() % 97)
  await trade(desk, 1, 0.5)
  await trade(desk, 2, 0.5)
  const input = { after: '0', lastEventId: '2', slugs: ['m-2'] }
  const text = await follow(desk, input, (so) => so.includes('still'))
  assert.ok(idsIn(text).length >= 1)
  assert.ok(idsIn(text).every((id) => id > 2))
  assert.doesNotMatch(text, /"slug":"m-1"/)
})

test('any slice of any history, followed from any cursor, is the rest of it', async () => {
  await using desk = await openDesk()
  for (let at = 0; at < 30; at++) await trade(desk, at % 3, at / 100)
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 29 }), async (after) => {
      const text = await follow(desk, { after: String(after) }, (so) => idsIn(so).at(-1) === 30)
      assert.equal(idsIn(text)[0], after + 1)
    }),
    { numRuns: 10 },
  )
})
