import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { syncReverseIndexes } from '#explorer/extensions/reverse-lookups/reverse-lookups.ts'
import { type Funding, putFundings } from '#explorer/funding/fundings.ts'
import { addUnfinalizedBlock, putUnfinalizedFundings } from '#explorer/funding/index/unfinalized.ts'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { putTags, type TagPatch } from '#explorer/labels/tags.ts'
import type { EntityView, LabelCounts, TransactionView } from '#shared/console-calls.ts'
import { createKey, type NewKey } from '#storage/keys.ts'
import { openConsole } from '#test/console.ts'
import { testNowMs } from '#test/context.ts'

const address = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`
const hash = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`

const fundingOf = (to: number, from: number, block: number, more: Partial<Funding> = {}): Funding => ({
  ...{ chain: '1', address: address(to), funder: address(from), block, txIndex: 0, position: 0 },
  ...{ timeUnix: 1_700_000_000 + block, tx: hash(block), valueWei: 10n ** 18n },
  ...more,
})

const chains = [
  { id: '1', name: 'Ethereum' },
  { id: '137', name: 'Polygon' },
]

async function openExplorer(settings: object = {}) {
  const site = await openConsole({ explorer: { chains }, ...settings })
  const { context } = site
  await syncReverseIndexes(context.ingest, true)
  const keyFor = async (more: Partial<NewKey> = {}) => {
    const key = { name: 'test', plan: 'standard', ...more } as const
    return (await createKey(context.state, key, context.clock, context.random)).key
  }
  const key = await keyFor()
  const get = (path: string, apikey = key) => site.request(`/console/explorer/${path}?apikey=${apikey}`)
  return { ...site, keyFor, get }
}

