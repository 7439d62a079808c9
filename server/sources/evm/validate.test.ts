// What a node returns about a block must fit together. Each case changes one thing in a valid answer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { blockJson, flatJson, receiptJson } from '#simulator/evm/encode.ts'
import { nestedJson } from '#test/simulator/limited-node.ts'
import { tracedBlock } from '#test/simulator/traced-block.ts'
import { nestedTransfers } from './trace-transfers.ts'
import {
  validateFlatTraces,
  validateHeader,
  validateReceipts,
  validateTraceList,
  validateTransactions,
} from './validate.ts'
import { validateFrame, validateNestedTraces } from './validate-frames.ts'

// biome-ignore lint/suspicious/noExplicitAny: the cases change answers of any form
type Any = any

const chain = new SimulatedChain({ seed: 'validate', busy: 12 })
chain.mine(30)
const hasInnerTransfer = (tx: (typeof chain.blocks)[number]['transactions'][number]) =>
  !tx.frame.failed && tx.value > 0n && tx.to !== null && tx.frame.calls.length > 1
const block = chain.blocks.find(
  ({ transactions }) => transactions.length > 3 && hasInnerTransfer(transactions[0] as Any),
)
assert.ok(block)
const traced = tracedBlock(block)
const [first] = traced.transactions
assert.ok(first)
const other = `0x${'1'.repeat(40)}`

const second = block.transactions[1] ?? assert.fail()

/** What nodes based on revm return if a contract names itself as its heir and keeps its balance. */
const destruct = { type: 'SELFDESTRUCT', from: `0x${'0'.repeat(40)}`, gas: '0x0', gasUsed: '0x0', input: '0x' }
const inner = { type: 'CALL', from: other, to: other, value: '0x0' }

/** Sets one value: `transactions.0.to`. */
const set =
  (path: string, value: unknown) =>
  (raw: Any): void => {
    const names = path.split('.')
    const last = names.pop() as string
    names.reduce((inner, name) => inner[name], raw)[last] = value
  }

/** Each case: what is changed, and a part of the problem. */
function assertProblems(
  create: () => Any,
  validate: (raw: Any) => string | undefined,
  cases: readonly (readonly [name: string, change: (raw: Any) => Any, problem: RegExp])[],
): void {
  assert.equal(validate(create()), undefined)
  for (const [name, change, problem] of cases) {
    const raw = create()
    const replaced = change(raw)
    test(name, () => assert.match(validate(Array.isArray(replaced) ? replaced : raw) ?? 'accepted', problem))
  }
}

describe('a block', () => {
  assertProblems(
    () => structuredClone(blockJson(block, true)),
    (raw) => validateHeader(raw, block.number) ?? validateTransactions(raw),
    [
      ['with a list as its hash', set('hash', [block.hash]), /without hash/],
      ['with a time beyond all years', set('timestamp', `0x${'f'.repeat(40)}`), /number or time/],
      ['whose transactions are missing', set('transactions', []), /transactionsRoot/],
      ['with a transaction of another block', set('transactions.1.blockHash', block.parentHash), /another block/],
      ['with a recipient that is no address', set('transactions.0.to', '0x12'), /incomplete/],
      ['with a value in decimal', set('transactions.0.value', '12'), /incomplete/],
      ['with a miner that is no address', set('miner', 7), /miner/],
      ['with a withdrawal without an amount', set('withdrawals', [{ address: other }]), /withdrawal/],
    ],
  )
})

describe('trace_block', () => {
  assertProblems(
    () => structuredClone(flatJson(block)),
    (raw) => validateFlatTraces(raw, traced),
    [
      [
        'with a step of a transaction that the block does not have',
        set('0.transactionHash', block.hash),
        /does not have/,
      ],
      ['with a step under another transaction', set('0.transactionPosition', 1), /another transaction/],
      ['with the number of another block', set('0.blockNumber', block.number + 1), /another block/],
      ['with two steps for a transaction', (raw) => [raw[0], ...raw], /two traces/],
      ['with a sender other than that of the transaction', set('0.action.from', other), /contradicts/],
      ['with a recipient other than that of the transaction', set('0.action.to', other), /contradicts/],
      ['with a value other than that of the transaction', set('0.action.value', '0x1'), /contradicts/],
      ['with a value as a number', set('1.action.value', 5), /incomplete/],
      ['with an unknown type', set('1.type', 'transfer'), /unknown type of trace/],
      ['with an unknown type of call', set('0.action.callType', 'cull'), /unknown type of call/],
      ['with a call that has neither result nor error', set('0.result', undefined), /neither/],
      ['with an error that is no text', set('0.error', ''), /not a text/],
      ['without one of its steps', (raw) => raw.toSpliced(1, 1), /missing/],
      ['with a step twice', (raw) => raw.toSpliced(1, 0, raw[1]), /twice/],
    ],
  )

  test('in any order: complete lists are accepted, and a missing or repeated step is found', () => {
    for (const one of chain.blocks) {
      const inBlock = tracedBlock(one)
      const ordered: Any[] = flatJson(one) as Any
      for (const steps of [ordered, ordered.toReversed()]) {
        assert.equal(validateFlatTraces(steps, inBlock), undefined)
        for (const [at, { traceAddress }] of steps.entries()) {
          if (traceAddress.length === 0) continue
          assert.match(validateFlatTraces(steps.toSpliced(at, 1), inBlock) ?? 'accepted', /missing/)
          assert.match(validateFlatTraces(steps.toSpliced(at, 0, steps[at]), inBlock) ?? 'accepted', /twice/)
        }
      }
    }
  })
})

