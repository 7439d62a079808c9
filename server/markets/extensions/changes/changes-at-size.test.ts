// The cost of listing changes and writing documents (behaviour/markets.md#history-limits). Statements and turns of the
// event loop are counted; nothing is timed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { StateReader, Value } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { countLoopTurns } from '#test/event-loop-turns.ts'
import { findMarketResponse } from '../../read/market-response.ts'
import type { MarketRecord } from '../../records/normalize.ts'
import { writeDeferred } from '../../write/deferred-documents.ts'
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
        readRounds.push(round)
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

describe('documents', () => {
  const event = (volume: number): MarketRecord => ({ kind: 'event', id: '10', fields: { slug: 'ten', volume } })
  const markets = Array.from(
    { length: 100 },
    (_, at): MarketRecord => ({
      kind: 'market',
      id: `m${at}`,
      links: { events: ['10'] },
      fields: { slug: `m-${at}`, description: 'x'.repeat(2000) },
    }),
  )
  /** One statement, so one consistent state. */
  const volumes = async (context: TestContext) => {
    const rows = await context.ingest.all<{ body: Uint8Array }>('select body from market_documents')
    return [...new Set(rows.map(({ body }) => Number(JSON.parse(Buffer.from(body).toString()).events[0].volume)))]
  }

  test('are written together: readers see all of them before or after', async () => {
    await using context = await openContext()
    await put(context, event(1), ...markets)
    const seen: number[][] = []
    let over = false
    const watching = (async () => {
      while (!over) {
        seen.push(await volumes(context))
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const result = await put(context, event(2))
    over = true
    await watching
    assert.equal(result.written, 100)
    assert.ok(seen.every((some) => some.length === 1))
    assert.deepEqual(await volumes(context), [2])
  })

  test('that were deferred are found in batches, and each is written once', async () => {
    await using context = await openContext()
    const events = Array.from(
      { length: 450 },
      (_, at): MarketRecord => ({
        kind: 'event',
        id: `e${at}`,
        fields: { slug: `e-${at}` },
        links: { series: ['20'] },
      }),
    )
    const series: MarketRecord = { kind: 'series', id: '20', fields: { slug: 'twenty', volume: 1 } }
    const shown = events.map(
      ({ id }): MarketRecord => ({ kind: 'market', id, fields: { slug: `m-${id}` }, links: { events: [id] } }),
    )
    const writeLater = (...records: MarketRecord[]) =>
      context.ingest.write((tx) => putMarkets(tx, records, context.clock.now(), { isDeferred: true }))
    await writeLater(series, ...events, ...shown)
    assert.equal(await writeDeferred(context.ingest, () => testNowMs), 450)
    await writeLater({ ...series, fields: { slug: 'twenty', volume: 2 } })
    const { result, turns } = await countLoopTurns(() => writeDeferred(context.ingest, () => testNowMs))
    assert.equal(result, 450)
    assert.ok(turns >= 100, `${turns} turns`)
    assert.match(Buffer.from((await findMarketResponse(context, 'm-e7', true))?.bytes ?? []).toString(), /"volume":2/)
    assert.equal(await writeDeferred(context.ingest, () => testNowMs), 0)
  })
})

test('the markets that show a changed tag are deferred by statements of at most 500 rows', async () => {
  await using context = await openContext()
  const ids = Array.from({ length: 1200 }, (_, at) => `m${at}`)
  const links = ids.map((id): Value[] => ['tag', 't', 'market', id])
  await context.ingest.write(async (tx) => {
    await tx.insertMany('market_links', ['to_kind', 'to_id', 'from_kind', 'from_id'], links)
    await tx.run("insert into market_deferred_documents (kind, id) values ('tag', 't')")
  })
  const found: number[] = []
  const state = stateWith(context.ingest, {
    write: (work, options) =>
      context.ingest.write(async (tx) => {
        const all: typeof tx.all = async <R>(sql: string, ...values: Value[]) => {
          const rows = await tx.all<R>(sql, ...values)
          if (sql.includes('from market_links')) found.push(rows.length)
          return rows
        }
        return work({ ...tx, all })
      }, options),
  })
  await writeDeferred(state, () => testNowMs)
  assert.deepEqual(found, [500, 500, 200])
  assert.deepEqual(await context.ingest.all('select kind, id from market_deferred_documents'), [])
})

test('a filtered page reads its range of the log without sorting', async (t) => {
  await using context = await openContext()
  if (context.ingest.engine !== 'sqlite') return t.skip('the state of this run is on a server')
  const statements: (readonly [string, ...Value[]])[] = []
  const all: StateReader['all'] = (sql, ...values) => {
    statements.push([sql, ...values])
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
