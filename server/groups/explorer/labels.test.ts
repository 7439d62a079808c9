import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDesk } from '#test/desk.ts'
import { type Label, listHead, listLabels, putLabels } from './labels.ts'
import { finishedList } from './lists.ts'

const label = (slug: string, changes: Partial<Label> = {}): Label => ({
  chain: '1',
  slug,
  name: slug.toUpperCase(),
  description: 'A place.',
  notes: '',
  updatedUnix: 1_790_000_000,
  ...changes,
})

test('labels come back by slug, each once, chain by chain', async () => {
  await using desk = await openDesk()
  await desk.state.write((tx) => putLabels(tx, [label('b'), label('a'), label('c', { chain: '137' })]))
  const slugs = (await Array.fromAsync(listLabels(desk.state, '1'))).map((record) => record.labelslug)
  assert.deepEqual(slugs, ['a', 'b'])
  assert.deepEqual(await Array.fromAsync(listLabels(desk.state, '137')), [
    { labelname: 'C', labelslug: 'c', shortdescription: 'A place.', notes: '', lastupdatedtimestamp: 1_790_000_000 },
  ])
})

test('writing the same labels again changes nothing, and their list keeps its revision', async () => {
  await using desk = await openDesk()
  const labels = [label('a'), label('b')]
  assert.equal(await desk.state.write((tx) => putLabels(tx, labels)), 2)
  assert.equal(await desk.state.write((tx) => putLabels(tx, labels)), 0)
  assert.deepEqual(await listHead(desk.state, '1'), { revision: 1, entries: 2 })
  assert.equal(await desk.state.write((tx) => putLabels(tx, [label('a'), label('b', { notes: 'moved' })])), 1)
  assert.deepEqual(await listHead(desk.state, '1'), { revision: 2, entries: 2 })
})

test('a finished list is written once per change, and never older than the store', async () => {
  await using desk = await openDesk()
  assert.equal(await finishedList(desk.state, '1', 'json'), undefined)
  await desk.state.write((tx) => putLabels(tx, [label('a')]))
  const [first, meanwhile] = await Promise.all([1, 2].map(() => finishedList(desk.state, '1', 'json')))
  assert.ok(first?.envelope)
  assert.equal(meanwhile, first)
  await desk.state.write((tx) => putLabels(tx, [label('z', { chain: '137' })]))
  assert.equal(await finishedList(desk.state, '1', 'json'), first, 'a change elsewhere is no change here')
  await desk.state.write((tx) => putLabels(tx, [label('b')]))
  const second = await finishedList(desk.state, '1', 'json')
  assert.notEqual(second?.etag, first.etag)
  assert.equal(JSON.parse(Buffer.from(second?.file ?? []).toString()).length, 2)
})

test('a list longer than a chunk is whole in both forms', async () => {
  await using desk = await openDesk()
  const labels = Array.from({ length: 2500 }, (_, at) => label(`entity-${String(at).padStart(4, '0')}`))
  await desk.state.write((tx) => putLabels(tx, labels))
  const json = await finishedList(desk.state, '1', 'json')
  const csv = await finishedList(desk.state, '1', 'csv')
  const { result } = JSON.parse(Buffer.from(json?.envelope ?? []).toString())
  assert.deepEqual(JSON.parse(Buffer.from(json?.file ?? []).toString()), result)
  assert.deepEqual(
    result.map((record: { labelslug: string }) => record.labelslug),
    labels.map(({ slug }) => slug),
  )
  assert.equal(
    Buffer.from(csv?.file ?? [])
      .toString()
      .split('\r\n').length,
    1 + 2500 + 1,
  )
})