describe('debug_traceBlockByNumber', () => {
  assertProblems(
    () => structuredClone(block.transactions.map((tx) => ({ txHash: tx.hash, result: nestedJson(tx.frame) }))),
    (raw) => validateNestedTraces(raw, traced),
    [
      ['without the last transaction', (raw) => raw.slice(0, -1), /one trace for every/],
      ['with the trace of another transaction', set('0.result', nestedJson(second.frame)), /contradicts/],
      ['with the hash of another transaction', set('0.txHash', second.hash), /no trace/],
      ['with a hash that is no text', set('0.txHash', 7), /no trace/],
      ['with a value that is no number', set('0.result.calls.0.value', ['0x1']), /not a number/],
      ['with an inner recipient that is no address', set('0.result.calls.0.to', '0x5208'), /recipient/],
      ['with an unknown inner type', set('0.result.calls.0.type', 'CULL'), /unknown type/],
      ['with calls that are no list', set('0.result.calls', { 0: {} }), /not a list/],
      ['without the value of an inner call', set('0.result.calls.0', { ...inner, value: undefined }), /no value/],
      ['with a self-destruct without its value', set('0.result.calls.0', { ...destruct, to: other }), /incomplete/],
      ['with a self-destruct without its heir', set('0.result.calls.0', { ...destruct, value: '0x5' }), /incomplete/],
    ],
  )

  test('a self-destruct with neither heir nor value is accepted, and transfers nothing', () => {
    const [tx = assert.fail()] = block.transactions
    const frame: Any = { ...nestedJson(tx.frame), calls: [destruct] }
    assert.equal(validateFrame(frame, first), undefined)
    assert.deepEqual(
      nestedTransfers(frame).map(({ top }) => top),
      [true],
    )
  })

  test('a trace with more nested calls than the EVM allows is rejected', () => {
    let frame: Any = inner
    for (let depth = 0; depth < 100_000; depth++) frame = { ...inner, calls: [frame] }
    assert.match(validateFrame(frame, first) ?? 'accepted', /nested calls/)
  })

  test('the problem of an inner step names its transaction', () => {
    const traces: Any = block.transactions.map((tx) => ({ txHash: tx.hash, result: nestedJson(tx.frame) }))
    traces[1].result.calls = [{ ...inner, to: null }]
    assert.equal(validateNestedTraces(traces, traced), `transaction 1 (${second.hash}): a trace has no recipient`)
  })

  test('debug_traceTransaction: the trace of another transaction contradicts it', () => {
    const frame = block.transactions[1]?.frame ?? assert.fail()
    assert.match(validateFrame(nestedJson(frame), first) ?? '', /contradicts/)
  })
})

describe('eth_getBlockReceipts', () => {
  assertProblems(
    () => structuredClone(block.transactions.map((tx, at) => receiptJson(block, tx, at))),
    (raw) => validateReceipts(raw, traced),
    [
      ['with an unknown status', set('0.status', '0x2'), /status/],
      ['with a contract that is no address', set('0.contractAddress', '0x'), /no address/],
      ['with a missing receipt', set('0', null), /another block/],
    ],
  )
})

describe('trace_filter', () => {
  const { number } = block
  const steps = (flatJson(block) as Any[]).filter(({ action }) => action.to === first.to)
  assertProblems(
    () => structuredClone(steps),
    (raw) => validateTraceList(raw, 'toAddress', first.to as string, number, number + 1),
    [['with a step to another address', set('0.action.to', other), /another address/]],
  )
})
