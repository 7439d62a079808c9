import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '#api/contract.ts'
import { extensions } from '#api/extensions.ts'
import { FundingRecord, LabelRecord } from '#api/wire/explorer.ts'
import { checker } from '#core/check.ts'
import { fundedBy } from '#groups/explorer/funded-by.ts'
import { labelListV2 } from '#groups/explorer/label-list-v2.ts'
import { listLabels } from '#groups/explorer/labels.ts'
import { trail } from '#groups/explorer/trail.ts'
import { openDesk, type TestDesk, testVisit } from '#test/desk.ts'
import { loadExplorer } from './explorer.ts'

interface Row {
  readonly address: string
  readonly funder: string
  readonly block: number
  readonly time_unix: number
}

const rowsOf = (desk: TestDesk, chain: string) =>
  desk.state.all<Row>(
    `select '0x' || lower(hex(address)) as address, '0x' || lower(hex(funder)) as funder, block, time_unix
     from fundings where chain = ? order by block`,
    chain,
  )

test('the explorer world: labels, fundings and both kinds of coverage, answered through the endpoints', async () => {
  await using desk = await openDesk()
  const { address } = await loadExplorer(desk, 'test')
  const ask = (chainid: string, of: string) => fundedBy.reply({ chainid, address: of }, desk, testVisit())

  const found = await ask('1', address)
  assert.ok(found.is === 'body')
  assert.deepEqual(found.body, contract['explorer.fundedBy'].example.reply, "the contract's example is true here")
  assert.equal(found.confidence?.coverage, 'complete')
  const { example } = extensions['explorer.trail']
  const told = await trail.reply({ chainid: '1', address, depth: 20 }, desk, testVisit())
  assert.ok(told.is === 'body')
  assert.deepEqual(told.body, example.reply, 'and so is the example of the trail')
  const nobody = `0x${'00'.repeat(19)}01`
  assert.equal((await ask('1', nobody)).is, 'nothing')
  await assert.rejects(ask('137', nobody), { code: 'explorer.not_covered' })

  const rows = await rowsOf(desk, '137')
  const [first, last] = [rows[0], rows.at(-1)]
  assert.ok(first && last)
  assert.equal((await ask('137', first.address)).is, 'body')
  await assert.rejects(ask('137', last.address), { code: 'explorer.not_covered' })
})

test('every field of labels and fundings has a value somewhere, and every label fits the contract', async () => {
  await using desk = await openDesk()
  const { address } = await loadExplorer(desk, 'test')
  const labels = await Array.fromAsync(listLabels(desk.state, '1'))
  assert.equal(labels.length, 120)
  assert.equal((await Array.fromAsync(listLabels(desk.state, '137'))).length, 20)
  for (const name of Object.keys(LabelRecord.properties) as (keyof LabelRecord)[]) {
    assert.ok(
      labels.some((label) => label[name] !== ''),
      name,
    )
  }
  assert.ok(labels.some((label) => label.notes === ''))
  const list = await labelListV2.reply({ chainid: '1' }, desk, testVisit())
  assert.ok(list.is === 'bytes')
  const check = checker(contract['explorer.labelListV2'].reply)
  assert.deepEqual(check(JSON.parse(Buffer.from(list.bytes).toString())), [])
  const funding = await fundedBy.reply({ chainid: '1', address }, desk, testVisit())
  assert.ok(funding.is === 'body')
  assert.deepEqual(Object.keys(funding.body.result), Object.keys(FundingRecord.properties))
})

test('whoever funds was there before: a root, or funded in an earlier block', async () => {
  await using desk = await openDesk()
  await loadExplorer(desk, 'test')
  for (const [chain, count] of [
    ['1', 1801],
    ['137', 200],
  ] as const) {
    const rows = await rowsOf(desk, chain)
    assert.equal(rows.length, count)
    const blockOf = new Map(rows.map((row) => [row.address, row.block]))
    const roots = new Set(rows.map((row) => row.funder).filter((funder) => !blockOf.has(funder)))
    // Twelve exchanges, and the funder of the contract's example.
    assert.ok(roots.size <= 13, `${roots.size} roots`)
    for (const row of rows) assert.ok((blockOf.get(row.funder) ?? -1) < row.block, row.address)
    for (const row of rows) assert.ok(row.time_unix > 1_400_000_000 && row.time_unix < 1_800_000_000)
  }
})

test('the same seed gives the same world, and loading it twice changes nothing', async () => {
  await using one = await openDesk()
  await using two = await openDesk()
  await loadExplorer(one, 'same')
  await loadExplorer(two, 'same')
  await loadExplorer(two, 'same')
  assert.deepEqual(await rowsOf(two, '1'), await rowsOf(one, '1'))
  assert.deepEqual(await Array.fromAsync(listLabels(two.state, '1')), await Array.fromAsync(listLabels(one.state, '1')))
})
