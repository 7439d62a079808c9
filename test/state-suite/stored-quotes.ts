// Quotes and receipt keys when several servers share a database (storage/state.ts, rules 13, 14 and 16).
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { createFxCaches } from '#fx/context.ts'
import { changeOverride } from '#fx/pricing/overrides.ts'
import { type NewQuote, type Replay, storeQuote } from '#fx/pricing/quotes.ts'
import { getReceiptSigner, rotateReceiptKey } from '#fx/receipts/receipt-key.ts'
import { dropIdempotencyKeys } from '#operations/retention.ts'
import type { GroupWrite, State } from '#storage/state.ts'
import { stateWith } from '../authorization.ts'
import { settingsWith } from '../context.ts'
import { provenTimeOf } from '../proven-time.ts'
import type { CreateLocation } from './store-location.ts'
import { clock, giveTime, nowMs, openTwoServers, random, stopBeforeCommit } from './two-servers.ts'

const dayMs = 86_400_000
const settings = settingsWith()

/** The state of a server whose groups take some time to commit. */
function slowGroups(state: State): State {
  /** A group is known by its function. */
  const slow = new Map<unknown, GroupWrite<never, unknown>>()
  const slowDown =
    <Item, Result>(group: GroupWrite<Item, Result>): GroupWrite<Item, Result> =>
    async (tx, items) => {
      const results = await group(tx, items)
      await giveTime(state)
      return results
    }
  const writeTogether: State['writeTogether'] = (group, item) =>
    state.writeTogether(slow.getOrInsertComputed(group, () => slowDown(group)) as typeof group, item)
  return stateWith(state, { writeTogether })
}

const contextOf = (state: State) => ({ state, clock, random, fx: createFxCaches() })

async function newQuote(state: State): Promise<NewQuote> {
  const { id } = await getReceiptSigner(contextOf(state))
  const quoteId = random.uuid()
  return {
    ...{ id: quoteId, keyId: 'caller', createdMs: nowMs, asOfMs: nowMs, nonce: null, pricedFrom: '{}' },
    ...{ receiptKey: id, receiptSignature: new Uint8Array(64), reply: new TextEncoder().encode(quoteId), overrides: 0 },
  }
}

const replayOf = (idempotencyKey: string, bodyHash = 'same'): Omit<Replay, 'nowMs'> => ({
  ...{ keyId: 'caller', idempotencyKey, bodyHash },
})
const countQuotes = async (state: State, receiptKey?: string): Promise<number> => {
  const where = receiptKey === undefined ? '' : `where receipt_key = '${receiptKey}'`
  return (await state.get<{ n: number }>(`select count(*) as n from fx_quotes ${where}`))?.n ?? 0
}

