import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundsOf, closer, parseView, queryOf } from './view.ts'

const look = (text = '') => parseView(new URLSearchParams(text))

test('an address says how validators are looked at, and a look makes that address again', () => {
  for (const text of [
    'network=mainnet',
    'network=hoodi&by=week&days=utc&last=365&show=delay&money=penalties&day=2174',
    'network=holesky&by=hour&from=2026-09-01&to=2026-09-30',
  ])
    assert.equal(new URLSearchParams(queryOf(look(text))).toString(), text)
})

test('what an address says wrongly is as usual', () => {
  assert.deepEqual(
    look('network=moon&by=minute&days=martian&last=8&from=yesterday&to=2026-13-40&show=all&money=lent&day=-1'),
    look(),
  )
  assert.equal(look().network, 'mainnet')
})

test('days are counted back from the newest record, which is one of them', () => {
  const of = (text: string) => boundsOf(look(text), '2026-11-14')
  assert.deepEqual(of('last=7'), { fromDate: '2026-11-08' })
  assert.deepEqual(of('last=30'), { fromDate: '2026-10-16' })
  assert.deepEqual(of('last=all'), {})
})

test('dates go before a number of days, one of them may be missing, and either order is right', () => {
  const of = (text: string) => boundsOf(look(text), '2026-11-14')
  assert.deepEqual(of('last=7&from=2026-09-01'), { fromDate: '2026-09-01' })
  assert.deepEqual(of('to=2026-09-30'), { toDate: '2026-09-30' })
  assert.deepEqual(of('from=2026-09-30&to=2026-09-01'), { fromDate: '2026-09-01', toDate: '2026-09-30' })
})

test('a window that is picked leads to its day, or to its own days', () => {
  const window = { startDay: 2100, startDate: '2026-09-01', endDate: '2026-09-30' }
  assert.equal(closer(look('by=hour'), window).day, 2100)
  assert.equal(closer(look('by=day'), window).day, 2100)
  const days = closer(look('by=month&day=3&last=all'), window)
  assert.deepEqual([days.grain, days.from, days.to, days.day], ['day', '2026-09-01', '2026-09-30', undefined])
  assert.equal(closer(look('by=year'), window).grain, 'month')
})
