// Some nodes write null for absent optional members. The result must be the same.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { blockJson, flatJson, receiptJson } from '#simulator/evm/encode.ts'
import { nestedJson } from '#test/simulator/limited-node.ts'
import { tracedBlock } from '#test/simulator/traced-block.ts'
import { outcomesIn, type RpcOutcome } from './batch-results.ts'
import type { ResultKind } from './large-results.ts'
import { transfersValue } from './trace-transfers.ts'
import type { FlatTrace } from './types.ts'

const optional = ['error', 'revertReason', 'result', 'calls', 'to', 'value', 'txHash', 'contractAddress']
const optionalOfBlock = ['blockHash', 'transactionHash', 'subtraces', 'nonce', 'withdrawals', 'status', 'miner']

/** Adds a null for every optional member that is absent, at every level. */
function withNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNulls)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, withNulls(member)])
  return {
    ...Object.fromEntries([...optional, ...optionalOfBlock].map((name) => [name, null])),
    ...Object.fromEntries(members),
  }
}

const chain = new SimulatedChain({ seed: 'null', busy: 20 })
chain.mine(30)

test('a result with null for absent members is decoded like one without them', () => {
  let transfers = 0
  let failures = 0
  for (const block of chain.blocks.slice(1)) {
    const traced = tracedBlock(block)
    const nested = block.transactions.map((tx) => ({ txHash: tx.hash, result: nestedJson(tx.frame) }))
    const receipts = block.transactions.map((tx, at) => receiptJson(block, tx, at))
    const results: [ResultKind, unknown][] = [
      [{ as: 'block', number: block.number }, blockJson(block, true)],
      [{ as: 'flat', block: traced }, flatJson(block)],
      [{ as: 'nested', block: traced }, nested],
      [{ as: 'receipts', block: traced }, receipts],
      ...nested.map(({ result }, at): [ResultKind, unknown] => [
        { as: 'frame', transaction: traced.transactions[at] ?? assert.fail() },
        result,
      ]),
      ...receipts.map((receipt): [ResultKind, unknown] => [
        { as: 'receipt', block: traced, hash: receipt.transactionHash },
        receipt,
      ]),
    ]
    for (const [kind, result] of results) {
      const calls = [{ method: kind.as, resultKind: kind }]
      const plain = outcomesIn(JSON.stringify({ id: 1, result }), 1, calls)
      const padded = outcomesIn(JSON.stringify({ id: 1, error: null, result: withNulls(result) }), 1, calls)
      assert.ok(Array.isArray(plain) && plain[0]?.is === 'result', kind.as)
      assert.deepEqual(padded, plain)
      if (kind.as === 'nested') transfers += (plain[0].result as unknown[][]).flat().length
    }
    failures += block.transactions.filter(({ frame }) => frame.failed).length
  }
  assert.ok(transfers > 50 && failures > 5, `${transfers} transfers, ${failures} failed transactions`)
})

test('a trace of trace_filter with a null error transfers its value', () => {
  const steps = chain.blocks.flatMap((block) => flatJson(block)) as FlatTrace[]
  const padded = steps.map(withNulls) as FlatTrace[]
  assert.ok(steps.some(transfersValue))
  assert.deepEqual(padded.map(transfersValue), steps.map(transfersValue))
})

test('a list with an invalid trace is unusable, and does not throw', () => {
  const [block = assert.fail()] = chain.blocks.slice(1)
  const traced = tracedBlock(block)
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
