// Recorded responses of real nodes, decoded by the product and by a second implementation of the definition of a
// transfer: value above zero, by a call, a creation or a self-destruct, in a step that did not fail and whose ancestors
// did not fail, and not to the sender itself.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { outcomesIn } from './batch-results.ts'
import type { ResultKind } from './large-results.ts'
import type { TraceTransfer } from './types.ts'

type Fields = Readonly<Record<string, unknown>>

interface Recording {
  readonly origin: string
  readonly method: string
  readonly params: readonly unknown[]
  readonly result: unknown
}

/** Next to the project, because the recordings come from another one. */
const file = new URL('../../../../shared/recordings/evm/answers.ndjson.zst', import.meta.url)
const skip = existsSync(file) ? false : 'the recorded answers are not next to this checkout'
const recordings: readonly Recording[] = skip
  ? []
  : zstdDecompressSync(readFileSync(file))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Recording)
const of = (...methods: string[]) => recordings.filter(({ method }) => methods.includes(method))

/** trace_filter lists only the steps that match. Without addresses and a count, these are whole blocks. */
const listsWholeBlocks = ({ method, params }: Recording): boolean =>
  method !== 'trace_filter' || Object.keys(params[0] as Fields).every((name) => /^(from|to)Block$/.test(name))

/** Sender, recipient, wei. */
type Transfer = readonly [string, string, bigint]

// The second implementation.

const transfer = (from: unknown, to: unknown, value: unknown): Transfer[] => {
  const result: Transfer = [String(from).toLowerCase(), String(to).toLowerCase(), BigInt(String(value ?? '0x0'))]
  return result[2] > 0n && result[0] !== result[1] ? [result] : []
}

/** By transaction. Every step is compared with all failed steps. */
function flatTransfers(steps: readonly Fields[]): Map<string, Transfer[]> {
  const pathOf = (step: Fields) => `/${(step.traceAddress as number[]).map((at) => `${at}/`).join('')}`
  const byTransaction = Map.groupBy(
    steps.filter(({ transactionHash }) => transactionHash),
    (step) => String(step.transactionHash).toLowerCase(),
  )
  return new Map(
    [...byTransaction].map(([hash, stepsOfTransaction]) => {
      const failed = stepsOfTransaction.filter(({ error }) => error).map(pathOf)
      const done = stepsOfTransaction.filter((step) => !failed.some((path) => pathOf(step).startsWith(path)))
      return [hash, done.flatMap((step) => flatTransfer(step))]
    }),
  )
}

function flatTransfer(step: Fields): Transfer[] {
  const action = step.action as Fields
  if (step.type === 'create') return transfer(action.from, (step.result as Fields).address, action.value)
  if (step.type === 'suicide') return transfer(action.address, action.refundAddress, action.balance)
  return step.type === 'call' && action.callType === 'call' ? transfer(action.from, action.to, action.value) : []
}

function nestedTransfers(frame: Fields): Transfer[] {
  if (frame.error) return []
  const hasValue = ['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'].includes(String(frame.type))
  const calls = (frame.calls ?? []) as Fields[]
  return [...(hasValue ? transfer(frame.from, frame.to, frame.value) : []), ...calls.flatMap(nestedTransfers)]
}

// The product.

function decode(kind: ResultKind, result: unknown, origin: string): unknown {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result })
  const [outcome] = outcomesIn(text, 1, [{ method: kind.as, resultKind: kind }]) as Exclude<
    ReturnType<typeof outcomesIn>,
    string
  >
  assert.ok(outcome?.is === 'result', `${origin}: ${outcome?.is === 'unusable' ? outcome.message : outcome?.is}`)
  return outcome.result
}

/** Transfers to other addresses. */
const others = (transfers: readonly TraceTransfer[]): Transfer[] =>
  transfers.flatMap(({ from, to, valueWei }): Transfer[] => (from === to ? [] : [[from, to, valueWei]]))

/** A transaction as its first step describes it. */
const expectedTransfer = (from: unknown, to: unknown, value: unknown) => ({
  from: String(from).toLowerCase(),
  to: to === null ? null : String(to).toLowerCase(),
  valueWei: BigInt(String(value ?? '0x0')),
})

