import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { openContext } from '#test/context.ts'
import { parseFeedPage } from '../feeds/feed-page.ts'
import { putMarkets } from '../write/put-markets.ts'
import { sourceMs } from './source-time.ts'

// A time zone far from UTC, so that a wrong interpretation shows.
process.env.TZ = 'Asia/Tokyo'
assert.notEqual(new Date(0).getTimezoneOffset(), 0)

const noonMs = Date.UTC(2026, 10, 15, 12)

test('a time without a zone is UTC; zones of whole hours and plain dates are accepted, other texts are not', () => {
  for (const text of ['2026-11-15T12:00:00', '2026-11-15 12:00:00', '2026-11-15T12:00', '2026-11-15T12:00:00Z']) {
    assert.equal(sourceMs(text), noonMs, text)
  }
  for (const text of ['2026-11-15 12:00:00+00', '2026-11-15T21:00:00+09', '2026-11-15T21:00:00.000+09:00']) {
    assert.equal(sourceMs(text), noonMs, text)
  }
  assert.equal(sourceMs('2026-11-15'), Date.UTC(2026, 10, 15))
  for (const other of ['', 'Nov 15, 2026', '15/11/2026', '2026-02-30', '1763208000', 1763208000, null, undefined]) {
    assert.equal(sourceMs(other), undefined, String(other))
  }
})

test('which of two versions is newer does not depend on the time zone of the machine', async () => {
  await using context = await openContext()
  const state = (bestBid: number, updatedAt: string) =>
    context.ingest.write((tx) =>
      putMarkets(tx, [{ kind: 'market', id: '1', fields: { slug: 'm', bestBid, updatedAt } }], context.clock.now()),
    )
  await state(0.1, '2026-11-15T11:00:00Z')
  const { changed, stale } = await state(0.2, '2026-11-15T12:00:00')
  assert.deepEqual([changed, stale], [1, 0])
  assert.equal((await state(0.3, '2026-11-15T11:30:00Z')).stale, 1)
})

test('readUntilMs does not depend on the time zone of the machine', async () => {
  await using context = await openContext({ markets: { feeds: [{ id: 'main', url: 'http://feed.test' }] } })
  const [feed] = context.settings.markets.feeds as [MarketFeed]
  const page = parseFeedPage([{ updatedAt: '2026-11-15T12:00:00' }, { updatedAt: '2026-11-15T11:00:00Z' }], feed, '')
  assert.equal(page.newestMs, noonMs)
})
