// Writers that recognize records leave the same as a writer that compares everything, whatever others write meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { seedsOf } from '#test/long.ts'
import { listDocuments } from '#test/market-documents.ts'
import { readVersionsAfter } from '../read/versions-after.ts'
import { decompose, Renames } from '../records/decompose.ts'
import type { KindName } from '../records/kinds.ts'
import { RecordAcceptor } from './accept-records.ts'
import { KnownRecords } from './known-records.ts'
import { putAccepted, putMarkets } from './put-markets.ts'
import { SourceForms, SourceNames } from './source-forms.ts'

type Members = Record<string, unknown>

/** As feeds send them, and as they should not. */
const values = [0.5, 0.25, 0.75, '7', null, undefined, 'many', -0, 12345678901234567890n] as const

/** Source records of two feeds: markets with their event and series, and events with their markets. */
function drawSource(draws: SeededRandom, nowMs: number): readonly [KindName, Members] {
  const value = () => values[draws.whole(0, values.length)]
  const time = () => new Date(nowMs - draws.pick([0, 0, 0, 60_000])).toISOString()
  const text = () => (draws.happens(0.9) ? 'a' : 'b')
  const series = { id: '9', slug: 'nine', title: text(), volume: value() }
  const event = (more: Members) => {
    const tags = [{ id: 't', label: text(), odd: draws.happens(0.9) }]
    return {
      id: draws.pick(['1', '2']),
      heading: text(),
      updatedAt: time(),
      volume: value(),
      posts: value(),
      ...more,
      tags,
    }
  }
  const market = (more: Members) => {
    const id = draws.pick(['1', '2', '3'])
    const shown = draws.happens(0.9) ? { question: text() } : { novel: text() }
    const traded = draws.happens(0.8) ? { tradedUSD: value() } : { tradedUSD: value(), volumeNum: value() }
    return { id, slug: `m-${id}`, ...shown, ...traded, bestBid: value(), updatedAt: time(), ...more }
  }
  if (draws.happens(0.7)) return ['market', market({ events: [event({ series: [series] })] })]
  return ['event', event({ markets: [market({}), market({ events: [] })], series: draws.happens(0.5) ? [series] : [] })]
}

const table = { event: { heading: 'title', posts: 'socialPostCount' }, all: { tradedUSD: 'volumeNum' } }
const renames = new Renames(table)
const names = new SourceNames(table)

async function leftBy({ ingest }: TestContext) {
  const sql = 'select kind, id, fields, links, extra_fields, changed_ms from market_records order by kind, id'
  const lists = 'select * from market_list order by kind, id'
  const versions = await readVersionsAfter(ingest, { after: 0, until: 1e6 }, 1e6, {}, 1e6)
  const drift = await ingest.all('select * from market_drift order by kind, field, problem')
  return [await ingest.all(sql), await ingest.all(lists), versions, drift, await listDocuments(ingest)]
}

for (const seed of seedsOf(40, 4)) {
  test(`the same history as without knowledge, with two writers and a third (seed ${seed})`, async () => {
    const draws = createSeededRandom(`known ${seed}`)
    await using plain = await openContext()
    await using context = await openContext()
    const writers = [1, 2].map(() => {
      const known = new KnownRecords()
      return { known, forms: new SourceForms(known) }
    })
    let recognized = 0
    for (let step = 0; step < 60; step++) {
      plain.clock.advance(1000)
      context.clock.advance(1000)
      const nowMs = context.clock.now()
      const sources = Array.from({ length: draws.whole(1, 4) }, () => drawSource(draws, nowMs))
      const records = () => sources.flatMap(([kind, value]) => decompose(structuredClone(value), kind, renames))
      await plain.ingest.write((tx) => putMarkets(tx, records(), nowMs))
      if (draws.happens(0.1)) {
        await context.ingest.write((tx) => putMarkets(tx, records(), nowMs))
        continue
      }
      const { known, forms } = draws.pick(writers)
      const acceptor = new RecordAcceptor(known)
      const accepted = sources.map(([kind, source]) => {
        const value = structuredClone(source)
        return forms.accept('feed', kind, names, value, acceptor, () => decompose(value, kind, renames))
      })
      recognized += accepted.filter((one) => one.accepted.some(({ fast }) => fast)).length
      // Of the last run of a write that was repeated, nothing is learned if it fails.
      const write = (isLost: boolean) =>
        context.ingest.write(async (tx) => {
          const report = await putAccepted(tx, accepted, nowMs, { known })
          if (isLost) throw new Error('lost')
          return report
        })
      if (draws.happens(0.1)) await assert.rejects(write(true), /lost/)
      ;(await write(false)).learn()
    }
    assert.deepEqual(await leftBy(context), await leftBy(plain))
    assert.ok(recognized > 5, `${recognized} source records were recognized`)
  })
}
