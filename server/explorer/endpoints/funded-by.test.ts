// 4.3 from the index. Blocks 0 to 99 of chain 1 are indexed, unless a test sets another range.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import type { Fault } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import { addCoverage } from '#storage/coverage.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { blocksStream, confirmHead, putHead } from '../funding/chain-coverage.ts'
import { type Funding, putFundings } from '../funding/fundings.ts'
import { fundedBy } from './funded-by.ts'

const address = `0x${'ab'.repeat(20)}`
const unknownAddress = `0x${'cd'.repeat(20)}`
const funding: Funding = {
  chain: '1',
  address,
  block: 60,
  txIndex: 3,
  position: 0,
  timeUnix: 1_700_000_000,
  funder: `0x${'0f'.repeat(20)}`,
  tx: `0x${'1e'.repeat(32)}`,
  valueWei: 1_500_000_000_000_000_000_001n,
}

async function contextReading(
  ranges: readonly [number, number][],
  finalUntil: number,
  settings = {},
): Promise<TestContext> {
  const context = await openContext(settings)
  await context.ingest.write(async (tx) => {
    await putFundings(tx, [funding])
    for (const [from, until] of ranges) await addCoverage(tx, blocksStream('1'), from, until)
    if (finalUntil > 0) await putHead(tx, '1', finalUntil)
  })
  await confirmHead(context.ingest, '1', finalUntil, context.clock.now())
  return context
}

const ask = (context: TestContext, whose = address, chainid = '1') =>
  fundedBy.handle({ chainid, address: whose }, context, testRequestInfo())

describe('200', () => {
  test('200: the first funding in lower case and wei, with its confidence', async () => {
    await using context = await contextReading([[0, 100]], 100)
    const outcome = await ask(context, `0x${'AB'.repeat(20)}`)
    assert.deepEqual(outcome, {
      is: 'body',
      body: {
        status: '1',
        message: 'OK',
        result: {
          block: 60,
          timeStamp: '1700000000',
          fundingAddress: `0x${'0f'.repeat(20)}`,
          fundingTxn: `0x${'1e'.repeat(32)}`,
          value: '1500000000000000000001',
        },
      },
      confidence: { asOf: 99, finality: 'finalized', coverage: 'complete' },
    })
    assert.deepEqual(checker(contract['explorer.fundedBy'].reply)(outcome.body), [])
  })

  test('200: a stored funding is returned if all blocks before it are indexed, even if later ones are not', async () => {
    await using context = await contextReading([[0, 61]], 100)
    const outcome = await ask(context)
    assert.ok(outcome.is === 'body')
    assert.deepEqual(outcome.confidence, { asOf: 60, finality: 'finalized', coverage: '0-60' })
  })

  test('200: "No data found" if every final block is indexed', async () => {
    await using context = await contextReading([[0, 100]], 100)
    assert.deepEqual(await ask(context, unknownAddress), {
      is: 'nothing',
      confidence: { asOf: 99, finality: 'finalized', coverage: 'complete' },
    })
  })

  test('503: no "No data found" once no node has confirmed the head for five minutes', async () => {
    await using context = await contextReading([[0, 100]], 100)
    context.clock.advance(300_000)
    assert.equal((await ask(context, unknownAddress)).is, 'nothing')
    context.clock.advance(1000)
    await assert.rejects(ask(context, unknownAddress), (fault: Fault) => {
      assert.equal(fault.code, 'explorer.not_covered')
      assert.match(
        fault.publicMessage,
        /^No node has confirmed recently that block 99 is the newest final block of chain 1/,
      )
      return fault.headers['x-tetrad-coverage'] === '0-99'
    })
    // A stored funding is still returned, but the index is no longer complete.
    const outcome = await ask(context)
    assert.deepEqual(outcome.is === 'body' && outcome.confidence, { asOf: 99, finality: 'finalized', coverage: '0-99' })
  })

  test('503: no "No data found" if the confirmation is in the future, because the clock was set back', async () => {
    await using context = await contextReading([[0, 100]], 100)
    await confirmHead(context.ingest, '1', 100, context.clock.now() + 86_400_000)
    await assert.rejects(ask(context, unknownAddress), { code: 'explorer.not_covered' })
    await confirmHead(context.ingest, '1', 100, context.clock.now())
    assert.equal((await ask(context, unknownAddress)).is, 'nothing')
  })

  test('200: the index starts at firstBlock', async () => {
    const settings = { explorer: { chains: [{ id: '1', name: 'Late', firstBlock: 50 }] } }
    await using context = await contextReading([[50, 100]], 100, settings)
    assert.equal((await ask(context)).is, 'body')
    assert.equal((await ask(context, unknownAddress)).is, 'nothing')
  })

  test('200: newly indexed blocks count at once', async () => {
    await using context = await contextReading([[0, 50]], 100)
    await assert.rejects(ask(context), { code: 'explorer.not_covered' })
    await context.ingest.write((tx) => addCoverage(tx, blocksStream('1'), 50, 100))
    assert.equal((await ask(context)).is, 'body')
  })
})

