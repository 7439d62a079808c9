import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { removeEntity } from './edit.ts'
import { HistoryWriter, readHistory } from './history.ts'
import { putLabels } from './labels.ts'
import { eachTag, findTags, putTags, removeTags, type TagPatch, tagsOfEntity, tagTable } from './tags.ts'

const address = (digit: string) => `0x${digit.repeat(40)}`

const tag = (digit: string, changes: Partial<TagPatch> = {}): TagPatch => ({
  chain: '1',
  address: address(digit),
  source: 'own',
  name: `Wallet ${digit}`,
  ...changes,
})

const withHistory = <T>(context: TestContext, work: (history: HistoryWriter) => Promise<T>) =>
  context.ingest.write((tx) => work(new HistoryWriter(tx, { by: 'ann', via: 'a test', atMs: context.clock.now() })))

const put = (context: TestContext, ...tags: TagPatch[]) => withHistory(context, (history) => putTags(history, tags))

test('a tag is added, unchanged by the same values, and changed by others', async () => {
  await using context = await openContext()
  assert.deepEqual((await put(context, tag('a'))).counts, { added: 1, changed: 0, unchanged: 0 })
  assert.deepEqual((await put(context, tag('a'))).counts, { added: 0, changed: 0, unchanged: 1 })
  assert.deepEqual((await put(context, tag('a', { confidence: 90 }))).counts, { added: 0, changed: 1, unchanged: 0 })
  const updatedUnix = context.clock.now() / 1000
  assert.deepEqual((await findTags(context.ingest, address('a'), { chain: '1' }))[0], {
    chain: '1',
    address: address('a'),
    source: 'own',
    name: 'Wallet a',
    entity: '',
    confidence: 90,
    evidenceUrl: '',
    updatedUnix,
  })
  const [last] = await readHistory(context.ingest, { subject: address('a'), limit: 1 })
  assert.deepEqual(
    [last?.kind, last?.source, last?.before, last?.after],
    ['address', 'own', { confidence: 50 }, { confidence: 90 }],
  )
})

test('each source has one tag per address, and the one with the highest confidence is the label', async () => {
  await using context = await openContext()
  await put(context, tag('a', { source: 'rumour', name: 'Maybe', confidence: 20 }), tag('a', { confidence: 80 }))
  await put(context, tag('a', { source: 'audit', name: 'Surely', confidence: 95 }))
  assert.equal((await findTags(context.ingest, address('a'), { chain: '1' }))[0]?.name, 'Surely')
  assert.deepEqual(
    (await findTags(context.ingest, address('a'))).map(({ source }) => source),
    ['audit', 'own', 'rumour'],
  )
  context.clock.advance(10_000)
  await put(context, tag('a', { source: 'second audit', name: 'Newer', confidence: 95 }))
  assert.equal((await findTags(context.ingest, address('a'), { chain: '1' }))[0]?.name, 'Newer')
  assert.equal((await findTags(context.ingest, address('a'), { chain: '137' }))[0], undefined)
})

test('a tag of an unknown entity is rejected, others are written', async () => {
  await using context = await openContext()
  await withHistory(context, (history) => putLabels(history, [{ chain: '1', slug: 'harbour' }]))
  const { counts, rejected } = await put(
    context,
    tag('a', { entity: 'harbour' }),
    tag('b', { entity: 'harbour', chain: '137' }),
    tag('c', { entity: 'nobody' }),
  )
  assert.equal(counts.added, 1)
  assert.deepEqual(
    rejected.map(({ reason }) => reason),
    ['no entity harbour on chain 137; add it first', 'no entity nobody on chain 1; add it first'],
  )
  assert.deepEqual(
    (await tagsOfEntity(context.ingest, 'harbour', '1')).map((one) => one.address),
    [address('a')],
  )
})

test('a removed tag is gone, and the history has its values', async () => {
  await using context = await openContext()
  await put(context, tag('a'), tag('b'))
  const gone = await findTags(context.ingest, address('a'))
  await withHistory(context, (history) => removeTags(history, gone))
  assert.deepEqual(
    (await Array.fromAsync(eachTag(context.ingest, '1'))).map((one) => one.address),
    [address('b')],
  )
  const [last] = await readHistory(context.ingest, { subject: address('a'), limit: 1 })
  assert.deepEqual([last?.action, last?.before], ['removed', gone[0]])
})

