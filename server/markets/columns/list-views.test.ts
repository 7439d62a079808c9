// Views of lists after random histories against the current records, on either engine (test/on-postgres.test.ts).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StateReader } from '#storage/state.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { currentRecords } from '../read/current-records.ts'
import { noValue } from '../records/list-columns.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { sourceMs } from '../records/source-time.ts'
import { mergeTicks } from '../ticks/merge-ticks.ts'
import { putMarkets } from '../write/put-markets.ts'
import { dropVersionsBefore } from '../write/version-writer.ts'
import { type ListKind, type ListOrder, type ListView, listKinds } from './list-view.ts'
import { ListViews } from './list-views.ts'

const drawnAmount = fc.constantFrom(undefined, null, '', 'abc', '5.5', '-3', '1e400', '-Infinity', '4.9996', '7')
const drawnNumber = fc.constantFrom(undefined, null, 0, 4.9996, 5, 1e300, -2, 12)
const drawnTime = fc.constantFrom(undefined, null, '2026-01-02', '2026-01-03T04:05:06Z', 'never')
const drawnFlag = fc.constantFrom(undefined, true, false)

const drawnRecord: fc.Arbitrary<MarketRecord> = fc
  .record({
    kind: fc.constantFrom<ListKind>('market', 'market', 'event', 'series', 'tag'),
    id: fc.constantFrom('1', '2', '10', '9', '007', 'a', 'b'),
    fields: fc.record(
      {
        ...{ volumeNum: drawnNumber, volume: drawnAmount, liquidityNum: drawnNumber, liquidity: drawnAmount },
        ...{ volume24hr: drawnNumber, bestBid: drawnNumber, startDate: drawnTime, endDate: drawnTime },
        ...{ createdAt: drawnTime, closedTime: drawnTime, startTime: drawnTime },
        ...{ active: drawnFlag, closed: drawnFlag, archived: drawnFlag, featured: drawnFlag },
        updatedAt: fc.constantFrom(undefined, '2026-01-02T00:00:00Z', '2026-01-02T00:00:01Z', '2026-01-03'),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ kind, id, fields }) => ({ kind, id, fields: { slug: `${kind}-${id}`, ...fields } as MarketRecord['fields'] }))

const drawnStep = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ puts: fc.array(drawnRecord, { minLength: 1, maxLength: 6 }), isRead: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant('merge' as const) },
  { weight: 1, arbitrary: fc.constant('drop' as const) },
)

/** As the documents show it: computed from the fields, without what is stored for lists. */
const amountOf = (...values: readonly unknown[]): number => {
  const value = values.find((one) => one !== undefined)
  const amount = value === undefined || value === '' ? Number.NaN : Number(value)
  return Number.isNaN(amount) ? noValue : Math.round(Math.min(Math.max(amount * 1000, -9e15), 9e15))
}
const timeOf = (value: unknown): number => sourceMs(value) ?? noValue

type Expected = Readonly<Record<Exclude<ListOrder, 'number'>, number>> & {
  readonly kind: string
  readonly id: string
  readonly closed: boolean
}

function describeRecord(kind: string, id: string, fields: Readonly<Record<string, unknown>>): Expected {
  const isOpen = fields.active !== false && fields.closed !== true && fields.archived !== true
  const traded = Number(fields.volumeNum ?? fields.volume ?? 0)
  return {
    ...{ kind, id, closed: fields.closed === true },
    volume: amountOf(fields.volumeNum, fields.volume),
    liquidity: amountOf(fields.liquidityNum, fields.liquidity),
    volume_24h: amountOf(fields.volume24hr),
    updated_ms: timeOf(fields.updatedAt),
    start_ms: timeOf(fields.startDate),
    end_ms: timeOf(fields.endDate),
    created_ms: timeOf(fields.createdAt),
    closed_ms: timeOf(fields.closedTime),
    rank: (isOpen ? 1e15 : 0) + (traded > 0 ? Math.min(Math.floor(traded), 1e15 - 1) : 0),
  }
}

async function readExpected(reader: StateReader): Promise<Expected[]> {
  const names = await reader.all<{ kind: ListKind; id: string }>(
    `select kind, id from market_records where kind in ('market', 'event', 'series', 'tag')`,
  )
  const records: Expected[] = []
  const current = currentRecords(reader)
  for (const { kind, id } of names)
    records.push(describeRecord(kind, id, (await current.record(kind, id))?.fields ?? {}))
  return records
}

const orders = [
  ...(['volume', 'liquidity', 'volume_24h', 'updated_ms', 'start_ms', 'end_ms'] as const),
  ...(['created_ms', 'closed_ms', 'rank'] as const),
]

/** Numbers first, then other ids in the order of the view, which has them all for every kind. */
async function checkView(view: ListView, expected: readonly Expected[]): Promise<void> {
  for (const kind of listKinds)
    for (const closed of [undefined, true, false]) {
      const wanted = expected.filter((one) => one.kind === kind && (closed === undefined || one.closed === closed))
      const byId = [...(await view.sorted({ kind, closed, order: 'number' }))].map((place) => view.id(place))
      assert.deepEqual([...byId].sort(), wanted.map(({ id }) => id).sort())
      const isNumber = (id: string) => /^(0|[1-9]\d*)$/.test(id)
      const numbers = byId.filter(isNumber)
      assert.deepEqual(
        [...numbers].sort((a, b) => Number(a) - Number(b)),
        byId.slice(0, numbers.length),
      )
      for (const order of orders) {
        const found = [...(await view.sorted({ kind, closed, order }))].map((place) => [
          view.id(place),
          view.value(place, order),
        ])
        const sorted = wanted.toSorted((a, b) => a[order] - b[order] || byId.indexOf(a.id) - byId.indexOf(b.id))
        assert.deepEqual(
          found,
          sorted.map((one) => [one.id, one[order]]),
          `${kind} ${closed} by ${order}`,
        )
      }
    }
}

const put = (context: TestContext, records: readonly MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()), { lock: 'markets' })

test('a view has the values and the order of the documents of its snapshot, after every history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(drawnStep, { minLength: 5, maxLength: 25 }), async (steps) => {
      await using context = await openContext()
      const { ingest, clock } = context
      const [everyStep, someSteps] = [new ListViews(), new ListViews()]
      for (const step of steps) {
        clock.advance(1000)
        if (step === 'merge') await mergeTicks(ingest, undefined, 2)
        else if (step === 'drop') await ingest.write((tx) => dropVersionsBefore(tx, clock.now()), { lock: 'markets' })
        else {
          await ingest.snapshot(async (before) => {
            const expectedBefore = await readExpected(before)
            await put(context, step.puts)
            const expected = await readExpected(ingest)
            await checkView(await everyStep.read(ingest), expected)
            await checkView(await everyStep.read(before), expectedBefore)
            if (step.isRead) await checkView(await someSteps.read(ingest), expected)
          })
        }
      }
      const expected = await readExpected(ingest)
      for (const views of [everyStep, someSteps, new ListViews()]) await checkView(await views.read(ingest), expected)
    }),
    { numRuns: 20, endOnFailure: true },
  )
})
