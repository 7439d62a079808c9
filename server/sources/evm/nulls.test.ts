// Some nodes write every optional member of an answer, with null for "absent". The answer must mean the same.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimChain } from '#simulator/evm/chain.ts'
import { blockJson, flatJson, nestedJson, receiptJson } from '#simulator/evm/encode.ts'
import { outcomesIn, type RpcOutcome } from './batch-results.ts'
import type { ResultKind } from './large-results.ts'
import { transfersValue } from './trace-transfers.ts'
import type { FlatTrace } from './types.ts'

const optional = ['error', 'revertReason', 'result', 'calls', 'to', 'value', 'txHash', 'contractAddress']
const places = ['blockHash', 'transactionHash', 'subtraces', 'nonce', 'withdrawals', 'status', 'miner']

/** Adds a null for every optional member that is absent, at every level. */
function withNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNulls)
  if (typeof value !== 'object' || value === null) return value
  const own = Object.entries(value).map(([name, member]) => [name, withNulls(member)])
  return { ...Object.fromEntries([...optional, ...places].map((name) => [name, null])), ...Object.fromEntries(own) }
}

const chain = new SimChain({ seed: 'null', busy: 20 })
chain.mine(30)

test('an answer in which absent members are null is read like one without them', () => {
  let transfers = 0
  let failures = 0
  for (const block of chain.blocks.slice(1)) {
    const traced = { hash: block.hash, transactions: block.transactions.map((tx, index) => ({ hash: tx.hash, index })) }
    const nested = block.transactions.map((tx) => ({ txHash: tx.hash, result: nestedJson(tx.frame) }))
    const receipts = block.transactions.map((tx, at) => receiptJson(block, tx, at))
    const readings: [ResultKind, unknown][] = [
      [{ as: 'block', number: block.number }, blockJson(block, true)],
      [{ as: 'flat', block: traced }, flatJson(block)],
      [{ as: 'nested', block: traced }, nested],
      [{ as: 'receipts', block: traced }, receipts],
      ...nested.map(({ result }): [ResultKind, unknown] => [{ as: 'frame' }, result]),
      ...receipts.map((one): [ResultKind, unknown] => [
        { as: 'receipt', block: traced, hash: one.transactionHash },
        one,
      ]),
    ]
    for (const [reading, result] of readings) {
      const calls = [{ method: reading.as, resultKind: reading }]
      const plain = outcomesIn(JSON.stringify({ id: 1, result }), 1, calls)
      const padded = outcomesIn(JSON.stringify({ id: 1, error: null, result: withNulls(result) }), 1, calls)
      assert.ok(Array.isArray(plain) && plain[0]?.is === 'result', reading.as)
      assert.deepEqual(padded, plain)
      if (reading.as === 'nested') transfers += (plain[0].result as unknown[][]).flat().length
    }
    failures += block.transactions.filter(({ frame }) => frame.failed).length
  }
  assert.ok(transfers > 50 && failures > 5, `${transfers} transfers, ${failures} failed transactions`)
})

test('a trace from trace_filter with a null error moves its value', () => {
  const steps = chain.blocks.flatMap((block) => flatJson(block)) as FlatTrace[]
  const padded = steps.map(withNulls) as FlatTrace[]
  assert.ok(steps.some(transfersValue))
  assert.deepEqual(padded.map(transfersValue), steps.map(transfersValue))
})

test('a list of traces with a member that is no trace is refused, not broken on', () => {
  const [block = assert.fail()] = chain.blocks.slice(1)
  const traced = { hash: block.hash, transactions: block.transactions.map((tx, index) => ({ hash: tx.hash, index })) }
  const amount = 'not an amount'
  const frame = { type: 'CALL', from: `0x${'a'.repeat(40)}`, to: `0x${'b'.repeat(40)}`, value: amount }
  for (const [as, member] of [
    ['flat', null],
    ['nested', null],
    ['nested', { result: frame }],
    ['nested', { result: { ...frame, value: '0x0', calls: [{}] } }],
  ] as const) {
    const text = JSON.stringify({ id: 1, result: block.transactions.map(() => member) })
    const [outcome] = outcomesIn(text, 1, [{ method: as, resultKind: { as, block: traced } }]) as readonly RpcOutcome[]
    assert.equal(outcome?.is, 'unusable')
  }
})
