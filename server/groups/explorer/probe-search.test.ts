import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Account } from '#io/evm/shapes.ts'
import { between, firstChange, leaps } from './probe-search.ts'

const account = (nonce: number, balance: number): Account => ({ nonce: BigInt(nonce), balanceWei: BigInt(balance) })

/** An account without code through `blocks`: balances only rise, unless the nonce does too. */
const life = fc
  .array(fc.record({ spends: fc.boolean(), quiet: fc.boolean(), change: fc.integer({ min: 0, max: 3 }) }), {
    minLength: 1,
    maxLength: 60,
  })
  .map((steps) => {
    const accounts: Account[] = []
    let [nonce, balance] = [0, 0]
    for (const { spends, quiet, change } of steps) {
      if (!quiet && spends && balance > 0) [nonce, balance] = [nonce + 1, Math.max(0, balance - change)]
      else if (!quiet) balance += change
      accounts.push(account(nonce, balance))
    }
    return accounts
  })

const isSame = (a: Account, b: Account) => a.nonce === b.nonce && a.balanceWei === b.balanceWei

test('the next change of an account without code is found exactly, from any block on and with any fan-out', async () => {
  await fc.assert(
    fc.asyncProperty(
      life,
      fc.integer({ min: 1, max: 20 }),
      fc.nat(),
      fc.boolean(),
      async (accounts, fanOut, pick, near) => {
        const from = (pick % (accounts.length + 1)) - 1
        const base = accounts[from] ?? account(0, 0)
        const look = async (blocks: readonly number[]) => blocks.map((block) => accounts[block] as Account)
        const found = await firstChange(look, base, from, accounts.length - 1, fanOut, near)
        const expected = accounts.findIndex((one, at) => at > from && !isSame(one, base))
        assert.ok(found !== 'undone')
        assert.equal(found?.at ?? -1, expected)
        if (found) assert.ok(isSame(found.account, accounts[expected] as Account))
      },
    ),
    { numRuns: 500 },
  )
})

test('rounds and calls are those of a search with that fan-out: log(n) to the base fanOut + 1, and no more', async () => {
  const until = 20_000_000
  for (const fanOut of [1, 3, 7, 15]) {
    let rounds = 0
    let looks = 0
    const look = async (blocks: readonly number[]) => {
      rounds += 1
      looks += blocks.length
      return blocks.map((block) => account(0, block >= 12_345_678 ? 1 : 0))
    }
    const found = await firstChange(look, account(0, 0), -1, until, fanOut)
    assert.equal(found !== 'undone' && found?.at, 12_345_678)
    const most = Math.ceil(Math.log(until) / Math.log(fanOut + 1)) + 1
    assert.ok(rounds <= most && looks <= most * fanOut, `fan-out ${fanOut}: ${rounds} rounds, ${looks} looks`)
  }
})

test('a change that is near is found in few rounds, however far the chain goes on', async () => {
  for (const [gap, most] of [
    [1, 2],
    [8, 3],
    [60, 4],
    [500, 5],
  ] as const) {
    let rounds = 0
    const look = async (blocks: readonly number[]) => {
      rounds += 1
      return blocks.map((block) => account(0, block >= 1000 + gap ? 1 : 0))
    }
    const found = await firstChange(look, account(0, 0), 1000, 20_000_000, 7, true)
    assert.equal(found !== 'undone' && found?.at, 1000 + gap)
    assert.ok(rounds <= most, `${gap} blocks away: ${rounds} rounds`)
  }
})

test('a state that was undone is noticed, not taken for an answer', async () => {
  const lives: readonly Account[][] = [
    [account(0, 0), account(1, 5), account(0, 0)],
    [account(0, 0), account(0, 0), account(1, 0), account(0, 0), account(0, 0)],
  ]
  for (const accounts of lives) {
    const look = async (blocks: readonly number[]) => blocks.map((block) => accounts[block] as Account)
    assert.equal(await firstChange(look, account(0, 0), -1, accounts.length - 1, 5), 'undone')
  }
  const emptied = async (blocks: readonly number[]) => blocks.map(() => account(1, 2))
  assert.equal(await firstChange(emptied, account(1, 3), 0, 9, 3), 'undone')
})

test('points lie strictly between, each once, as many as fit', () => {
  assert.deepEqual(between(0, 8, 3), [2, 4, 6])
  assert.deepEqual(between(-1, 1, 7), [0])
  assert.deepEqual(between(4, 5, 7), [])
  assert.deepEqual(between(4, 8, 7), [5, 6, 7])
  assert.deepEqual(leaps(100, 1124, 9), [102, 104, 108, 116, 132, 164, 228, 356, 612])
  assert.deepEqual(leaps(4, 6, 7), [5])
  assert.deepEqual(leaps(4, 5, 7), [])
})
