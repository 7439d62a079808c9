import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hrefOf } from '../../route.ts'
import { boundsOf, parseView, periodOf, queryOf, zoomInto } from './view.ts'

const view = (text = '') => parseView(new URLSearchParams(text))

test('parsing the query of a view returns the same view', () => {
  for (const text of [
    'network=mainnet',
    'network=hoodi&granularity=week&days=utc&last=365&plot=delay&day=2174',
    'network=holesky&granularity=hour&from=2026-09-01&to=2026-09-30',
  ])
    assert.equal(hrefOf('validators', [], queryOf(view(text))), `/validators?${text}`)
})

test('invalid values in the query are replaced by defaults', () => {
  assert.deepEqual(
    view('network=Moon&granularity=minute&days=martian&last=8&from=yesterday&to=2026-13-40&plot=all&day=-1'),
    view(),
  )
  assert.equal(view().network, 'mainnet')
})

test('the last n days end with the day of the newest record', () => {
  const of = (text: string) => boundsOf(view(text), '2026-11-14')
  assert.deepEqual(of('last=7'), { fromDate: '2026-11-08' })
  assert.deepEqual(of('last=30'), { fromDate: '2026-10-16' })
  assert.deepEqual(of('last=all'), {})
})

test('every part of a page has the same period: 30 days, or what the address names', () => {
  assert.deepEqual(boundsOf(view(), '2026-11-14'), { fromDate: '2026-10-16' })
  assert.deepEqual(
    ['', 'last=7', 'last=30', 'last=90'].map((text) => periodOf(view(text))),
    [...['month', 'week', 'month', 'quarter']],
  )
})

test('dates take precedence over a number of days; one may be missing, and their order does not matter', () => {
  const of = (text: string) => boundsOf(view(text), '2026-11-14')
  assert.deepEqual(of('last=7&from=2026-09-01'), { fromDate: '2026-09-01' })
  assert.deepEqual(of('to=2026-09-30'), { toDate: '2026-09-30' })
  assert.deepEqual(of('from=2026-09-30&to=2026-09-01'), { fromDate: '2026-09-01', toDate: '2026-09-30' })
})

test('zooming into an hour or a day opens the day; into anything longer, its days', () => {
  const window = { startDay: 2100, startDate: '2026-09-01', endDate: '2026-09-30' }
  assert.equal(zoomInto(view('granularity=hour'), window).day, 2100)
  assert.equal(zoomInto(view('granularity=day'), window).day, 2100)
  const days = zoomInto(view('granularity=month&day=3&last=all'), window)
  assert.deepEqual([days.granularity, days.from, days.to, days.day], ['day', '2026-09-01', '2026-09-30', undefined])
  assert.equal(zoomInto(view('granularity=year'), window).granularity, 'month')
})
