// Duties on PostgreSQL: the same responses as on SQLite, byte for byte, for random requests. It also runs the tests of
// the duties folder on PostgreSQL.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { type Network, networks } from '#api/contract/wire/validators.ts'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import { systemClock } from '#runtime/clock.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import type { Duties } from '#storage/duties.ts'
import { openDuties, openState } from '#storage/open.ts'
import { stateWith } from '#test/authorization.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { isLongRun } from '#test/long.ts'
import { openFollower } from '#test/open-follower.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { everythingStored } from '#test/stored-duties.ts'
import { passOnPostgres } from '#test/tests-on-postgres.ts'
import { drawDuties, drawValidators } from '#test/validators-acting.ts'
import { callHandler, perfect, register, writeEpochs } from '#test/validators-world.ts'
import { plainTime } from './duties/layout.ts'
import { dutiesOnThisThread } from './duties/store.ts'
import { aggregateEffectiveness } from './endpoints/aggregate-effectiveness.ts'
import { effectiveness } from './endpoints/effectiveness.ts'
import { withChainTimes } from './ingest/read/chain-identity.ts'

const never = new AbortController().signal

// Days of 24 h, of 26 h 40 min, and shorter than a UTC day.
const clocks: Record<Network, ChainTime> = {
  mainnet: { genesisUnix: 1_767_184_000, slotSeconds: 600, slotsPerEpoch: 8, epochsPerHour: 3, epochsPerDay: 18 },
  hoodi: { genesisUnix: 1_767_230_000, slotSeconds: 600, slotsPerEpoch: 8, epochsPerHour: 4, epochsPerDay: 20 },
  holesky: { genesisUnix: 1_767_200_123, slotSeconds: 300, slotsPerEpoch: 8, epochsPerHour: 5, epochsPerDay: 25 },
}
/** Ranges that start inside hours and days, out of order, and with a gap. */
const readRanges: readonly [number, number][] = [
  [31, 130],
  [200, 300],
  [130, 180],
]
const laterRanges: typeof readRanges = [
  [180, 200],
  [300, 411],
]

const bound = fc.option(fc.nat({ max: 30 }), { nil: undefined })
const pageNumber = fc.nat({ max: 10 })
const aggregate = fc.record({
  network: fc.constantFrom(...networks),
  granularity: fc.constantFrom('day', 'week', 'month', 'quarter', 'year', 'all'),
  groupBy: fc.constantFrom('validator', 'timeWindow'),
  filterType: fc.constantFrom('day', 'hour'),
  from: bound,
  to: bound,
  size: fc.integer({ min: 0, max: 40 }),
  positions: fc.uniqueArray(pageNumber, { minLength: 1, maxLength: 11 }),
})
const single = fc.record({
  network: fc.constantFrom(...networks),
  granularity: fc.constantFrom('hour', 'day', 'week', 'month', 'quarter', 'year', 'all'),
  utc: fc.boolean(),
  position: pageNumber,
  fromDay: bound,
  limit: fc.integer({ min: 1, max: 120 }),
  offset: fc.nat({ max: 20 }),
  sortBy: fc.constantFrom(undefined, 'hour', 'day', 'startEpoch', 'uptime', 'validatorEffectiveness'),
  sortOrder: fc.constantFrom('asc', 'desc'),
})

