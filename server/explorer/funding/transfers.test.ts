// Hand-written blocks in both trace formats, with the expected transfers. Letters stand for addresses.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DecodedResults, decodeResult } from '#sources/evm/large-results.ts'
import type { Block, CallFrame, ExecutionData, FlatTrace } from '#sources/evm/types.ts'
import { fundingsOf, transfersOf } from './transfers.ts'

const at = (letter: string): string => `0x${letter.repeat(40)}`
const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(at) as [string, string, string, string, string]
const hash = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`
const wei = (value: number): string => `0x${value.toString(16)}`

function blockOf(transactions: readonly { from: string; to: string | null; value: number }[]): Block {
  return {
    number: 7,
    hash: hash(700),
    parentHash: hash(600),
    timeUnix: 1_700_000_000,
    miner: e,
    withdrawals: [{ address: d, valueWei: 5n }],
    transactions: transactions.map(({ from, to, value }, index) => ({
      hash: hash(index + 1),
      index,
      from,
      to,
      valueWei: BigInt(value),
    })),
  }
}

/** [transaction, position, from, to, value] */
type Row = readonly [number, number, string, string, number]

const rowsOf = (block: Block, insight: ExecutionData): Row[] =>
  transfersOf({ block, execution: insight }).map((one) => [
    one.txIndex,
    one.position,
    one.from,
    one.to,
    Number(one.valueWei),
  ])

const asNested = (block: Block, frames: readonly CallFrame[]): ExecutionData => {
  const raw = frames.map((result) => ({ result }))
  return { form: 'traced', transfers: decodeResult({ as: 'nested', block }, raw) as DecodedResults['flat'] }
}
const asFlat = (block: Block, traces: readonly FlatTrace[]): ExecutionData => ({
  form: 'traced',
  transfers: decodeResult({ as: 'flat', block }, traces) as DecodedResults['flat'],
})

const call = (from: string, to: string, value: number, more: Partial<CallFrame> = {}): CallFrame => ({
  type: 'CALL',
  from,
  to,
  value: wei(value),
  ...more,
})

const flatCall = (
  tx: number,
  path: number[],
  from: string,
  to: string,
  value: number,
  more: object = {},
): FlatTrace => ({
  type: 'call',
  action: { callType: 'call', from, to, value: wei(value) },
  traceAddress: path,
  transactionHash: hash(tx),
  ...more,
})

interface Case {
  readonly name: string
  readonly block: Block
  readonly nested: readonly CallFrame[]
  readonly flat: readonly FlatTrace[]
  readonly rows: readonly Row[]
}

const cases: readonly Case[] = [
  {
    name: 'a plain transfer has position 0; one without value is ignored',
    block: blockOf([
      { from: a, to: b, value: 5 },
      { from: a, to: c, value: 0 },
    ]),
    nested: [call(a, b, 5), call(a, c, 0)],
    flat: [flatCall(1, [], a, b, 5), flatCall(2, [], a, c, 0)],
    rows: [[0, 0, a, b, 5]],
  },
  {
    name: 'internal transfers are counted from 1 in execution order, without those of zero value',
    block: blockOf([{ from: a, to: b, value: 0 }]),
    nested: [
      call(a, b, 0, {
        calls: [call(b, c, 3, { calls: [call(c, d, 2)] }), call(b, e, 0), call(b, d, 1)],
      }),
    ],
    flat: [
      flatCall(1, [], a, b, 0),
      flatCall(1, [0], b, c, 3),
      flatCall(1, [0, 0], c, d, 2),
      flatCall(1, [1], b, e, 0),
      flatCall(1, [2], b, d, 1),
    ],
    rows: [
      [0, 1, b, c, 3],
      [0, 2, c, d, 2],
      [0, 3, b, d, 1],
    ],
  },
  {
    name: 'a failed transaction and its calls transfer nothing',
    block: blockOf([{ from: a, to: b, value: 5 }]),
    nested: [call(a, b, 5, { error: 'execution reverted', calls: [call(b, c, 5)] })],
    flat: [flatCall(1, [], a, b, 5, { error: 'Reverted' }), flatCall(1, [0], b, c, 5)],
    rows: [],
  },
  {
    name: 'a failed call reverts only the calls below it',
    block: blockOf([{ from: a, to: b, value: 9 }]),
    nested: [
      call(a, b, 9, {
        calls: [call(b, c, 4, { error: 'execution reverted', calls: [call(c, d, 4)] }), call(b, e, 1)],
      }),
    ],
    flat: [
      flatCall(1, [], a, b, 9),
      flatCall(1, [0], b, c, 4, { error: 'Reverted' }),
      flatCall(1, [0, 0], c, d, 4),
      flatCall(1, [1], b, e, 1),
    ],
    rows: [
      [0, 0, a, b, 9],
      [0, 1, b, e, 1],
    ],
  },
  {
    name: 'several failed calls with inner calls, and nested successful calls between them',
    block: blockOf([{ from: a, to: b, value: 9 }]),
    nested: [
      call(a, b, 9, {
        calls: [
          call(b, c, 4, { error: 'execution reverted', calls: [call(c, d, 4, { calls: [call(d, e, 4)] })] }),
          call(b, c, 3, { calls: [call(c, d, 2), call(c, e, 1, { error: 'execution reverted' })] }),
          call(b, c, 2, { error: 'execution reverted', calls: [call(c, d, 2)] }),
          call(b, d, 1),
        ],
      }),
    ],
    flat: [
      flatCall(1, [], a, b, 9),
      flatCall(1, [0], b, c, 4, { error: 'Reverted' }),
      flatCall(1, [0, 0], c, d, 4),
      flatCall(1, [0, 0, 0], d, e, 4),
      flatCall(1, [1], b, c, 3),
      flatCall(1, [1, 0], c, d, 2),
      flatCall(1, [1, 1], c, e, 1, { error: 'Reverted' }),
      flatCall(1, [2], b, c, 2, { error: 'Reverted' }),
      flatCall(1, [2, 0], c, d, 2),
      flatCall(1, [3], b, d, 1),
    ],
    rows: [
      [0, 0, a, b, 9],
      [0, 1, b, c, 3],
      [0, 2, c, d, 2],
      [0, 3, b, d, 1],
    ],
  },
  {
    name: 'delegate, static and code calls transfer nothing; the calls they make do',
    block: blockOf([{ from: a, to: b, value: 8 }]),
    nested: [
      call(a, b, 8, {
        calls: [
          { type: 'DELEGATECALL', from: b, to: c, value: wei(8), calls: [call(b, d, 2)] },
          { type: 'CALLCODE', from: b, to: c, value: wei(3) },
          { type: 'STATICCALL', from: b, to: c },
        ],
      }),
    ],
    flat: [
      flatCall(1, [], a, b, 8),
      flatCall(1, [0], b, c, 8, { action: { callType: 'delegatecall', from: b, to: c, value: wei(8) } }),
      flatCall(1, [0, 0], b, d, 2),
      flatCall(1, [1], b, c, 3, { action: { callType: 'callcode', from: b, to: c, value: wei(3) } }),
      flatCall(1, [2], b, c, 0, { action: { callType: 'staticcall', from: b, to: c, value: wei(0) } }),
    ],
    rows: [
      [0, 0, a, b, 8],
      [0, 1, b, d, 2],
    ],
  },
  {
    name: 'creation with value by a transaction and by a contract; a failed one transfers nothing',
    block: blockOf([{ from: a, to: null, value: 6 }]),
    nested: [
      {
        type: 'CREATE',
        from: a,
        to: b,
        value: wei(6),
        calls: [
          { type: 'CREATE2', from: b, to: c, value: wei(2) },
          { type: 'CREATE', from: b, value: wei(1), error: 'out of gas' },
        ],
      },
    ],
    flat: [
      {
        type: 'create',
        action: { from: a, value: wei(6) },
        result: { address: b },
        traceAddress: [],
        transactionHash: hash(1),
      },
      {
        type: 'create',
        action: { from: b, value: wei(2) },
        result: { address: c },
        traceAddress: [0],
        transactionHash: hash(1),
      },
      {
        type: 'create',
        action: { from: b, value: wei(1) },
        error: 'Out of gas',
        traceAddress: [1],
        transactionHash: hash(1),
      },
    ],
    rows: [
      [0, 0, a, b, 6],
      [0, 1, b, c, 2],
    ],
  },
  {
    name: 'self-destruct transfers the remaining balance; a reward is no transfer',
    block: blockOf([{ from: a, to: b, value: 0 }]),
    nested: [call(a, b, 0, { calls: [{ type: 'SELFDESTRUCT', from: b, to: c, value: wei(7) }] })],
    flat: [
      flatCall(1, [], a, b, 0),
      {
        type: 'suicide',
        action: { address: b, refundAddress: c, balance: wei(7) },
        result: null,
        traceAddress: [0],
        transactionHash: hash(1),
      },
      { type: 'reward', action: { author: e, value: wei(2) }, traceAddress: [], transactionHash: null },
    ],
    rows: [[0, 1, b, c, 7]],
  },
]

for (const { name, block, nested, flat, rows } of cases) {
  test(`callTracer: ${name}`, () => assert.deepEqual(rowsOf(block, asNested(block, nested)), rows))
  test(`trace_block: ${name}`, () => assert.deepEqual(rowsOf(block, asFlat(block, flat)), rows))
}

test('addresses are returned in lower case', () => {
  const block = blockOf([{ from: a, to: b, value: 5 }])
  const frames = [call(a.toUpperCase().replace('0X', '0x'), b.toUpperCase().replace('0X', '0x'), 5)]
  assert.deepEqual(rowsOf(block, asNested(block, frames)), [[0, 0, a, b, 5]])
})

test('without traces, only the values of successful transactions are returned', () => {
  const block = blockOf([
    { from: a, to: b, value: 5 },
    { from: a, to: b, value: 6 },
    { from: a, to: null, value: 7 },
  ])
  const receipt = (tx: number, succeeded: boolean | undefined, contractAddress: string | null = null) => ({
    transactionHash: hash(tx),
    succeeded,
    contractAddress,
  })
  const receipts = [receipt(1, true), receipt(2, false), receipt(3, true, c)]
  assert.deepEqual(rowsOf(block, { form: 'receipts', receipts }), [
    [0, 0, a, b, 5],
    [2, 0, a, c, 7],
  ])
  const old = [receipt(1, undefined), receipt(2, true), receipt(3, true, c)]
  assert.throws(() => rowsOf(block, { form: 'receipts', receipts: old }), { code: 'explorer.no_traces' })
})

test('the first transfer is the funding', () => {
  const transfer = (txIndex: number, from: string, to: string) => ({
    block: 7,
    timeUnix: 1,
    tx: hash(txIndex),
    txIndex,
    position: 0,
    from,
    to,
    valueWei: 1n,
  })
  const rows = fundingsOf('1', [transfer(2, c, b), transfer(1, a, b), transfer(3, a, c)])
  assert.deepEqual(
    rows.map((row) => [row.address, row.funder, row.txIndex]),
    [
      [b, a, 1],
      [c, a, 3],
    ],
  )
})
