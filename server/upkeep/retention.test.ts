import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDesk, type TestDesk } from '#test/desk.ts'
import { dropQuotes, startRetention } from './retention.ts'

const dayMs = 86_400_000

async function putQuotes(desk: TestDesk, ages: readonly number[]): Promise<void> {
  await desk.state.write(async (tx) => {
    for (const [at, days] of ages.entries())
      await tx.run(
        `insert into fx_quotes
           (id, key_id, created_ms, as_of_ms, nonce, priced_from, receipt_key, receipt_signature, reply)
         values (?, 'k', ?, 0, null, '', '', ?, ?)`,
        ...[`q${at}`, desk.clock.now() - days * dayMs, new Uint8Array(1), new Uint8Array(1)],
      )
  })
}

const left = async ({ state }: TestDesk) =>
  (await state.all<{ id: string }>('select id from fx_quotes order by id')).map(({ id }) => id)

describe('quotes', () => {
  test('those older than asked for go, all others stay', async () => {
    await using desk = await openDesk({ retention: { quotesDays: 30 } })
    await putQuotes(desk, [0, 29, 30, 31, 400])
    assert.equal(await dropQuotes(desk, AbortSignal.timeout(10_000)), 2)
    assert.deepEqual(await left(desk), ['q0', 'q1', 'q2'])
  })

  test('a week is the least, whatever is asked for', async () => {
    await using desk = await openDesk({ retention: { quotesDays: 1 } })
    await putQuotes(desk, [2, 6, 8])
    assert.equal(await dropQuotes(desk, AbortSignal.timeout(10_000)), 1)
    assert.deepEqual(await left(desk), ['q0', 'q1'])
  })

  test('one that an idempotency key leads to stays for the key’s day, and no longer', async () => {
    await using desk = await openDesk({ retention: { quotesDays: 7 } })
    await putQuotes(desk, [10, 10, 10])
    await desk.state.write(async (tx) => {
      for (const [quote, ageMs] of [['q0', dayMs - 1] as const, ['q1', dayMs] as const])
        await tx.run(
          `insert into fx_idempotency (key_id, idempotency_key, body_hash, quote_id, created_ms) values ('k', ?, '', ?, ?)`,
          ...[quote, quote, desk.clock.now() - ageMs],
        )
    })
    assert.equal(await dropQuotes(desk, AbortSignal.timeout(10_000)), 2)
    assert.deepEqual(await left(desk), ['q0'])
    desk.clock.move(1)
    assert.equal(await dropQuotes(desk, AbortSignal.timeout(10_000)), 1)
    assert.deepEqual(await left(desk), [])
  })

  test('more than one step’s worth goes in several transactions', async () => {
    await using desk = await openDesk({ retention: { quotesDays: 7 } })
    await putQuotes(desk, new Array<number>(1200).fill(9))
    assert.equal(await dropQuotes(desk, AbortSignal.timeout(10_000)), 1200)
    assert.deepEqual(await left(desk), [])
  })

  test('0 keeps them for ever: the loop ends at once', async () => {
    await using desk = await openDesk()
    await putQuotes(desk, [30_000])
    await startRetention(desk, new AbortController().signal)
    assert.deepEqual(await left(desk), ['q0'])
  })

  test('the loop comes back after its interval, and ends with the signal', async () => {
    await using desk = await openDesk({ retention: { quotesDays: 30, everyMs: 60_000 } })
    const stop = new AbortController()
    await putQuotes(desk, [40])
    const loop = startRetention(desk, stop.signal)
    const until = async (count: number) => {
      for (let tries = 0; (await left(desk)).length !== count && tries < 500; tries++) await new Promise(setImmediate)
      assert.equal((await left(desk)).length, count)
    }
    await until(0)
    await putQuotes(desk, [40])
    await until(1)
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    desk.clock.move(60_000)
    await until(0)
    stop.abort()
    await loop
  })
})