export function testStoredQuotes(createLocation: CreateLocation): void {
  const store = async (state: State, replay: Omit<Replay, 'nowMs'>, atMs = nowMs): Promise<string> => {
    const build = async () => ({ ...(await newQuote(state)), createdMs: atMs })
    return new TextDecoder().decode((await storeQuote(state, build, { ...replay, nowMs: atMs })).reply)
  }

  test('an idempotency key that is used on two servers at once makes one quote (storage/state.ts, rule 13)', async () => {
    await using servers = await openTwoServers(createLocation)
    const { one, other } = servers
    for (let key = 0; key < 5; key += 1) {
      const calls = Array.from({ length: 12 }, (_, at) => store(at % 2 === 0 ? one : other, replayOf(`order ${key}`)))
      assert.equal(new Set(await Promise.all(calls)).size, 1)
      assert.equal(await countQuotes(one), key + 1)
    }
    // After a day the keys are free again, once.
    const later = nowMs + dayMs + 1
    const again = await Promise.all([one, other].map((state) => store(state, replayOf('order 1'), later)))
    assert.equal(new Set(again).size, 1)
    assert.equal(await countQuotes(one), 6)
  })

  test('an expired idempotency key that is used again is not deleted (storage/state.ts, rule 13)', async () => {
    await using servers = await openTwoServers(createLocation)
    const { one, other } = servers
    await store(one, replayOf('order'))
    const later = nowMs + dayMs + 1
    const stopped = stopBeforeCommit(one)
    const renewed = store(stopped.state, replayOf('order'), later)
    await stopped.reached
    const laterClock = { ...clock, now: () => later }
    const context = { state: other, clock: laterClock, provenTime: provenTimeOf(laterClock) }
    const deleting = dropIdempotencyKeys(context, new AbortController().signal)
    await giveTime(other)
    stopped.release()
    await deleting
    assert.equal(await store(other, replayOf('order'), later), await renewed)
    assert.equal(await countQuotes(one), 2)
  })

  test('a server waits for the quote that another one is storing with the same idempotency key (storage/state.ts, rule 13)', async () => {
    await using servers = await openTwoServers(createLocation)
    const { one, other } = servers
    await getReceiptSigner(contextOf(one))
    const stopped = stopBeforeCommit(one)
    const first = store(stopped.state, replayOf('order'))
    await stopped.reached
    const second = store(other, replayOf('order'))
    const differing = store(other, replayOf('order', 'another body'))
    const refused = assert.rejects(differing, (error) => error instanceof Fault && error.code === 'fx.idempotency')
    await giveTime(other)
    stopped.release()
    assert.equal(await second, await first)
    await refused
    assert.equal(await countQuotes(other), 1)
  })

  test('once a rotation of the receipt key is committed, no quote commits that the old key has signed (storage/state.ts, rule 14)', async () => {
    await using servers = await openTwoServers(createLocation)
    const { one, other } = servers
    const { id } = await getReceiptSigner(contextOf(one))
    const stopped = stopBeforeCommit(one)
    const quoted = store(stopped.state, replayOf('order'))
    await stopped.reached
    const rotating = rotateReceiptKey(contextOf(other)).then(() => countQuotes(other, id))
    await giveTime(other)
    stopped.release()
    await quoted
    assert.equal(await countQuotes(one, id), await rotating)
  })

  test('a change of an override waits for the quotes that are being stored, and later ones are priced again (storage/state.ts, rule 16)', async () => {
    await using servers = await openTwoServers(createLocation)
    const { one, other } = servers
    await getReceiptSigner(contextOf(one))
    const stopped = stopBeforeCommit(one)
    const quoted = store(stopped.state, replayOf('order'))
    await stopped.reached
    const pausing = changeOverride({ state: other, clock, settings }, { pair: null, paused: true }, 'test').then(
      async ({ revision }) => ({ revision, quotes: await countQuotes(other) }),
    )
    await giveTime(other)
    const attempts: number[] = []
    const late = storeQuote(
      one,
      async (attempt) => {
        attempts.push(attempt)
        // It is priced before the change, and stored after it.
        if (attempt === 0) await pausing
        return { ...(await newQuote(one)), overrides: attempt }
      },
      undefined,
    )
    stopped.release()
    await quoted
    await late
    assert.deepEqual(await pausing, { revision: 1, quotes: 1 })
    assert.deepEqual(attempts, [0, 1])
  })

  test('quotes that are stored while the receipt key is rotated are signed by a key that is not retired (storage/state.ts, rule 14)', async () => {
    await using servers = await openTwoServers(createLocation)
    const { one, other } = servers
    await getReceiptSigner(contextOf(one))
    const slow = [slowGroups(one), slowGroups(other)]
    const quoting = Array.from({ length: 40 }, (_, at) => store(slow[at % 2] ?? one, replayOf(`order ${at}`)))
    const retired: [key: string, quotes: number][] = []
    for (let rotation = 0; rotation < 4; rotation += 1) {
      const { id } = await getReceiptSigner(contextOf(one))
      await rotateReceiptKey(contextOf(rotation % 2 === 0 ? one : other))
      retired.push([id, await countQuotes(one, id)])
    }
    assert.equal(new Set(await Promise.all(quoting)).size, 40)
    for (const [key, quotes] of retired) assert.equal(await countQuotes(one, key), quotes)
  })
}
