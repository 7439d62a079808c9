import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageOf } from '#storage/coverage.ts'
import { openContext } from '#test/context.ts'
import { blocksStream } from '../chain-coverage.ts'
import { findFunding } from '../fundings.ts'
import { createRangeWriter, type ReadRange } from './range-writer.ts'

const address = `0x${'ab'.repeat(20)}`
const hashOf = (block: number): string => `0x${block.toString(16).padStart(64, '0')}`

/** Ten blocks, each of which pays the address and as many other addresses as given. */
function range(from: number, others = 0, parentHash = hashOf(from - 1)): ReadRange {
  const funding = (to: string, txIndex: number) => ({
    chain: '1',
    address: to,
    block: from,
    txIndex,
    position: 0,
    timeUnix: from,
    funder: `0x${'cd'.repeat(20)}`,
    tx: hashOf(from),
    valueWei: 1n,
  })
  const otherAddress = (at: number) => `0x${(from * 100_000 + at).toString(16).padStart(40, '0')}`
  const fundings = [
    funding(address, 0),
    ...Array.from({ length: others }, (_, at) => funding(otherAddress(at), at + 1)),
  ]
  return { from, until: from + 10, parentHash, lastHash: hashOf(from + 9), fundings, logged: [] }
}

async function openWriter() {
  const context = await openContext()
  const written: number[] = []
  const writer = createRangeWriter(context, '1', 1000, (blocks) => written.push(blocks))
  const covered = () => coverageOf(context.ingest, blocksStream('1'))
  return { context, writer, written, covered, [Symbol.asyncDispose]: () => context[Symbol.asyncDispose]() }
}

test('ranges in any order are written in one transaction, and the earliest funding is stored', async () => {
  await using at = await openWriter()
  for (const from of [21, 1, 11]) await at.writer.add(range(from))
  assert.deepEqual(await at.covered(), [])
  await at.writer.flush()
  await at.writer.flush()
  assert.deepEqual(at.written, [30])
  assert.deepEqual(await at.covered(), [{ from: 1, until: 31 }])
  assert.equal((await findFunding(at.context.ingest, '1', address))?.block, 1)
})

test('a transaction has at most eight ranges', async () => {
  await using at = await openWriter()
  for (let from = 1; from < 171; from += 10) await at.writer.add(range(from))
  assert.deepEqual(at.written, [80, 80])
})

test('ten thousand rows are written at once', async () => {
  await using at = await openWriter()
  await at.writer.add(range(1, 5000))
  assert.deepEqual(at.written, [])
  await at.writer.add(range(11, 5000))
  assert.deepEqual(at.written, [20])
})

test('a range waits for others for five seconds at most', async () => {
  await using at = await openWriter()
  at.context.clock.advance(4999)
  await at.writer.add(range(1))
  assert.deepEqual(at.written, [])
  at.context.clock.advance(1)
  await at.writer.add(range(11))
  assert.deepEqual(at.written, [20])
})

test('rule 2: if a range cannot be written, those before it are', async () => {
  await using at = await openWriter()
  await at.writer.add(range(1))
  await at.writer.add(range(11))
  await at.writer.add(range(21, 0, hashOf(7)))
  await assert.rejects(at.writer.flush(), /block 20 of the node differs/)
  assert.deepEqual(await at.covered(), [{ from: 1, until: 21 }])
  assert.deepEqual(at.written, [10, 10])
})