test('thousands of tags in one transaction, some of them changed', async () => {
  await using context = await openContext()
  const many = Array.from({ length: 3000 }, (_, at) => tag('a', { address: `0x${at.toString(16).padStart(40, '0')}` }))
  assert.equal((await put(context, ...many)).counts.added, 3000)
  const changed = many.map((one, at) => (at % 1000 === 0 ? { ...one, name: 'Other' } : one))
  assert.deepEqual((await put(context, ...changed)).counts, { added: 0, changed: 3, unchanged: 2997 })
  assert.equal((await readHistory(context.ingest, { limit: 5000 })).length, 3003)
})

test('an entity may have more tagged addresses than a function has arguments', async () => {
  await using context = await openContext()
  const author = { by: 'ann', via: 'a test', atMs: context.clock.now() }
  const rows = Array.from({ length: 150_000 }, (_, at) =>
    tagTable.valuesOf(
      tagTable.applyPatch(
        tag('a', { address: `0x${at.toString(16).padStart(40, '0')}`, entity: 'harbour' }),
        undefined,
        0,
      ),
    ),
  )
  await withHistory(context, (history) => putLabels(history, [{ chain: '1', slug: 'harbour' }]))
  await context.ingest.write((tx) => tx.insertMany('tagged_addresses', tagTable.stored.columns, rows))
  await assert.rejects(
    removeEntity(context.ingest, author, { slug: 'harbour', addressesToo: false }),
    /harbour has 150000 tagged addresses/,
  )
})

test('an entity with many addresses is removed in several changes, so that other writes need not wait for all', async () => {
  await using context = await openContext()
  const author = { by: 'ann', via: 'a test', atMs: context.clock.now() }
  await withHistory(context, (history) => putLabels(history, [{ chain: '1', slug: 'harbour' }]))
  const tags = Array.from({ length: 3500 }, (_, at) =>
    tag('a', { address: `0x${(at + 1).toString(16).padStart(40, '0')}`, entity: 'harbour' }),
  )
  await put(context, ...tags)
  const { addresses, entities } = await removeEntity(context.ingest, author, { slug: 'harbour', addressesToo: true })
  assert.deepEqual([addresses.length, entities.length], [3500, 1])
  assert.deepEqual(await Array.fromAsync(eachTag(context.ingest)), [])
  const removed = (await readHistory(context.ingest, { limit: 5000 })).filter(({ action }) => action === 'removed')
  const sizes = [...Map.groupBy(removed, ({ change }) => change).values()].map(({ length }) => length)
  assert.deepEqual(sizes, [501, 1000, 1000, 1000])
})

test('an entity with more addresses than one statement removes is removed with exactly these', async () => {
  await using context = await openContext()
  const author = { by: 'ann', via: 'a test', atMs: context.clock.now() }
  const entities = ['harbour', 'other'].flatMap((slug) => ['1', '137'].map((chain) => ({ chain, slug })))
  await withHistory(context, (history) => putLabels(history, entities))
  const tags = Array.from({ length: 250 }, (_, at) => {
    const where = { chain: at % 2 === 0 ? '1' : '137', source: at % 3 === 0 ? 'own' : 'list' }
    return tag('a', { ...where, address: `0x${(at + 1).toString(16).padStart(40, '0')}`, entity: 'harbour' })
  })
  // The same addresses, from another source.
  await put(context, ...tags, ...tags.map((one) => ({ ...one, source: 'third', entity: 'other' })))
  const { addresses } = await removeEntity(context.ingest, author, { slug: 'harbour', addressesToo: true })
  assert.equal(addresses.length, tags.length)
  const left = await Array.fromAsync(eachTag(context.ingest))
  assert.deepEqual([left.length, new Set(left.map(({ source }) => source))], [tags.length, new Set(['third'])])
  const removed = (await readHistory(context.ingest, { limit: 1000 })).filter(({ action }) => action === 'removed')
  assert.deepEqual(
    removed.filter(({ kind }) => kind === 'address').map(({ before }) => before),
    addresses.toReversed(),
  )
})
