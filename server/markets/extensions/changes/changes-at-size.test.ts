// The cost of listing changes and writing documents (behaviour/markets.md#history-limits). Statements and turns of the
// event loop are counted; nothing is timed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { StateReader, Value } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { countLoopTurns } from '#test/event-loop-turns.ts'
import { createMarketsCaches } from '../../context.ts'
import { findMarketResponse } from '../../read/market-response.ts'
import type { MarketRecord } from '../../records/normalize.ts'
import { putMarkets } from '../../write/put-markets.ts'
import { listChangesAfter, listMarketChanges } from './changes.ts'
import { changeStream } from './stream-changes.ts'

const put = (context: TestContext, ...records: MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

const tagged = (tags: number): MarketRecord[] => {
  const ids = Array.from({ length: tags }, (_, at) => `t${at}`)
  return [
    { kind: 'market', id: '1', fields: { slug: 'one' }, links: { tags: ids } },
    ...ids.map((id): MarketRecord => ({ kind: 'tag', id, fields: { label: id } })),
  ]
}

/** Appends versions to the log. */
const append = (context: TestContext, names: readonly (readonly [kind: string, id: string])[]) =>
  context.ingest.write(async (tx) => {
    const from = (await tx.get<{ seq: number }>('select seq from market_revision'))?.seq ?? 0
    const rows = names.map(([kind, id], at): Value[] => [
      ...[from + at + 1, testNowMs + at, kind, id, 'changed', '{"bestBid":[0.1,0.2]}'],
    ])
    await tx.insertMany('market_versions', ['seq', 'at_ms', 'kind', 'id', 'change_type', 'diff'], rows)
    await tx.run('update market_revision set seq = ?, at_ms = ?', from + names.length, testNowMs + names.length)
    return from + names.length
  })

function counting(reader: StateReader): { reader: StateReader; statements: () => number } {
  let statements = 0
  const count = <A extends unknown[], R>(ask: (...queries: A) => R) => {
    return (...queries: A): R => {
      statements += 1
      return ask(...queries)
    }
  }
  return {
    statements: () => statements,
    reader: { get: count(reader.get.bind(reader)), all: count(reader.all.bind(reader)) } as StateReader,
  }
}

describe('changes of one market', () => {
  test('a page without matches takes few statements, yields often, and has a cursor to continue', async () => {
    await using context = await openContext()
    await put(context, ...tagged(60))
    await append(
      context,
      Array.from({ length: 12_000 }, () => ['market', '1'] as const),
    )
    const { reader, statements } = counting(context.ingest)
    const options = { limit: 1, fields: ['nothing'], related: true }
    const { result, turns } = await countLoopTurns(() => listMarketChanges(reader, '1', options))
    assert.deepEqual(result.changes, [])
    assert.ok(result.next !== undefined && result.next > 0)
    assert.ok(statements() < 200, `${statements()} statements`)
    assert.ok(turns >= 8, `${turns} turns`)
    // 12 000 versions in pages of 5000: each page starts where the last one ended.
    const rest = await listMarketChanges(reader, '1', { ...options, cursor: result.next })
    const end = await listMarketChanges(reader, '1', { ...options, cursor: rest.next })
    assert.deepEqual([rest.next, end.next], [result.next - 5000, undefined])
  })

  test('changes without the requested fields are not parsed', async (t) => {
    await using context = await openContext()
    await put(context, ...tagged(0))
    await put(context, { kind: 'market', id: '1', fields: { slug: 'two' } })
    await append(
      context,
      Array.from({ length: 1000 }, () => ['market', '1'] as const),
    )
    const parse = t.mock.method(JSON, 'parse')
    const { changes } = await listMarketChanges(context.ingest, '1', { limit: 10, fields: ['slug'], related: false })
    assert.deepEqual(
      changes.map(({ change, fields }) => [change, fields]),
      [['changed', [{ field: 'slug', before: 'one', after: 'two' }]]],
    )
    assert.ok(parse.mock.callCount() < 10, `${parse.mock.callCount()} texts were parsed`)
  })

  test('pages of any size give the whole history, newest first, each change once', async () => {
    const name = fc.constantFrom(...(['market/1', 'market/2', 'tag/t0', 'tag/t1', 'tag/t2', 'tag/t9'] as const))
    const history = fc.array(name, { minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 1, max: 12 }), async (names, limit) => {
        await using context = await openContext()
        await put(context, ...tagged(3))
        await append(
          context,
          names.map((one) => one.split('/') as [string, string]),
        )
        const shown = new Set(['market/1', 'tag/t0', 'tag/t1', 'tag/t2'])
        const all = await context.ingest.all<{ seq: number; kind: string; id: string }>(
          'select seq, kind, id from market_versions order by seq desc',
        )
        const expected = all.filter(({ kind, id }) => shown.has(`${kind}/${id}`)).map(({ seq }) => String(seq))
        const seen: string[] = []
        for (let cursor: number | undefined, more = true; more; ) {
          const page = await listMarketChanges(context.ingest, '1', { cursor, limit, related: true })
          seen.push(...page.changes.map((change) => change.cursor))
          cursor = page.next
          more = cursor !== undefined
        }
        assert.deepEqual(seen, expected)
      }),
      { numRuns: 6 },
    )
  })

  test('400: a market with too many related records is refused', async () => {
    await using context = await openContext()
    await put(context, ...tagged(1001))
    await assert.rejects(listMarketChanges(context.ingest, '1', { limit: 1, related: true }), {
      code: 'markets.too_many_changes',
      publicMessage: /without `related`/,
    })
    assert.equal((await listMarketChanges(context.ingest, '1', { limit: 1, related: false })).changes.length, 1)
  })
})