describe('GET /console/explorer/entities/{slug}', () => {
  test('200: chains, labelled addresses with their sources, and whom they funded, newest first', async () => {
    await using site = await openExplorer()
    await site.context.ingest.write(async (tx) => {
      const history = new HistoryWriter(tx, { by: 'test', via: 'test', atMs: testNowMs })
      const label = { slug: 'harbour', name: 'Harbour', description: 'An exchange', updatedUnix: 1_700_000_000 }
      await putLabels(history, [
        { ...label, chain: '1' },
        { ...label, chain: '5', notes: 'closed' },
        { ...label, chain: '1', slug: 'other' },
      ])
      const tag = { chain: '1', entity: 'harbour', confidence: 90, updatedUnix: 1_700_000_000 }
      await putTags(history, [
        { ...tag, address: address(1), source: 'desk', name: 'Harbour: hot', evidenceUrl: 'https://example.org/1' },
        { ...tag, address: address(1), source: 'crowd', name: 'Harbour 1', confidence: 40 },
        { ...tag, address: address(2), source: 'desk', name: 'Harbour: cold' },
        { ...tag, address: address(3), source: 'desk', name: 'Other', entity: 'other' },
      ])
      await putFundings(tx, [
        fundingOf(10, 1, 100),
        fundingOf(3, 2, 102),
        fundingOf(11, 3, 103),
        fundingOf(12, 1, 101),
        fundingOf(13, 1, 104, { chain: '137' }),
      ])
    })
    const reply = await site.get('entities/harbour')
    assert.equal(reply.status, 200)
    const entity = reply.json<EntityView>()
    const updatedAt = new Date(1_700_000_000_000).toISOString()
    assert.deepEqual(entity.chains, [
      {
        ...{ chainid: '1', name: 'Harbour', description: 'An exchange', notes: '', updatedAt, coverage: 'none' },
      },
      { chainid: '5', name: 'Harbour', description: 'An exchange', notes: 'closed', updatedAt, coverage: null },
    ])
    const tagged = { entity: 'harbour', source: 'desk', confidence: 90, updatedAt }
    assert.deepEqual(entity.addresses, [
      {
        chainid: '1',
        address: address(1),
        labels: [
          { ...tagged, name: 'Harbour: hot', evidence: 'https://example.org/1' },
          { name: 'Harbour 1', entity: 'harbour', source: 'crowd', confidence: 40, updatedAt },
        ],
      },
      { chainid: '1', address: address(2), labels: [{ ...tagged, name: 'Harbour: cold' }] },
    ])
    assert.deepEqual(
      entity.funded?.map((funding) => [funding.address, funding.fundingAddress, funding.label?.name]),
      [
        [address(3), address(2), 'Other'],
        [address(12), address(1), undefined],
        [address(10), address(1), undefined],
      ],
    )
    assert.deepEqual(entity.funded?.[2], {
      ...{ chainid: '1', address: address(10), block: 100, timeStamp: '1700000100', fundingAddress: address(1) },
      ...{ fundingTxn: hash(100), value: '1000000000000000000', finality: 'finalized' },
      funderLabel: {
        name: 'Harbour: hot',
        entity: 'harbour',
        source: 'desk',
        confidence: 90,
        evidence: 'https://example.org/1',
      },
    })
    assert.deepEqual([entity.hasMoreAddresses, entity.hasMoreFunded], [false, false])
    assert.equal((await site.get('entities/unknown')).status, 404)
  })

  test('200: at most 50 labels of a chain and 25 funded addresses', async () => {
    await using site = await openExplorer()
    await site.context.ingest.write(async (tx) => {
      const history = new HistoryWriter(tx, { by: 'test', via: 'test', atMs: testNowMs })
      await putLabels(history, [{ chain: '1', slug: 'large' }])
      const numbers = Array.from({ length: 51 }, (_, at) => at + 1)
      await putTags(
        history,
        numbers.map((at) => ({ chain: '1', address: address(at), source: 'desk', entity: 'large', name: `L ${at}` })),
      )
      await putFundings(
        tx,
        numbers.map((at) => fundingOf(1000 + at, 1, at)),
      )
    })
    const entity = (await site.get('entities/large')).json<EntityView>()
    assert.deepEqual(
      [entity.addresses.length, entity.hasMoreAddresses, entity.funded?.length, entity.hasMoreFunded],
      [50, true, 25, true],
    )
    assert.deepEqual([entity.funded?.[0]?.block, entity.funded?.[24]?.block], [51, 27])
  })
})

test('without the indexes of reverse lookups, fundings are not searched', async () => {
  await using site = await openExplorer()
  await site.context.ingest.write(async (tx) => {
    const history = new HistoryWriter(tx, { by: 'test', via: 'test', atMs: testNowMs })
    await putLabels(history, [{ chain: '1', slug: 'harbour', name: 'Harbour' }])
    await putTags(history, [{ chain: '1', address: address(1), source: 'desk', entity: 'harbour', name: 'Hot' }])
    await putFundings(tx, [fundingOf(10, 1, 100)])
  })
  const funded = async () => (await site.get('entities/harbour')).json<EntityView>().funded?.length
  const transaction = async () => (await site.get(`transactions/${hash(100)}`)).status
  assert.deepEqual([await funded(), await transaction()], [1, 200])
  await syncReverseIndexes(site.context.ingest, false)
  assert.deepEqual([await funded(), await transaction()], [undefined, 404])
  await syncReverseIndexes(site.context.ingest, true)
  assert.deepEqual([await funded(), await transaction()], [1, 200])
})

