import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AccountState, findFirstChange, isSameAccount, type ReadAccounts } from './account-search.ts'

const state = (block: number, nonce: number, balance: number): AccountState => ({
  block,
  nonce: BigInt(nonce),
  balanceWei: BigInt(balance),
})

/** An account without code: its balance falls only when its nonce rises. */
const history = fc
  .array(fc.record({ spends: fc.boolean(), quiet: fc.boolean(), change: fc.integer({ min: 0, max: 3 }) }), {
    minLength: 1,
    maxLength: 60,
  })
  .map((steps) => {
    let [nonce, balance] = [0, 0]
    return steps.map(({ spends, quiet, change }, block) => {
      if (!quiet && spends && balance > 0) [nonce, balance] = [nonce + 1, Math.max(0, balance - change)]
      else if (!quiet) balance += change
      return state(block, nonce, balance)
    })
  })

/** Counts calls as a node would: one for a balance, two with the nonce. */
function countingReader(at: (block: number) => AccountState) {
  const counts = { rounds: 0, calls: 0 }
  const read: ReadAccounts = async (blocks, knownNonce) => {
    counts.rounds += 1
    counts.calls += blocks.length * (knownNonce === undefined ? 2 : 1)
    return blocks.map((block) => ({ ...at(block), ...(knownNonce !== undefined && { nonce: knownNonce }) }))
  }
  return { read, counts }
}

test('finds exactly the first change of an account without code, from any block and with any fan-out', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.integer({ min: 1, max: 20 }), fc.nat(), async (states, fanOut, pick) => {
      const from = (pick % (states.length + 1)) - 1
      const before = states[from] ?? state(-1, 0, 0)
      const last = states.at(-1) as AccountState
      if (isSameAccount(before, last)) return
      const { read } = countingReader((block) => states[block] as AccountState)
      const expected = states.find(
        ({ block }, at) => block > from && !isSameAccount(before, states[at] as AccountState),
      )
      assert.deepEqual(await findFirstChange(read, before, last, fanOut), expected)
    }),
    { numRuns: 300 },
  )
})

test('needs at most 2 × log2(blocks) calls with fan-out 1, and half of them for an account that never sent anything', async () => {
  const until = 20_000_000
  const funded = 12_345_678
  for (const [sentAt, most] of [
    [funded, 50],
    [funded + 1000, 42],
    [until + 1, 25],
  ] as const) {
    const { read, counts } = countingReader((block) => state(block, block >= sentAt ? 1 : 0, block >= funded ? 1 : 0))
    const after = state(until, until >= sentAt ? 1 : 0, 1)
    const found = await findFirstChange(read, state(-1, 0, 0), after, 1)
    assert.equal(found !== 'not risen' && found.block, funded)
    assert.ok(counts.calls <= most, `${counts.calls} calls`)
  }
})

test('needs log(blocks) to the base fan-out + 1 rounds', async () => {
  for (const fanOut of [1, 3, 7, 15]) {
    const { read, counts } = countingReader((block) => state(block, 0, block >= 12_345_678 ? 1 : 0))
    await findFirstChange(read, state(-1, 0, 0), state(20_000_000, 0, 1), fanOut)
    const most = Math.ceil(Math.log(20_000_000) / Math.log(fanOut + 1)) + 1
    assert.ok(counts.rounds <= most, `fan-out ${fanOut}: ${counts.rounds} rounds`)
  }
})

test('reports a contradiction when a state was undone', async () => {
  const undone = [state(0, 0, 0), state(1, 1, 5), state(2, 0, 0), state(3, 1, 9)]
  const { read } = countingReader((block) => undone[block] as AccountState)
  assert.equal(await findFirstChange(read, state(-1, 0, 0), undone[3] as AccountState, 3), 'not risen')
  assert.equal(await findFirstChange(read, state(-1, 1, 5), state(3, 1, 2), 3), 'not risen')
})
