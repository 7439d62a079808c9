import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateWith } from '#test/authorization.ts'
import { openContext } from '#test/context.ts'
import { Renames } from '../records/decompose.ts'
import { importMarkets } from './import-markets.ts'

test('a transaction of an import has about 100 markets', async () => {
  await using context = await openContext()
  const countMarkets = async () =>
    (await context.ingest.get<{ n: number }>("select count(*) as n from market_records where kind = 'market'"))?.n ?? 0
  const sizes: number[] = []
  const state = stateWith(context.ingest, {
    write: async (work, options) => {
      const before = await countMarkets()
      const result = await context.ingest.write(work, options)
      sizes.push((await countMarkets()) - before)
      return result
    },
  })
  async function* records() {
    for (let id = 0; id < 430; id++) {
      yield { line: id + 1, text: JSON.stringify({ id: String(id), slug: `m-${id}`, question: 'Open?', active: true }) }
    }
  }
  const clock = setInterval(() => context.clock.advance(10), 1)
  const options = { kind: 'market', renames: new Renames({}), source: 'test', file: 'f', onReject: () => {} } as const
  const { changed } = await importMarkets({ ...context, ingest: state }, records(), options).finally(() =>
    clearInterval(clock),
  )
  assert.equal(changed, 430)
  assert.deepEqual(
    sizes.filter((size) => size > 0),
    [100, 100, 100, 100, 30],
  )
})
