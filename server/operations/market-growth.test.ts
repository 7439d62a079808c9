// The finding about the history of markets, from versions of a known number, size and age.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { storeDiagnoses } from './doctor.ts'
import { marketGrowthFindings } from './market-growth.ts'

const hourMs = 3_600_000
const feeds = [{ id: 'main', url: 'http://127.0.0.1:9/markets' }]

/** Each version takes 1 000 bytes with its row. */
async function withVersions(count: number, lastsMs: number, keptDays = 365): Promise<TestContext> {
  const history = keptDays === Number.POSITIVE_INFINITY ? { keep: 'forever' } : { keptDays }
  const context = await openContext({ markets: { feeds, history } })
  const rows = Array.from({ length: count }, (_, at) => [
    ...[at + 1, testNowMs - lastsMs + Math.round((at * lastsMs) / (count - 1))],
    ...['market', '1', 'changed', JSON.stringify('x'.repeat(888))],
  ])
  const columns = ['seq', 'at_ms', 'kind', 'id', 'change_type', 'diff']
  await context.ingest.write(async (tx) => {
    await tx.insertMany('market_versions', columns, rows)
    await tx.run('update market_revision set seq = ?, at_ms = ?', count, testNowMs)
  })
  return context
}

const findingOf = async (context: TestContext, freeBytes?: number) => {
  const [finding] = await marketGrowthFindings(context, async () => freeBytes)
  return finding && `${finding.level}: ${finding.message}${finding.todo ? ` → ${finding.todo}` : ''}`
}

test('a disk that is full in less than 30 days is a warning with a history that fits', async () => {
  // 5 000 versions of 1 000 bytes in two hours are 60 MB a day.
  await using context = await withVersions(5000, 2 * hourMs)
  assert.equal(
    await findingOf(context, 1.2e9),
    'warn: grows by 60 MB a day; in all 21.9 GB for 365 days; 1.2 GB are free, so the disk is full in 20 days → set markets.history.keptDays to at most 10, use a larger disk, or read the feeds less often (markets.feeds[].everyMs, fullEveryMs)',
  )
  assert.equal(
    await findingOf(context, 1.9e9),
    'ok: grows by 60 MB a day; in all 21.9 GB for 365 days; 1.9 GB are free',
  )
  assert.equal(await findingOf(context), 'ok: grows by 60 MB a day; in all 21.9 GB for 365 days', 'on another machine')
})

test('a history that reaches its age before the disk is full is no warning', async () => {
  await using ends = await withVersions(5000, 2 * hourMs, 10)
  assert.equal(await findingOf(ends, 1.2e9), 'ok: grows by 60 MB a day; in all 0.6 GB for 10 days; 1.2 GB are free')
  await using full = await withVersions(5000, 24 * hourMs, 1)
  assert.equal(await findingOf(full, 1), 'ok: 5 MB a day are added and deleted; in all 5 MB for 1 day')
  await using endless = await withVersions(5000, 2 * hourMs, Number.POSITIVE_INFINITY)
  assert.match(
    (await findingOf(endless, 1.2e9)) ?? '',
    /^warn: grows by 60 MB a day; 1\.2 GB are free, so the disk is full/,
  )
})

test('the doctor reports it, from the disk of the database; not before an hour, and not without feeds', async () => {
  await using context = await withVersions(5000, 2 * hourMs)
  const finding = (await storeDiagnoses(context, 0)).find(({ name }) => name === 'history of markets')
  assert.match(finding?.message ?? '', /^grows by 60 MB a day; in all 21\.9 GB for 365 days/)
  if (context.ingest.engine === 'sqlite') assert.match(finding?.message ?? '', /are free/)
  await using young = await withVersions(5000, hourMs - 1)
  assert.match((await findingOf(young)) ?? '', /^ok: less than an hour is stored/)
  await using plain = await openContext()
  assert.deepEqual(await marketGrowthFindings(plain), [])
})
