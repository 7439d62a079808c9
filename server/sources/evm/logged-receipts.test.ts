// Receipts that are read where they are in a response: the same transfers as from parsed receipts, however the JSON is
// written. What is wrong with a response is found in both ways.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { seedsOf } from '#test/long.ts'
import { createAmsterdamChain } from '#test/simulator/amsterdam.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { outcomesIn } from './batch-results.ts'
import { receiptCallsOf } from './blocks.ts'
import { readResult } from './large-results.ts'
import type { Block } from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: the cases change answers of any form
type Any = any

function openBlocks(seed: number | string) {
  const chain = createAmsterdamChain({ seed: `receipts ${seed}`, busy: 12, amsterdamFrom: 1 })
  chain.mine(6)
  const node = new LimitedNode(chain, { traces: [], receipts: true })
  const request = async (method: string, ...params: unknown[]) =>
    JSON.parse((await node.respond(JSON.stringify({ id: 1, method, params }))).text).result
  const numbers = chain.blocks.filter(({ number, transactions }) => number > 0 && transactions.length > 0)
  return Promise.all(
    numbers.map(async ({ number }) => {
      const hex = `0x${number.toString(16)}`
      const read = readResult({ as: 'block', number }, await request('eth_getBlockByNumber', hex, true))
      assert.ok('value' in read)
      return { block: read.value as Block, receipts: await request('eth_getBlockReceipts', hex) }
    }),
  )
}

const callsOf = (blocks: readonly Block[]) =>
  blocks.flatMap((block) => receiptCallsOf(block, 'eth_getBlockReceipts', { isVerified: true }))

const firstId = 5

/** The outcomes, read in place and parsed. They must be equal. */
function readBothWays(text: string, blocks: readonly Block[]) {
  const calls = callsOf(blocks)
  const parsed = outcomesIn(text, firstId, calls)
  assert.deepEqual(outcomesIn(new TextEncoder().encode(text), firstId, calls), parsed)
  return parsed
}

/** The same JSON with its members in another order, white space and members of other kinds. */
function rewrite(value: unknown, seed: string): string {
  const draws = createSeededRandom(seed)
  const space = () => draws.pick(['', '', ' ', '\n\t'])
  const others = ['"x":"\\"}]\\\\"', '"y":{"id":3,"result":[{"logs":["}"]}]}', '"z":[]', '"n":null', '"f":-1.5e3']
  const write = (item: unknown): string => {
    if (Array.isArray(item)) return `[${space()}${item.map(write).join(`${space()},${space()}`)}]`
    if (typeof item !== 'object' || item === null) return JSON.stringify(item)
    const members = Object.entries(item).map(
      ([name, own]) => `${JSON.stringify(name)}${space()}:${space()}${write(own)}`,
    )
    if (draws.happens(0.3)) members.push(draws.pick(others))
    for (let at = members.length - 1; at > 0; at--) {
      const other = draws.whole(0, at + 1)
      const [one, two] = [members[at] as string, members[other] as string]
      members[at] = two
      members[other] = one
    }
    return `{${space()}${members.join(`${space()},`)}${space()}}`
  }
  return `${space()}${write(value)}${space()}`
}

test('receipts in place have the same transfers as parsed ones, in any order of the members', async () => {
  for (const seed of seedsOf(40, 8)) {
    const all = await openBlocks(seed)
    const blocks = all.map(({ block }) => block)
    const replies = all.map(({ receipts }, at) => ({ jsonrpc: '2.0', id: firstId + at, result: receipts }))
    const outcomes = readBothWays(JSON.stringify(replies), blocks)
    assert.ok(typeof outcomes !== 'string' && outcomes.every(({ is }) => is === 'result'))
    assert.deepEqual(readBothWays(rewrite(replies.toReversed(), `rewrite ${seed}`), blocks), outcomes, `seed ${seed}`)
    const [first] = blocks
    assert.ok(first)
    assert.deepEqual(readBothWays(rewrite(replies[0], `single ${seed}`), [first]), [outcomes[0]])
  }
})

test('members that are not needed are not parsed', async () => {
  const [{ block, receipts } = assert.fail()] = await openBlocks('skipped')
  // No JSON, but where nothing is read.
  const text = `{"id":${firstId},"other":"\\q","result":${JSON.stringify(receipts)}}`
  const [outcome] = outcomesIn(new TextEncoder().encode(text), firstId, callsOf([block]))
  assert.equal((outcome as Any).is, 'result')
  assert.equal(outcomesIn(text, firstId, callsOf([block])), 'not JSON')
})

describe('a response that is wrong has the same outcome in both ways', async () => {
  const all = await openBlocks('wrong')
  const blocks = all.map(({ block }) => block)
  const cases: readonly (readonly [string, (replies: Any) => Any])[] = [
    ['an error', (replies) => replies.with(0, { id: firstId, error: { code: -32000, message: 'no' } })],
    ['no error', (replies) => replies.with(0, { ...replies[0], error: null })],
    ['null', (replies) => replies.with(0, { id: firstId, result: null })],
    ['an object', (replies) => replies.with(0, { id: firstId, result: {} })],
    ['a repeated id', (replies) => [...replies, replies[0]]],
    ['an unknown id', (replies) => replies.with(0, { ...replies[0], id: 99 })],
    ['a missing reply', (replies) => replies.slice(1)],
    ['a refused batch', () => ({ id: null, error: { code: -32600, message: 'batch too large' } })],
    ['the receipts of another block', (replies) => replies.with(0, { ...replies[0], result: replies[1].result })],
  ]
  for (const [name, change] of cases)
    test(name, () => {
      const replies = all.map(({ receipts }, at) => ({ id: firstId + at, result: receipts }))
      const outcomes = readBothWays(JSON.stringify(change(replies)), blocks)
      if (name !== 'no error') assert.ok(typeof outcomes === 'string' || outcomes.some(({ is }) => is !== 'result'))
    })

  test('a response that ends early, at every place', () => {
    const { block, receipts } = all.find(({ receipts }) => JSON.stringify(receipts).length < 8000) ?? assert.fail()
    const text = JSON.stringify({ id: firstId, result: receipts })
    for (let end = 0; end < text.length; end++) assert.equal(readBothWays(text.slice(0, end), [block]), 'not JSON')
  })

  test('any other digit or character in what the root covers', () => {
    const { block, receipts } =
      all.find(({ receipts }) => receipts.some(({ logs }: Any) => logs.length > 0)) ?? assert.fail()
    const text = JSON.stringify({ id: firstId, result: receipts })
    const covered = /"(?:type|status|cumulativeGasUsed|logsBloom|address|topics|data)":\[?"0x([0-9a-f]+)"/g
    let changes = 0
    for (const { index, 0: all, 1: digits = '' } of text.matchAll(covered)) {
      const at = index + all.length - 1 - digits.length + (changes % digits.length)
      for (const other of ['x', text[at] === '7' ? '8' : '7', '"']) {
        const outcomes = readBothWays(`${text.slice(0, at)}${other}${text.slice(at + 1)}`, [block])
        assert.ok(typeof outcomes === 'string' || outcomes[0]?.is === 'unusable', `${other} at ${at}`)
        changes += 1
      }
    }
    assert.ok(changes > 20)
  })
})
