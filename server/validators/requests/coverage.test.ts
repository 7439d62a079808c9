// Cached coverage, and responses that belong to one coverage.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Duties } from '#storage/duties.ts'
import { openContext } from '#test/context.ts'
import { writeEpochs } from '#test/validators-world.ts'
import { networkId } from '../duties/layout.ts'
import { getNetworkCoverage, withStableCoverage } from './coverage.ts'

/** The same database; calls `before` before every read. */
const watching = (duties: Duties, before: () => void): Duties => ({
  ...duties,
  get: async (sql, ...values) => {
    before()
    return duties.get(sql, ...values)
  },
  all: async (sql, ...values) => {
    before()
    return duties.all(sql, ...values)
  },
})

function counting(duties: Duties): { duties: Duties; queryCount: () => number } {
  let queries = 0
  const counted = watching(duties, () => {
    queries += 1
  })
  return { duties: counted, queryCount: () => queries }
}

test('the coverage of a network is read once, and again after the next write', async () => {
  await using context = await openContext()
  const { duties, queryCount } = counting(context.duties)
  const unwatched = { isWatched: false, rangesVersion: undefined }
  assert.deepEqual(await getNetworkCoverage({ ...context, duties }, 'hoodi'), {
    covered: [],
    figures: '0 []',
    ...unwatched,
  })
  const once = queryCount()
  assert(once > 0)
  await Promise.all([
    getNetworkCoverage({ ...context, duties }, 'hoodi'),
    getNetworkCoverage({ ...context, duties }, 'hoodi'),
  ])
  assert.equal(queryCount(), once)
  await writeEpochs(context, 'hoodi', { from: 4, until: 6 }, [])
  assert.deepEqual(await getNetworkCoverage({ ...context, duties }, 'hoodi'), {
    covered: [{ from: 4, until: 6 }],
    figures: '1 [{"from":4,"until":6}]',
    ...unwatched,
  })
  assert.equal(queryCount(), 2 * once)
  assert.deepEqual((await getNetworkCoverage({ ...context, duties }, 'mainnet')).covered, [])
})

test('a watch list that is added later changes the coverage', async () => {
  await using context = await openContext()
  assert.equal((await getNetworkCoverage(context, 'hoodi')).isWatched, false)
  await context.dutiesState.write((tx) => tx.run('insert into watch_ranges values (?, 2, 0, 9)', networkId('hoodi')))
  assert.equal((await getNetworkCoverage(context, 'hoodi')).isWatched, true)
  assert.equal((await getNetworkCoverage(context, 'mainnet')).isWatched, false)
})

test('a read that failed is repeated', async () => {
  await using context = await openContext()
  let fails = true
  const duties = watching(context.duties, () => {
    if (fails) throw new Error('not now')
  })
  await assert.rejects(getNetworkCoverage({ ...context, duties }, 'hoodi'), /not now/)
  fails = false
  assert.deepEqual((await getNetworkCoverage({ ...context, duties }, 'hoodi')).covered, [])
})

test('a response belongs to one coverage: it is read again if an epoch was committed meanwhile', async () => {
  await using context = await openContext()
  await writeEpochs(context, 'hoodi', { from: 0, until: 1 }, [])
  let runs = 0
  const read = async (commits: number) => {
    const { covered } = await getNetworkCoverage(context, 'hoodi')
    runs += 1
    if (runs <= commits) await writeEpochs(context, 'hoodi', { from: runs, until: runs + 1 }, [])
    return covered
  }
  assert.deepEqual(await withStableCoverage(context, 'hoodi', () => read(2)), [{ from: 0, until: 3 }])
  assert.equal(runs, 3)
  // Epochs of another network do not matter, and the number of attempts is limited.
  runs = 0
  await withStableCoverage(context, 'mainnet', () => read(0))
  assert.equal(runs, 1)
  runs = 10
  await withStableCoverage(context, 'hoodi', () => read(100))
  assert.equal(runs, 15)
})

test('a response is read again if the past of an added validator was committed meanwhile', async () => {
  await using context = await openContext()
  const write = (...ranges: [number, number][]) =>
    context.dutiesState.write(async (tx) => {
      await tx.run('delete from watch_ranges')
      for (const range of ranges)
        await tx.run('insert into watch_ranges values (?, 2, ?, ?)', networkId('hoodi'), ...range)
    })
  await write([7, 9])
  let runs = 0
  await withStableCoverage(context, 'hoodi', async () => {
    runs += 1
    if (runs === 1) await write([5, 7], [7, 9])
    if (runs === 2) await write([3, 7], [7, 9])
  })
  assert.equal(runs, 3)
})