describe('ratings on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  /** A context with all databases on PostgreSQL. */
  async function openShared(overrides: object): Promise<TestContext> {
    const context = await openContext(overrides)
    const url = await server.schema()
    const [state, dutiesState] = [await openState('', { state: url }), await openDuties('', { state: url })]
    return {
      ...context,
      state,
      ingest: state,
      dutiesState,
      duties: dutiesOnThisThread(dutiesState),
      async [Symbol.asyncDispose]() {
        await dutiesState.close()
        await state.close()
        await context[Symbol.asyncDispose]()
      },
    }
  }

  test('4.5 and 4.6 return the same bytes as on SQLite, before and after days are merged', async () => {
    await using onSqlite = await openContext({ validators: { networks: clocks } })
    await using onPostgres = await openShared({ validators: { networks: clocks } })
    const contexts = [onSqlite, onPostgres]
    assert.deepEqual([onSqlite.duties.engine, onPostgres.duties.engine], [onSqlite.state.engine, 'postgres'])
    const indices = {} as Record<Network, number[]>
    const fillings = networks.map((network) => ({ network, ...filling(contexts, network) }))
    for (const { network, cast, fill } of fillings) {
      indices[network] = cast.map(({ index }) => index)
      for (const context of contexts) await register(context, network, indices[network])
      await fill(readRanges)
    }
    const compare = async (numRuns: number) => {
      await fc.assert(
        fc.asyncProperty(aggregate, async ({ positions, from, to, ...rest }) => {
          const named = positions.map((at) => indices[rest.network][at] as number)
          const bounds = { ...(from !== undefined && { from: `${from}` }), ...(to !== undefined && { to: `${to}` }) }
          const input = { ...rest, indices: named, ...bounds }
          const [one, other] = contexts.map((context) => callHandler(aggregateEffectiveness, context, input as never))
          assert.equal(JSON.stringify(await other), JSON.stringify(await one))
        }),
        { numRuns },
      )
      await fc.assert(
        fc.asyncProperty(single, async ({ position, fromDay, sortBy, ...rest }) => {
          const index = String(indices[rest.network][position])
          const more = { ...(fromDay !== undefined && { fromDay }), ...(sortBy && { sortBy }) }
          const input = { ...rest, ...more, validator_index_or_pubkey: index }
          const [one, other] = contexts.map((context) => callHandler(effectiveness, context, input as never))
          assert.equal(JSON.stringify(await other), JSON.stringify(await one))
        }),
        { numRuns },
      )
    }
    await compare(12)
    const merge = (until: number) =>
      Promise.all(
        contexts.map(async ({ duties }) => {
          let spans = 0
          for (const network of networks)
            spans += await duties.update(
              'mergeSpans',
              { network, time: plainTime(clocks[network]), until },
              { signal: never },
            )
          return spans
        }),
      )
    const [one = 0, other] = await merge(300)
    assert.ok(one > 0)
    assert.equal(other, one)
    await compare(6)
    // Fill the gaps and merge again.
    for (const { fill } of fillings) await fill(laterRanges)
    await merge(411)
    await compare(12)
    assert.deepEqual(await everythingStored(onPostgres), await everythingStored(onSqlite))
  })

  /** The same duties in all of them. */
  function filling(contexts: readonly TestContext[], network: Network) {
    const draws = createSeededRandom('on postgres').fork(network)
    const cast = drawValidators(draws, 11, { from: 31 as Epoch, until: 411 as Epoch })
    const fill = async (ranges: typeof readRanges) => {
      for (const [from, until] of ranges) {
        const epochs = { from: from as Epoch, until: until as Epoch }
        const rows = drawDuties(draws, cast, epochs, network !== 'holesky')
        for (const context of contexts) await writeEpochs(context, network, epochs, rows)
      }
    }
    return { cast, fill }
  }

  test('a network that is read from a failing node has the same rows as on SQLite', async () => {
    await using good = await openReplay()
    let count = 0
    await using bad = await openReplay({ meddle: (exchange) => (++count % 23 === 0 ? undefined : exchange) })
    const settingsFor = (url: string) => ({
      validators: { networks: { hoodi: { epochsPerHour: 3, epochsPerDay: 6, beacon: { urls: [url], fromEpoch: 2 } } } },
    })
    await using onSqlite = await openContext(settingsFor(good.url))
    await using onPostgres = await openShared(settingsFor(bad.url))
    for (const context of [onSqlite, onPostgres]) {
      const settings = await withChainTimes({ ...context, clock: systemClock })
      const follower = await openFollower({ ...context, settings, clock: systemClock }, 'hoodi')
      const isDone = () =>
        follower.catchUp(never).then(
          () => true,
          () => false,
        )
      for (let tries = 1; !(await isDone()); tries += 1) assert(tries < 40)
    }
    assert(count > 23)
    const stored = await everythingStored(onSqlite)
    assert.ok(JSON.stringify(stored).length > 10_000)
    assert.deepEqual(await everythingStored(onPostgres), stored)
  })

  test('the tests of storing, merging and reading duties and the registry pass', async () => {
    const quick = [
      'duties/commit',
      'duties/hours',
      'duties/missed',
      'duties/networks',
      'duties/stored-formats',
      'duties/watch-ranges',
      'entities/registries/lido',
      'entities/registries/registries',
      'ingest/network-summary',
      'registry/sync-registry',
    ]
    // These run many seeds, or kill a process at many points. The SQL of explanations is that of `duties/missed`.
    const long = [
      'extensions/explain/explain',
      'duties/merge',
      'duties/list-records',
      'duties/daily-summaries',
      'endpoints/ratings',
      'ingest/survival',
      'ingest/past/fill-past',
    ]
    const slow = /epochs in any order and division|of a simulated network/
    const names = [...quick, ...(isLongRun ? long : [])].map((name) => `validators/${name}`)
    await passOnPostgres(server.url, names, isLongRun ? undefined : slow)
  })

  test('sums of few validators are read with one statement, of many in one snapshot', async () => {
    await using onSqlite = await openContext({ validators: { networks: clocks } })
    await using onPostgres = await openShared({ validators: { networks: clocks } })
    const time = plainTime(clocks.mainnet)
    const all = Array.from({ length: 257 }, (_, at) => at * 3)
    const epochs = { from: 0 as Epoch, until: 200 as Epoch }
    const rows = [0, 20, 41, 60, 90, 110, 150, 199].flatMap((epoch) =>
      all.map((validator) => ({ ...perfect, epoch, validator, earnings: epoch * 1000 + validator })),
    )
    for (const context of [onSqlite, onPostgres]) await writeEpochs(context, 'mainnet', epochs, rows)
    const reads: string[] = []
    const counting = stateWith(onPostgres.dutiesState, {
      all: (sql, ...values) => {
        reads.push('statement')
        return onPostgres.dutiesState.all(sql, ...values)
      },
      snapshot: (work, signal) => {
        reads.push('snapshot')
        return onPostgres.dutiesState.snapshot(work, signal)
      },
    })
    const sum = (duties: Duties, validators: readonly number[]) =>
      duties.query('sumRecords', {
        query: {
          ...({ network: 'mainnet', time, isUtc: false, grain: 'days', byValidator: true, validators } as const),
          ...{ days: { from: 1, until: 11 }, windowOfDay: Array.from({ length: 10 }, (_, day) => day) },
        },
        wanted: { measures: ['earnings', 'included'], scores: ['validator'] },
      })
    const [few, many] = [await sum(onSqlite.duties, all.slice(0, 9)), await sum(onSqlite.duties, all)]
    assert(few.window.length > 9)
    for (const isMerged of [false, true]) {
      if (isMerged)
        assert(
          await onPostgres.duties.update('mergeSpans', { network: 'mainnet', time, until: 200 }, { signal: never }),
        )
      reads.splice(0)
      assert.deepEqual(await sum(dutiesOnThisThread(counting), all.slice(0, 9)), few)
      assert.deepEqual(reads, ['statement'])
      reads.splice(0)
      assert.deepEqual(await sum(dutiesOnThisThread(counting), all), many)
      assert.deepEqual(reads, ['snapshot'])
    }
  })

  test('if connections break while epochs are written, each epoch is counted once', async () => {
    await using onSqlite = await openContext({ validators: { networks: clocks } })
    await using onPostgres = await openShared({ validators: { networks: clocks } })
    const cut = () =>
      server.sql(
        `select pg_terminate_backend(pid)::int as ended from pg_stat_activity
         where application_name = 'tetrad' and state <> 'idle' and pid <> pg_backend_pid()`,
      )
    let moment: 'before the work' | 'after the work' | 'with the commit' | undefined
    let runs = 0
    const cuts: Promise<unknown>[] = []
    const cutting = stateWith(onPostgres.dutiesState, {
      write: (work, options) =>
        onPostgres.dutiesState.write(async (tx) => {
          const now = moment
          moment = undefined
          runs += 1
          if (now === 'before the work') await cut()
          const result = await work(tx)
          if (now === 'after the work') await cut()
          if (now === 'with the commit') cuts.push(cut())
          return result
        }, options),
    })
    const draws = createSeededRandom('cut')
    const cast = drawValidators(draws, 5, { from: 0 as Epoch, until: 36 as Epoch })
    const moments = ['before the work', 'after the work', 'with the commit'] as const
    for (let from = 0; from < 36; from += 3) {
      const epochs = { from: from as Epoch, until: (from + 3) as Epoch }
      const rows = drawDuties(draws, cast, epochs, true)
      await writeEpochs(onSqlite, 'hoodi', epochs, rows)
      moment = moments[(from / 3) % moments.length]
      const written = await writeEpochs({ ...onPostgres, duties: dutiesOnThisThread(cutting) }, 'hoodi', epochs, rows)
      assert.deepEqual(written, [epochs])
      // A late disconnect must not affect the next one.
      await Promise.all(cuts)
    }
    assert.ok(runs >= 20, `12 commits ran ${runs} times`)
    assert.deepEqual(await everythingStored(onPostgres), await everythingStored(onSqlite))
  })
})
