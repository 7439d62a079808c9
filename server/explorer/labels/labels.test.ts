import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { openContext, type TestContext } from '#test/context.ts'
import { HistoryWriter, readHistory } from './history.ts'
import {
  eachLabel,
  findLabels,
  type Label,
  type LabelPatch,
  listLabels,
  putLabels,
  readListHead,
  removeLabel,
} from './labels.ts'
import { getFinishedList } from './lists/finished-lists.ts'

const label = (slug: string, changes: Partial<Label> = {}): Label => ({
  chain: '1',
  slug,
  name: slug.toUpperCase(),
  description: 'A place.',
  notes: '',
  updatedUnix: 1_790_000_000,
  ...changes,
})

const historyWriter = (tx: ConstructorParameters<typeof HistoryWriter>[0], context: TestContext, by = 'ann') =>
  new HistoryWriter(tx, { by, via: 'a test', atMs: context.clock.now() })

const put = (context: TestContext, labels: Iterable<LabelPatch>, by?: string) =>
  context.ingest.write((tx) => putLabels(historyWriter(tx, context, by), labels))

describe('entities', () => {
  test('labels are listed by slug, each once, per chain', async () => {
    await using context = await openContext()
    await put(context, [label('b'), label('a'), label('c', { chain: '137' })])
    const slugs = (await Array.fromAsync(listLabels(context.ingest, '1'))).map((record) => record.labelslug)
    assert.deepEqual(slugs, ['a', 'b'])
    assert.deepEqual(await Array.fromAsync(listLabels(context.ingest, '137')), [
      { labelname: 'C', labelslug: 'c', shortdescription: 'A place.', notes: '', lastupdatedtimestamp: 1_790_000_000 },
    ])
  })

  test('writing the same labels again changes nothing, and their list keeps its revision', async () => {
    await using context = await openContext()
    const labels = [label('a'), label('b')]
    assert.deepEqual(await put(context, labels), { added: 2, changed: 0, unchanged: 0 })
    assert.deepEqual(await put(context, labels), { added: 0, changed: 0, unchanged: 2 })
    assert.deepEqual(await readListHead(context.ingest, '1'), { revision: 1, entries: 2 })
    const counts = await put(context, [label('a'), label('b', { notes: 'moved' })])
    assert.deepEqual(counts, { added: 0, changed: 1, unchanged: 1 })
    assert.deepEqual(await readListHead(context.ingest, '1'), { revision: 2, entries: 2 })
    assert.equal((await readHistory(context.ingest, { limit: 10 })).length, 3)
  })

  test('fields that a patch leaves out stay; the default time of a change is now', async () => {
    await using context = await openContext()
    await put(context, [label('a', { notes: 'kept' })])
    await put(context, [{ chain: '1', slug: 'a', name: 'Renamed' }])
    const nowUnix = context.clock.now() / 1000
    assert.deepEqual(await findLabels(context.ingest, 'a'), [
      label('a', { name: 'Renamed', notes: 'kept', updatedUnix: nowUnix }),
    ])
    context.clock.advance(60_000)
    await put(context, [{ chain: '1', slug: 'a', name: 'Renamed' }])
    assert.equal((await findLabels(context.ingest, 'a'))[0]?.updatedUnix, nowUnix, 'no change, no new time')
  })

  test('a removed entity is no longer listed, and the history has it', async () => {
    await using context = await openContext()
    await put(context, [label('a'), label('b')])
    const remove = (slug: string) => context.ingest.write((tx) => removeLabel(historyWriter(tx, context), '1', slug))
    assert.equal(await remove('a'), true)
    assert.equal(await remove('a'), false)
    assert.deepEqual(await readListHead(context.ingest, '1'), { revision: 2, entries: 1 })
    const [last] = await readHistory(context.ingest, { subject: 'a', limit: 1 })
    assert.deepEqual([last?.action, last?.before, last?.after], ['removed', label('a'), undefined])
  })

  test('an entity is found on each of its chains', async () => {
    await using context = await openContext()
    await put(context, [label('a-b'), label('a-b', { chain: '137' }), label('z')])
    assert.deepEqual(
      (await findLabels(context.ingest, 'a-b')).map(({ chain }) => chain),
      ['1', '137'],
    )
  })
})

