import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateWith } from '#test/authorization.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { serveScript } from '#test/scripted-server.ts'
import { putMarkets } from '../write/put-markets.ts'
import { startMarkets } from './start-markets.ts'

test('writing deferred documents is retried after a failure, and feeds are read meanwhile', async () => {
  await using server = await serveScript({ body: [{ id: '2', slug: 'two' }] }, { body: [] })
  const paging = { kind: 'offset', size: 2, overlap: 0 }
  await using context = await openContext({
    markets: { feeds: [{ id: 'main', url: server.url, perSecond: 10, paging }] },
  })
  await context.ingest.write((tx) =>
    putMarkets(tx, [{ kind: 'market', id: '1', fields: { slug: 'one' } }], testNowMs, { isDeferred: true }),
  )
  let isFull = true
  let failed = 0
  const state = stateWith(context.ingest, {
    get: async (sql, ...values) => {
      if (isFull && sql.includes('market_deferred_documents')) {
        failed += 1
        throw new Error('the disk is full')
      }
      return context.ingest.get(sql, ...values)
    },
  })
  const slugs = async () =>
    (await context.ingest.all<{ slug: string }>('select slug from market_documents order by slug')).map(
      ({ slug }) => slug,
    )
  const stop = new AbortController()
  const reports: string[] = []
  const loops = startMarkets({ ...context, ingest: state }, stop.signal, ({ is }) => reports.push(is))
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    for (let tries = 0; !(await isSo()); tries++) {
      assert.ok(tries < 5000, 'in time')
      await new Promise((resolve) => setTimeout(resolve, 1))
      context.clock.advance(100)
    }
  }
  await until(() => failed > 2 && reports.includes('page'))
  assert.deepEqual(await slugs(), [])
  isFull = false
  await until(async () => (await slugs()).length === 2)
  stop.abort()
  await loops
  assert.deepEqual(await slugs(), ['one', 'two'])
})
