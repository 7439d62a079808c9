// Receipts that are read where they are in a response: the same transfers as from parsed receipts, however the JSON is
// written. What is wrong with a response is found in both ways.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
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

/** The same outcomes if it is JSON. Whatever is accepted has the transfers that happened. */
function assertEqualOutcomes(text: string, blocks: readonly Block[], truth: readonly unknown[]): void {
  const calls = callsOf(blocks)
  const parsed = outcomesIn(text, firstId, calls)
  const inPlace = outcomesIn(new TextEncoder().encode(text), firstId, calls)
  if (parsed !== 'not JSON') assert.deepEqual(inPlace, parsed)
  if (typeof inPlace === 'string') return
  for (const [at, outcome] of inPlace.entries())
    if (outcome.is === 'result') assert.deepEqual(outcome.result, truth[at])
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

const whole = fc.nat({ max: 1_000_000 })
/** Values instead of a member, or besides it with the same name. */
const otherValues = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    '{}',
    '[]',
    '""',
    '"0x"',
    '"0x0"',
    '"0x1"',
    '"0X1"',
    '"0x00"',
    '"0xzz"',
    '0',
    '1e3',
    '-0',
  ),
  fc.constantFrom('99999999999999999999999', `"0x${'f'.repeat(16)}"`, `"0x${'f'.repeat(64)}"`, '"\\u0030x1"', '"\\""'),
  fc.json(),
)
const otherMembers = fc.constantFrom(
  ...['"logs":[]', '"result":[]', '"result":null', `"id":${firstId + 1}`, '"id":null', '"error":null', '"error":{}'],
  ...['"topics":[]', '"data":"0x"', '"address":null', '"type":null', '"status":"0x0"', '"transactionHash":null'],
)
const edits = fc.oneof(
  fc.record({ edit: fc.constant('replace' as const), at: whole, value: otherValues }),
  fc.record({ edit: fc.constant('repeat' as const), at: whole, value: otherValues }),
  fc.record({ edit: fc.constant('repeat the same' as const), at: whole, value: fc.constant('') }),
  fc.record({ edit: fc.constant('precede' as const), at: whole, value: otherMembers }),
  fc.record({ edit: fc.constant('follow' as const), at: whole, value: otherMembers }),
  fc.record({ edit: fc.constant('remove' as const), at: whole, value: fc.constant('') }),
  fc.record({ edit: fc.constant('escape the name' as const), at: whole, value: fc.constant('') }),
  fc.record({ edit: fc.constant('upper case' as const), at: whole, value: fc.constant('') }),
  fc.record({ edit: fc.constant('truncate' as const), at: whole, value: fc.constant('') }),
  fc.record({
    edit: fc.constant('insert' as const),
    at: whole,
    value: fc.constantFrom(' ', '\n', ',', '"', '\\', '}', ']', '{', '[', ':', '0'),
  }),
)

/** Changes the text of a member whose value is no list or object, or a character anywhere. */
function applyEdit(
  text: string,
  { edit, at, value }: { readonly edit: string; readonly at: number; readonly value: string },
) {
  if (edit === 'truncate') return text.slice(0, at % text.length)
  if (edit === 'insert') return `${text.slice(0, at % text.length)}${value}${text.slice(at % text.length)}`
  const members = [...text.matchAll(/"(\w+)":("[^"\\]*"|[\w.-]+)/g)]
  const member = members[at % Math.max(1, members.length)]
  if (!member) return text
  const [whole, name = '', own = ''] = member
  const escaped = `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`
  const others: Record<string, string> = {
    replace: `"${name}":${value}`,
    repeat: at % 2 === 0 ? `${whole},"${name}":${value}` : `"${name}":${value},${whole}`,
    precede: `${value},${whole}`,
    follow: `${whole},${value}`,
    'repeat the same': `${whole},${whole}`,
    remove: '"removed":0',
    'escape the name': `"${escaped}":${own}`,
    'upper case': `"${name}":${own.startsWith('"0x') ? `"0x${own.slice(3).toUpperCase()}` : own}`,
  }
  return `${text.slice(0, member.index)}${others[edit]}${text.slice(member.index + whole.length)}`
}

test('any response has the same outcome in place and parsed, and never other transfers than those that happened', async () => {
  const all = (await openBlocks('fuzzed')).slice(0, 3)
  const blocks = all.map(({ block }) => block)
  const replies = all.map(({ receipts }, at) => ({ jsonrpc: '2.0', id: firstId + at, result: receipts }))
  const truth = outcomesIn(JSON.stringify(replies), firstId, callsOf(blocks))
  assert.ok(typeof truth !== 'string')
  const results = truth.map((outcome) => (outcome.is === 'result' ? outcome.result : assert.fail(outcome.message)))
  for (const seed of seedsOf(20, 2)) {
    let accepted = 0
    fc.assert(
      fc.property(
        fc.array(edits, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        whole,
        (changes, isRewritten, order) => {
          const text = changes.reduce(
            applyEdit,
            isRewritten ? rewrite(replies, String(order)) : JSON.stringify(replies),
          )
          assertEqualOutcomes(text, blocks, results)
          const [outcome] = outcomesIn(new TextEncoder().encode(text), firstId, callsOf(blocks))
          if (typeof outcome === 'object' && outcome.is === 'result') accepted += 1
        },
      ),
      { numRuns: 800, seed },
    )
    assert.ok(accepted > 100, `${accepted} accepted`)
  }
})
