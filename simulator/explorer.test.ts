import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import { FundingRecord, LabelRecord } from '#api/contract/wire/explorer.ts'
import { checker } from '#core/schema-check.ts'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { labelListV2 } from '#explorer/endpoints/label-list-v2.ts'
import { trail } from '#explorer/extensions/trail/trail.ts'
import { blocksStream } from '#explorer/funding/chain-coverage.ts'
import { listLabels } from '#explorer/labels/labels.ts'
import { eachTag } from '#explorer/labels/tags.ts'
import { coverageOf } from '#storage/coverage.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { loadDemoExplorer } from '#test/load-demo.ts'
import { firstFundings } from '#test/simulator/first-funding.ts'
import { demoSeed } from './demo-seed.ts'
import { demoChains } from './explorer/chains.ts'

interface Row {
  readonly address: string
  readonly funder: string
  readonly block: number
  readonly time_unix: number
}

const rowsOf = (context: TestContext, chain: string) =>
  context.ingest.all<Row>(
    `select '0x' || lower(hex(address)) as address, '0x' || lower(hex(funder)) as funder, block, time_unix
     from fundings where chain = ? order by block`,
    chain,
  )

describe('explorer of the demo', () => {
  /** Loaded once. Tests only read it. */
  let context: TestContext
  const { address = '' } = contract['explorer.fundedBy'].example.input
  before(async () => {
    context = await openContext()
    await loadDemoExplorer(context, demoSeed)
  })
  after(() => context[Symbol.asyncDispose]())

  test('the endpoints return labels, fundings and both kinds of coverage', async () => {
    const ask = (chainid: string, of: string) => fundedBy.handle({ chainid, address: of }, context, testRequestInfo())

    const found = await ask('1', address)
    assert.ok(found.is === 'body')
    assert.deepEqual(found.body, contract['explorer.fundedBy'].example.reply, "the contract's example is true here")
    assert.equal(found.confidence?.coverage, 'complete')
    const { example } = extensions['explorer.trail']
    const trailResult = await trail.handle({ chainid: '1', address, depth: 20 }, context, testRequestInfo())
    assert.ok(trailResult.is === 'body')
    assert.deepEqual(trailResult.body, example.reply, 'and so is the example of the trail')
    const unfunded = `0x${'00'.repeat(19)}01`
    assert.equal((await ask('1', unfunded)).is, 'nothing')
    await assert.rejects(ask('137', unfunded), { code: 'explorer.not_covered' })

    const rows = await rowsOf(context, '137')
    const [first, last] = [rows[0], rows.at(-1)]
    assert.ok(first && last)
    assert.equal((await ask('137', first.address)).is, 'body')
    await assert.rejects(ask('137', last.address), { code: 'explorer.not_covered' })
  })

  test('every field of labels and fundings has a value in some record, and every label matches the contract', async () => {
    const labels = await Array.fromAsync(listLabels(context.ingest, '1'))
    assert.equal(labels.length, 120)
    assert.equal((await Array.fromAsync(listLabels(context.ingest, '137'))).length, 20)
    for (const name of Object.keys(LabelRecord.properties) as (keyof LabelRecord)[]) {
      assert.ok(
        labels.some((label) => label[name] !== ''),
        name,
      )
    }
    assert.ok(labels.some((label) => label.notes === ''))
    const list = await labelListV2.handle({ chainid: '1' }, context, testRequestInfo())
    assert.ok(list.is === 'bytes')
    const check = checker(contract['explorer.labelListV2'].reply)
    assert.deepEqual(check(JSON.parse(Buffer.from(list.bytes).toString())), [])
    const funding = await fundedBy.handle({ chainid: '1', address }, context, testRequestInfo())
    assert.ok(funding.is === 'body')
    assert.deepEqual(Object.keys(funding.body.result), Object.keys(FundingRecord.properties))
  })

  test('the store matches the chains, and the newest block has the current time', async () => {
    const nowUnix = context.clock.now() / 1000
    const [complete, withGap] = demoChains(demoSeed)
    assert.deepEqual(await coverageOf(context.ingest, blocksStream('1')), [{ from: 0, until: complete.final + 1 }])
    for (const [chain, isRead] of [
      [complete, (block: number) => block <= complete.final],
      [withGap, (block: number) => block < 80 || (block >= 140 && block <= withGap.final)],
    ] as const) {
      const seen = chain.blocks.filter(({ number }) => isRead(number)).flatMap(({ transfers }) => transfers)
      const first = new Map(seen.toReversed().flatMap((one) => (one.from === one.to ? [] : [[one.to, one]])))
      const rows = await rowsOf(context, chain.id)
      assert.equal(rows.length, first.size)
      for (const { address, funder, block, time_unix } of rows) {
        const truth = first.get(address)
        assert.deepEqual([block, funder], [truth?.block, truth?.from], address)
        assert.equal(time_unix, nowUnix - (chain.head.number - block) * chain.blockSeconds)
      }
    }
  })

  test('the chains have a thousand fundings, internal transfers, creations, self-destructs and withdrawals', () => {
    const [chain] = demoChains(demoSeed)
    const first = [...firstFundings(chain).values()]
    assert.ok(first.length > 1000, `${first.length} funded`)
    assert.ok(first.filter(({ position }) => position > 0).length > 100)
    assert.ok(chain.blocks.some(({ withdrawals }) => withdrawals.length > 0))
    assert.ok(chain.blocks.some(({ transactions }) => transactions.some(({ to }) => to === null)))
    assert.ok(chain.destroyed.size > 0)
  })

  test('the same seed gives the same data, and loading it twice changes nothing', async () => {
    await using other = await openContext()
    for (const _ of ['first', 'second']) {
      await loadDemoExplorer(other, demoSeed)
      assert.deepEqual(await rowsOf(other, '1'), await rowsOf(context, '1'))
      const labelsIn = ({ ingest: state }: TestContext) => Array.fromAsync(listLabels(state, '1'))
      assert.deepEqual(await labelsIn(other), await labelsIn(context))
    }
  })

  test('every address with a label appears in fundings, and pools are labelled as depositors', async () => {
    const [chain, other] = demoChains(demoSeed)
    for (const { id, blocks } of [chain, other]) {
      const seen = new Set(blocks.flatMap(({ transfers }) => transfers).flatMap(({ from, to }) => [from, to]))
      const tags = await Array.fromAsync(eachTag(context.ingest, id))
      assert.ok(tags.length >= 12, `${tags.length} labelled addresses`)
      for (const { address, name } of tags) assert.ok(seen.has(address), name)
      assert.equal(tags.filter(({ name }) => name.includes('depositor')).length, id === '1' ? 4 : 0)
    }
  })
})