describe('filtered changes', () => {
  test('pages without matches end at the newest change', async () => {
    await using context = await openContext()
    const head = await append(
      context,
      Array.from({ length: 12_000 }, (_, at) => (at % 4000 === 3999 ? ['tag', 'x'] : ['market', '1'])),
    )
    for (const [filter, found] of [
      [{ kinds: ['tag'] }, ['4000', '8000', '12000']],
      [{ kinds: ['series'] }, []],
      [{ marketIds: new Set(['2']) }, []],
      [{ marketIds: new Set<string>() }, []],
    ] as const) {
      const seen: string[] = []
      let after = 0
      for (let more = true, pages = 0; more; pages++) {
        assert.ok(pages < 10)
        const page = await listChangesAfter(context.ingest, after, 100, filter)
        seen.push(...page.changes.map(({ cursor }) => cursor))
        after = page.next
        more = page.more
      }
      assert.deepEqual([seen, after], [found, head])
    }
    const beyond = await listChangesAfter(context.ingest, head + 7, 100, { kinds: ['tag'] })
    assert.deepEqual(beyond, { changes: [], next: head + 7, more: false })
  })

  test('a stream that catches up reads once per turn of the event loop and sends heartbeats', async () => {
    await using context = await openContext()
    await append(
      context,
      Array.from({ length: 60_000 }, () => ['market', '1'] as const),
    )
    let round = 0
    const readRounds: number[] = []
    const state = stateWith(context.ingest, {
      all: (sql, ...values) => {
        if (sql.includes('from market_versions')) readRounds.push(round)
        return context.ingest.all(sql, ...values)
      },
    })
    const counted = { ...context, ingest: state }
    const outcome = await changeStream.handle({ after: '0', kinds: ['tag'] }, counted, testRequestInfo())
    assert.ok(outcome.is === 'stream')
    const stop = new AbortController()
    let text = ''
    const following = (async () => {
      for await (const chunk of outcome.chunks(stop.signal, counted as never)) text += chunk
    })()
    for (; round < 100_000 && readRounds.length < 12; round++) {
      await new Promise((resolve) => setImmediate(resolve))
      context.clock.advance(2000)
    }
    stop.abort()
    context.clock.advance(250)
    await following
    // 60 000 versions, 5000 per read.
    assert.equal(new Set(readRounds).size, 12)
    assert.match(text, /heartbeat/)
  })
})

test('a response shows all of a commit or nothing of it', async () => {
  await using context = await openContext()
  const version = (volume: number): MarketRecord[] => [
    { kind: 'event', id: '10', fields: { slug: 'ten', volume } },
    { kind: 'market', id: '1', fields: { slug: 'm', volumeNum: volume }, links: { events: ['10'] } },
  ]
  await put(context, ...version(1))
  const seen: number[][] = []
  let over = false
  const watching = (async () => {
    while (!over) {
      const response = await findMarketResponse({ ...context, markets: createMarketsCaches(context.clock) }, 'm', true)
      const { volumeNum, events } = JSON.parse(Buffer.from(response?.bytes ?? []).toString())
      seen.push([volumeNum, events[0].volume])
      await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  for (let volume = 2; volume < 12; volume++) await put(context, ...version(volume))
  over = true
  await watching
  assert.ok(seen.every(([market, event]) => market === event))
})

test('a filtered page reads its range of the log without sorting', async (t) => {
  await using context = await openContext()
  if (context.ingest.engine !== 'sqlite') return t.skip('the state of this run is on a server')
  const statements: (readonly [string, ...Value[]])[] = []
  const all: StateReader['all'] = (sql, ...values) => {
    if (sql.includes('from market_versions')) statements.push([sql, ...values])
    return context.ingest.all(sql, ...values)
  }
  for (const filter of [{}, { kinds: ['market', 'tag'] as const }, { marketIds: new Set(['1', '2']) }])
    await listChangesAfter(stateWith(context.ingest, { all }), 0, 100, filter)
  assert.equal(statements.length, 3)
  for (const [sql, ...values] of statements) {
    const plan = await context.ingest.all<{ detail: string }>(`explain query plan ${sql}`, ...values)
    const steps = plan.map(({ detail }) => detail).join('; ')
    assert.match(steps, /SEARCH market_versions USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/)
    assert.doesNotMatch(steps, /TEMP B-TREE/)
  }
})
