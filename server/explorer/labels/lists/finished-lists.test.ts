import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { withReplica } from '#test/with-replica.ts'
import { HistoryWriter } from '../history.ts'
import { putLabels } from '../labels.ts'
import { getFinishedList } from './finished-lists.ts'

const put = (context: TestContext, name: string) =>
  context.ingest.write((tx) =>
    putLabels(new HistoryWriter(tx, { by: 'test', via: 'test', atMs: context.clock.now() }), [
      { chain: '1', slug: 'a', name, updatedUnix: 5 },
    ]),
  )

test('a list is read from a replica that has its revision in the same snapshot, otherwise from the primary', async () => {
  await using context = await openContext()
  await using replica = await openContext()
  const { state, replicaReads } = withReplica(context.ingest, replica.ingest)
  const nameInList = async () => {
    const list = await getFinishedList({ ...context, ingest: state }, '1', 'json')
    return JSON.parse(Buffer.from(list?.file.plain.bytes ?? []).toString())[0].labelname
  }
  await put(context, 'first')
  await put(replica, 'first, of the replica')
  assert.equal(await nameInList(), 'first, of the replica')
  await put(context, 'second')
  assert.equal(await nameInList(), 'second')
  await put(replica, 'second, of the replica')
  assert.equal(await nameInList(), 'second', 'cached')
  await put(context, 'third')
  await put(replica, 'third, of the replica')
  await put(replica, 'fourth, of the replica')
  assert.equal(await nameInList(), 'fourth, of the replica', 'a newer one is recent too')
  assert.equal(replicaReads(), 2)
})

test('a list of several reads is complete and in order', async () => {
  await using context = await openContext()
  const slugs = Array.from({ length: 501 }, (_, at) => `entity-${String(at).padStart(3, '0')}`)
  await context.ingest.write((tx) =>
    putLabels(
      new HistoryWriter(tx, { by: 'test', via: 'test', atMs: context.clock.now() }),
      slugs.map((slug) => ({ chain: '1', slug })),
    ),
  )
  const list = await getFinishedList(context, '1', 'json')
  const records = JSON.parse(Buffer.from(list?.file.plain.bytes ?? []).toString()) as { labelslug: string }[]
  assert.deepEqual(
    records.map(({ labelslug }) => labelslug),
    slugs,
  )
})