describe('the history', () => {
  test('has author, time and changed fields, newest first', async () => {
    await using context = await openContext()
    await put(context, [label('a')])
    context.clock.advance(5000)
    await put(context, [label('a', { name: 'New name' }), label('b')], 'bob')
    const [second, first, ...older] = await readHistory(context.ingest, { subject: 'a', limit: 10 })
    assert.deepEqual(older, [])
    assert.deepEqual([first?.action, first?.by, first?.after], ['added', 'ann', label('a')])
    assert.deepEqual(
      [second?.action, second?.by, second?.via, second?.before, second?.after],
      ['changed', 'bob', 'a test', { name: 'A' }, { name: 'New name' }],
    )
    assert.equal((second?.atMs ?? 0) - (first?.atMs ?? 0), 5000)
    assert.deepEqual(
      (await readHistory(context.ingest, { limit: 10 })).map(({ change }) => change),
      [2, 2, 1],
    )
    assert.deepEqual(await readHistory(context.ingest, { chain: '137', limit: 10 }), [])
  })

  test('a failed transaction leaves neither rows nor history', async () => {
    await using context = await openContext()
    const failed = context.ingest.write(async (tx) => {
      await putLabels(historyWriter(tx, context), [label('a')])
      throw new Error('disk full')
    })
    await assert.rejects(failed, /disk full/)
    assert.deepEqual(await readHistory(context.ingest, { limit: 10 }), [])
    assert.equal(await readListHead(context.ingest, '1'), undefined)
  })

  test('replaying the history gives the rows, after any sequence of writes and removals', async () => {
    const slug = fc.constantFrom('a', 'b', 'c')
    const step = fc.oneof(
      fc.record({
        do: fc.constant('put' as const),
        slug,
        name: fc.constantFrom('x', 'y'),
        notes: fc.constantFrom('', 'n'),
      }),
      fc.record({ do: fc.constant('remove' as const), slug }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 6 }), async (transactions) => {
        await using context = await openContext()
        for (const steps of transactions) {
          context.clock.advance(1000)
          await context.ingest.write(async (tx) => {
            const history = historyWriter(tx, context)
            for (const one of steps) {
              if (one.do === 'put')
                await putLabels(
                  history,
                  [{ chain: '1', ...one }].map(({ do: _, ...patch }) => patch),
                )
              else await removeLabel(history, '1', one.slug)
            }
          })
        }
        const replayed = new Map<string, object>()
        for (const edit of (await readHistory(context.ingest, { limit: 100 })).reverse()) {
          const before = replayed.get(edit.subject)
          if (edit.before)
            for (const [field, value] of Object.entries(edit.before)) assert.deepEqual(before?.[field as never], value)
          if (edit.action === 'removed') replayed.delete(edit.subject)
          else replayed.set(edit.subject, { ...before, ...edit.after })
        }
        const rows = await Array.fromAsync(eachLabel(context.ingest))
        assert.deepEqual(
          rows,
          [...replayed].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row),
        )
        assert.equal((await readListHead(context.ingest, '1'))?.entries ?? 0, rows.length)
      }),
      { numRuns: 25 },
    )
  })
})

describe('finished lists', () => {
  test('a list is serialized once per change and never stale', async () => {
    await using context = await openContext()
    assert.equal(await getFinishedList(context, '1', 'json'), undefined)
    await put(context, [label('a')])
    const [first, meanwhile] = await Promise.all([1, 2].map(() => getFinishedList(context, '1', 'json')))
    assert.ok(first?.envelope)
    assert.equal(meanwhile, first)
    await put(context, [label('z', { chain: '137' })])
    assert.equal(await getFinishedList(context, '1', 'json'), first, 'a change elsewhere is no change here')
    await put(context, [label('b')])
    const second = await getFinishedList(context, '1', 'json')
    assert.notEqual(second?.file.plain.etag, first.file.plain.etag)
    assert.equal(JSON.parse(Buffer.from(second?.file.plain.bytes ?? []).toString()).length, 2)
  })

  test('a list longer than a chunk is complete in both formats', async () => {
    await using context = await openContext()
    const labels = Array.from({ length: 2500 }, (_, at) => label(`entity-${String(at).padStart(4, '0')}`))
    assert.equal((await put(context, labels)).added, 2500)
    const json = await getFinishedList(context, '1', 'json')
    const csv = await getFinishedList(context, '1', 'csv')
    const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString()
    const { result } = JSON.parse(text(json?.envelope?.plain.bytes))
    assert.deepEqual(JSON.parse(text(json?.file.plain.bytes)), result)
    assert.deepEqual(
      result.map((record: { labelslug: string }) => record.labelslug),
      labels.map(({ slug }) => slug),
    )
    assert.equal(text(csv?.file.plain.bytes).split('\r\n').length, 1 + 2500 + 1)
  })
})