describe('GET /console/explorer/transactions/{hash}', () => {
  test('200: every first funding in the transaction, also of another chain and of a block that is not final', async () => {
    await using site = await openExplorer()
    const tx = hash(77)
    await site.context.ingest.write(async (writer) => {
      await putFundings(writer, [
        fundingOf(11, 1, 7, { tx, position: 2 }),
        fundingOf(10, 1, 7, { tx, position: 1 }),
        fundingOf(10, 1, 9, { tx, chain: '137' }),
        // The same first eight bytes.
        fundingOf(12, 1, 8),
      ])
      await addUnfinalizedBlock(writer, '1', { number: 20, hash: hash(20) })
      await addUnfinalizedBlock(writer, '1', { number: 21, hash: hash(21) })
      await putUnfinalizedFundings(writer, [
        fundingOf(13, 1, 20, { tx }),
        // Not the first: another one is final, or in an earlier block.
        fundingOf(12, 1, 20, { tx }),
        fundingOf(14, 1, 20),
        fundingOf(14, 1, 21, { tx }),
      ])
    })
    const reply = await site.get(`transactions/${tx.toUpperCase().replace('0X', '0x')}`)
    assert.equal(reply.status, 200)
    const { fundings, hasMore } = reply.json<TransactionView>()
    assert.deepEqual(
      fundings.map((funding) => [funding.chainid, funding.address, funding.block, funding.finality]),
      [
        ['1', address(10), 7, 'finalized'],
        ['1', address(11), 7, 'finalized'],
        ['137', address(10), 9, 'finalized'],
        ['1', address(13), 20, 'head'],
      ],
    )
    assert.equal(hasMore, false)
    assert.equal((await site.get(`transactions/${hash(21)}`)).status, 404)
    assert.equal((await site.get('transactions/0x12')).status, 400)
  })
})

test('the calls need a key of the standard plan with the explorer, and are limited by the plan', async () => {
  await using site = await openExplorer()
  const path = `transactions/${hash(1)}`
  const statusWith = async (apikey: string) => (await site.get(path, apikey)).status
  assert.equal((await site.request(`/console/explorer/${path}`)).status, 401)
  assert.equal(await statusWith('tetrad:a:b'), 401)
  assert.equal(await statusWith(await site.keyFor({ plan: 'free' })), 403)
  assert.equal(await statusWith(await site.keyFor({ groups: ['fx'] })), 403)
  const key = await site.keyFor({ plan: 'standard' })
  const statuses: number[] = []
  for (let call = 0; call < 11; call++) statuses.push(await statusWith(key))
  assert.deepEqual([...new Set(statuses)], [404, 429])
  assert.equal(statuses.at(-1), 429)
})

test('without the explorer the calls do not exist', async () => {
  await using site = await openExplorer({ groups: { explorer: { enabled: false } } })
  assert.equal(site.paths.filter(({ path }) => path.startsWith('/console/explorer')).length, 0)
})

describe('GET /console/explorer/labels/{chain}', () => {
  test('200: labelled addresses are counted once each, also without any entity, and never more than 100 000', async () => {
    await using site = await openExplorer()
    const countsOf = async (chain: string) => (await site.get(`labels/${chain}`)).json<LabelCounts>()
    const put = (tags: readonly TagPatch[]) =>
      site.context.ingest.write(async (tx) => {
        await putTags(new HistoryWriter(tx, { by: 'test', via: 'test', atMs: testNowMs }), tags)
      })
    const tag = { chain: '1', source: 'desk', name: 'Harbour' }
    await put([
      { ...tag, address: address(1) },
      { ...tag, address: address(1), source: 'crowd' },
      { ...tag, address: address(2) },
      { ...tag, address: address(3), chain: '137' },
    ])
    assert.deepEqual(await countsOf('1'), { chainid: '1', addresses: 2, hasMoreAddresses: false })
    assert.deepEqual(await countsOf('137'), { chainid: '137', addresses: 1, hasMoreAddresses: false })
    assert.equal((await countsOf('5')).addresses, 0)
    await put(Array.from({ length: 100_001 }, (_, number) => ({ ...tag, chain: '137', address: address(number) })))
    assert.deepEqual(await countsOf('137'), { chainid: '137', addresses: 100_000, hasMoreAddresses: true })
  })

  test('401 without a key', async () => {
    await using site = await openExplorer()
    assert.equal((await site.get('labels/1', '')).status, 401)
  })
})