describe('200 with a failure envelope', () => {
  test('not covered: retry-after is a minute if the chain is being read; without a node, waiting does not help', async () => {
    const chain = { id: '1', name: 'One', mode: 'index' }
    for (const [rpc, retryAfterMs] of [
      [[{ url: 'http://node.test' }], 60_000],
      [[], undefined],
    ] as const) {
      const settings = { explorer: { chains: [{ ...chain, rpc }] } }
      await using unread = await contextReading([[0, 50]], 100, settings)
      await assert.rejects(ask(unread), { code: 'explorer.not_covered', retryAfterMs })
      await using unconfirmed = await contextReading([[0, 100]], 100, settings)
      unconfirmed.clock.advance(301_000)
      await assert.rejects(ask(unconfirmed, unknownAddress), { code: 'explorer.not_covered', retryAfterMs })
    }
  })

  const refused: readonly [name: string, ranges: [number, number][], head: number, whose: string, unread: RegExp][] = [
    [
      'no record while the newest blocks are unread',
      [[0, 90]],
      100,
      unknownAddress,
      /^Blocks 90 to 99 of chain 1 have not/,
    ],
    [
      'a record with a hole before it',
      [
        [0, 30],
        [40, 100],
      ],
      100,
      address,
      /^Blocks 30 to 39 of chain 1 have not/,
    ],
    ['a record with its own block unread', [[0, 60]], 100, address, /^Blocks 60 to 60 /],
    ['no record on a chain without indexed blocks', [], 0, unknownAddress, /^No block of chain 1 has been read/],
    ['a record on a chain without indexed blocks', [], 0, address, /^Blocks 0 to 60 /],
  ]
  for (const [name, ranges, head, whose, unread] of refused) {
    test(`not covered: ${name}`, async () => {
      await using context = await contextReading(ranges, head)
      await assert.rejects(ask(context, whose), (fault: Fault) => {
        assert.equal(fault.code, 'explorer.not_covered')
        assert.match(fault.publicMessage, unread)
        assert.ok(fault.headers['x-tetrad-coverage'])
        return true
      })
    })
  }

  test('an invalid address is rejected', async () => {
    await using context = await contextReading([[0, 100]], 100)
    for (const bad of [
      '',
      '0x',
      'ab'.repeat(20),
      `0x${'ab'.repeat(19)}`,
      `0x${'ab'.repeat(20)}0`,
      `0x${'zz'.repeat(20)}`,
      ` ${address}`,
    ]) {
      await assert.rejects(ask(context, bad), (fault: Fault) => {
        assert.equal(
          JSON.stringify(fundedBy.errorFormat.renderFault(fault).body).includes('Error! Invalid address format'),
          true,
        )
        return fault.code === 'input.invalid'
      })
    }
  })
})
