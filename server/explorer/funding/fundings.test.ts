import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openContext } from '#test/context.ts'
import { type Funding, findFunding, putFundings } from './fundings.ts'

const hexNumber = (digits: number, value: number): string => `0x${value.toString(16).padStart(digits, '0')}`

/** Derives all other fields from the position (rule 2). */
function transfer(to: number, block: number, txIndex: number, position: number): Funding {
  const sortKey = block * 10_000 + txIndex * 100 + position
  return {
    chain: '1',
    address: hexNumber(40, to),
    block,
    txIndex,
    position,
    timeUnix: 1_700_000_000 + block * 12,
    funder: hexNumber(40, 1_000_000 + sortKey),
    tx: hexNumber(64, block * 100 + txIndex),
    valueWei: BigInt(sortKey) + 2n ** 80n,
  }
}

const small = fc.integer({ min: 0, max: 3 })
const transfers = fc.array(
  fc.tuple(small, small, small, small).map(([to, ...position]) => transfer(to, ...position)),
  {
    maxLength: 30,
  },
)

const sortKeyOf = ({ block, txIndex, position }: Funding) => block * 10_000 + txIndex * 100 + position

const earliest = (rows: readonly Funding[], address: string): Funding | undefined =>
  rows.filter((row) => row.address === address).sort((a, b) => sortKeyOf(a) - sortKeyOf(b))[0]

test('rule 1: the earliest wins in any order, with any batches and repetitions', async () => {
  await using context = await openContext()
  const anyOrder = transfers.chain((rows) =>
    fc.record({
      rows: fc.constant(rows),
      shuffled: fc.shuffledSubarray([...rows, ...rows], { minLength: rows.length * 2 }),
      batch: fc.integer({ min: 1, max: 7 }),
    }),
  )
  await fc.assert(
    fc.asyncProperty(anyOrder, async ({ rows, shuffled, batch }) => {
      await context.ingest.write((tx) => tx.run('delete from fundings'))
      for (let at = 0; at < shuffled.length; at += batch) {
        await context.ingest.write((tx) => putFundings(tx, shuffled.slice(at, at + batch)))
      }
      for (let to = 0; to <= 3; to++) {
        const address = hexNumber(40, to)
        assert.deepEqual(await findFunding(context.ingest, '1', address), earliest(rows, address))
      }
    }),
    { numRuns: 60 },
  )
})

test('the returned count is the number of addresses with an earlier funding', async () => {
  await using context = await openContext()
  const put = (...rows: Funding[]) => context.ingest.write((tx) => putFundings(tx, rows))
  assert.equal(await put(transfer(1, 5, 0, 0), transfer(2, 5, 1, 0)), 2)
  assert.equal(await put(transfer(1, 6, 0, 0), transfer(2, 5, 1, 0)), 0)
  assert.equal(await put(transfer(1, 5, 0, 0), transfer(2, 5, 0, 9)), 1)
})

test('chains are separate, and values above 2^64 are exact', async () => {
  await using context = await openContext()
  const valueWei = 2n ** 255n + 1n
  await context.ingest.write((tx) => putFundings(tx, [{ ...transfer(1, 5, 0, 0), chain: '137', valueWei }]))
  assert.equal(await findFunding(context.ingest, '1', hexNumber(40, 1)), undefined)
  assert.equal((await findFunding(context.ingest, '137', hexNumber(40, 1)))?.valueWei, valueWei)
})

test('a transfer without value or to the sender itself is rejected', async () => {
  await using context = await openContext()
  const good = transfer(1, 5, 0, 0)
  for (const bad of [
    { ...good, valueWei: 0n },
    { ...good, funder: good.address },
    { ...good, tx: '0x12' },
  ]) {
    await assert.rejects(context.ingest.write((tx) => putFundings(tx, [bad])))
  }
  assert.equal(await findFunding(context.ingest, '1', good.address), undefined)
})