const nestedTransaction = ({ txHash, result }: Fields, index: number) => {
  const { type, from, to, value } = result as Fields
  return { hash: String(txHash), index, ...expectedTransfer(from, /^CREATE/.test(String(type)) ? null : to, value) }
}

/** The transactions of each block in a list of steps, in their order. */
function blocksIn(steps: readonly Fields[]) {
  return [...Map.groupBy(steps, ({ blockHash }) => String(blockHash))].map(([hash, stepsOfBlock]) => {
    const hashes = [
      ...new Set(stepsOfBlock.flatMap(({ transactionHash }) => (transactionHash ? [String(transactionHash)] : []))),
    ]
    const topOf = (one: string) =>
      stepsOfBlock.find((step) => step.transactionHash === one && (step.traceAddress as unknown[]).length === 0)
    const transactions = hashes.map((one, index) => {
      const { type, action } = topOf(one) as { type: string; action: Fields }
      return { hash: one, index, ...expectedTransfer(action.from, type === 'create' ? null : action.to, action.value) }
    })
    // A block with some of its transactions: their positions are those of the whole block.
    const positioned = stepsOfBlock.map((step) => ({ ...step, transactionPosition: undefined }))
    return { steps: positioned, block: { number: Number(stepsOfBlock[0]?.blockNumber), hash, transactions } }
  })
}

let transactions = 0
let transfers = 0

test('trace_block, trace_filter and trace_transaction: both implementations find the same transfers', { skip }, () => {
  for (const { origin, result } of of('trace_block', 'trace_filter', 'trace_transaction').filter(listsWholeBlocks)) {
    const expected = flatTransfers(result as Fields[])
    for (const { steps: blockSteps, block } of blocksIn(result as Fields[])) {
      const actual = decode({ as: 'flat', block }, blockSteps, origin) as readonly (readonly TraceTransfer[])[]
      for (const { hash, index } of block.transactions) {
        assert.deepEqual(others(actual[index] ?? []), expected.get(hash), `${origin}: ${hash}`)
        transactions += 1
        transfers += expected.get(hash)?.length ?? 0
      }
    }
  }
  assert.ok(transactions > 400 && transfers > 300, `${transactions} transactions, ${transfers} transfers`)
})

test('debug_traceBlockByNumber and debug_traceTransaction: both implementations find the same transfers', {
  skip,
}, () => {
  let found = 0
  for (const { origin, params, result } of of('debug_traceBlockByNumber', 'debug_traceTransaction')) {
    const ofBlock = Array.isArray(result) ? (result as Fields[]) : undefined
    const list = ofBlock ?? [{ txHash: params[0], result }]
    const block = { number: 0, hash: '', transactions: list.map(nestedTransaction) }
    const actual = ofBlock
      ? (decode({ as: 'nested', block }, ofBlock, origin) as readonly (readonly TraceTransfer[])[])
      : [
          decode(
            { as: 'frame', transaction: nestedTransaction({ result }, 0) },
            result,
            origin,
          ) as readonly TraceTransfer[],
        ]
    for (const [at, { txHash, result: frame }] of list.entries()) {
      const expected = nestedTransfers(frame as Fields)
      assert.deepEqual(others(actual[at] ?? []), expected, `${origin}: ${txHash}`)
      found += expected.length
    }
  }
  assert.ok(found > 100, `${found} transfers`)
})

test('both trace forms of the same transaction have the same transfers', { skip }, () => {
  const flat = new Map(of('trace_transaction').map(({ params, result }) => [params[0], result as Fields[]]))
  let compared = 0
  for (const { origin, params, result } of of('debug_traceTransaction')) {
    const steps = flat.get(params[0])
    if (!steps) continue
    const expected = decode({ as: 'frame', transaction: nestedTransaction({ result }, 0) }, result, origin)
    const [{ steps: blockSteps, block } = assert.fail(origin)] = blocksIn(steps)
    assert.deepEqual(decode({ as: 'flat', block }, blockSteps, origin), [expected], origin)
    compared += 1
  }
  assert.ok(compared > 0)
})
