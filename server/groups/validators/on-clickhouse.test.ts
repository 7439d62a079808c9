// Ratings with the facts on ClickHouse: the same bytes as from DuckDB, for any question, over the same networks; and the tests of how
// duties enter the store once more.
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { type Network, networks } from '#api/wire/validators.ts'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import { systemClock } from '#io/clock.ts'
import { chance } from '#sim/chance.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { type ClickhouseServer, noClickhouse, startClickhouse } from '#test/clickhouse.ts'
import { openDesk, type TestDesk } from '#test/desk.ts'
import { everyRow } from '#test/facts-rows.ts'
import { onlyInLongRun } from '#test/long.ts'
import { actOut, castOf } from '#test/validators-acting.ts'
import { ask, register } from '#test/validators-world.ts'
import { aggregateEffectiveness } from './aggregate-effectiveness.ts'
import { writeDuties } from './duties.ts'
import { effectiveness } from './effectiveness.ts'
import { withChainTimes } from './ingest/chain.ts'
import { followerOf } from './ingest/start.ts'

const never = new AbortController().signal

// Days of 24 h, of 26 h 40 min, and shorter than a UTC day.
const clocks: Record<Network, ChainTime> = {
  mainnet: { genesisUnix: 1_767_184_000, slotSeconds: 600, slotsPerEpoch: 8, epochsPerHour: 3, epochsPerDay: 18 },
  hoodi: { genesisUnix: 1_767_230_000, slotSeconds: 600, slotsPerEpoch: 8, epochsPerHour: 4, epochsPerDay: 20 },
  holesky: { genesisUnix: 1_767_200_123, slotSeconds: 300, slotsPerEpoch: 8, epochsPerHour: 5, epochsPerDay: 25 },
}
/** Inside hours and days, out of order, and with a hole: days come in parts. */
const readRanges: readonly [number, number][] = [
  [31, 130],
  [200, 300],
  [130, 200],
]
const laterRanges: typeof readRanges = [
  [300, 355],
  [355, 411],
]

const bound = fc.option(fc.nat({ max: 30 }), { nil: undefined })
const place = fc.nat({ max: 10 })
const aggregate = fc.record({
  network: fc.constantFrom(...networks),
  granularity: fc.constantFrom('day', 'week', 'month', 'quarter', 'year', 'all'),
  groupBy: fc.constantFrom('validator', 'timeWindow'),
  filterType: fc.constantFrom('day', 'hour'),
  from: bound,
  to: bound,
  size: fc.integer({ min: 0, max: 40 }),
  places: fc.uniqueArray(place, { minLength: 1, maxLength: 11 }),
})
const single = fc.record({
  network: fc.constantFrom(...networks),
  granularity: fc.constantFrom('hour', 'day', 'week', 'month', 'quarter', 'year', 'all'),
  utc: fc.boolean(),
  place,
  fromDay: bound,
  limit: fc.integer({ min: 1, max: 120 }),
  offset: fc.nat({ max: 20 }),
  sortBy: fc.constantFrom(
    undefined,
    'hour',
    'day',
    'startEpoch',
    'uptime',
    'validatorEffectiveness',
    'avgInclusionDelay',
  ),
  sortOrder: fc.constantFrom('asc', 'desc'),
})

describe('ratings on ClickHouse', { skip: noClickhouse || onlyInLongRun }, () => {
  let server: ClickhouseServer
  before(async () => {
    server = await startClickhouse()
  })
  after(() => server?.[Symbol.asyncDispose]())

  test('4.5 and 4.6 answer with the same bytes as on DuckDB, before and after tidying', async () => {
    await using near = await openDesk({ validators: { networks: clocks } })
    await using far = await openDesk({ validators: { networks: clocks }, store: { facts: await server.database() } })
    assert.deepEqual([near.facts.engine, far.facts.engine], ['duckdb', 'clickhouse'])
    const indices = {} as Record<Network, number[]>
    const fillings = networks.map((network) => ({ network, ...filling([near, far], network) }))
    for (const { network, cast, fill } of fillings) {
      indices[network] = cast.map(({ index }) => index)
      await fill(readRanges)
    }
    const compare = async (numRuns: number) => {
      await fc.assert(
        fc.asyncProperty(aggregate, async ({ places, from, to, ...rest }) => {
          const named = places.map((at) => indices[rest.network][at] as number)
          const bounds = { ...(from !== undefined && { from: `${from}` }), ...(to !== undefined && { to: `${to}` }) }
          const asked = { ...rest, indices: named, ...bounds }
          const [one, other] = [near, far].map((desk) => ask(aggregateEffectiveness, desk, asked as never))
          assert.equal(JSON.stringify(await other), JSON.stringify(await one))
        }),
        { numRuns },
      )
      await fc.assert(
        fc.asyncProperty(single, async ({ place, fromDay, sortBy, ...rest }) => {
          const index = String(indices[rest.network][place])
          const more = { ...(fromDay !== undefined && { fromDay }), ...(sortBy && { sortBy }) }
          const asked = { ...rest, ...more, validator_index_or_pubkey: index }
          const [one, other] = [near, far].map((desk) => ask(effectiveness, desk, asked as never))
          assert.equal(JSON.stringify(await other), JSON.stringify(await one))
        }),
        { numRuns },
      )
    }
    await compare(24)
    const parts = 'select count(*) as n from duty_days'
    const [before] = await far.facts.query<{ n: number }>(parts)
    await far.facts.tidy(never)
    const [tidied] = await far.facts.query<{ n: number }>(parts)
    const [unique] = await near.facts.query<{ n: number }>(parts)
    assert((before?.n ?? 0) > (unique?.n ?? 0), 'days came in parts')
    assert.deepEqual(tidied, unique)
    // Now every day is whole; then some are, and later ones come in parts.
    assert.equal(await (await far.facts.now()).partsFrom('duty_days', 'mainnet'), Number.POSITIVE_INFINITY)
    await compare(8)
    for (const { fill } of fillings) await fill(laterRanges)
    const from = await (await far.facts.now()).partsFrom('duty_days', 'mainnet')
    assert(from > 0 && from < Number.POSITIVE_INFINITY, String(from))
    await compare(16)
  })

  /** The same duties, piece by piece in both, and again. */
  function filling(desks: readonly TestDesk[], network: Network) {
    const draws = chance('on clickhouse').fork(network)
    const cast = castOf(draws, 11, { from: 31 as Epoch, until: 411 as Epoch })
    const fill = async (ranges: typeof readRanges) => {
      for (const desk of desks)
        await register(
          desk,
          network,
          cast.map(({ index }) => index),
        )
      for (const [from, until] of ranges) {
        const epochs = { from: from as Epoch, until: until as Epoch }
        const rows = actOut(draws, cast, epochs, network !== 'holesky')
        for (const desk of [...desks, ...desks])
          await writeDuties(desk.facts, { network, time: clocks[network], epochs, rows })
      }
    }
    return { cast, fill }
  }

  test('a network that is ingested from a node that fails again and again has the rows of DuckDB', async () => {
    await using good = await openReplay()
    let count = 0
    await using bad = await openReplay({ meddle: (exchange) => (++count % 23 === 0 ? undefined : exchange) })
    const settingsFor = (url: string, store = {}) => ({
      validators: { networks: { hoodi: { epochsPerHour: 3, epochsPerDay: 6, beacon: { urls: [url], fromEpoch: 2 } } } },
      store,
    })
    await using near = await openDesk(settingsFor(good.url))
    await using far = await openDesk(settingsFor(bad.url, { facts: await server.database() }))
    for (const desk of [near, far]) {
      const settings = await withChainTimes({ ...desk, clock: systemClock })
      const follower = await followerOf({ ...desk, settings, clock: systemClock }, 'hoodi')
      for (
        let tries = 1;
        !(await follower.catchUp(never).then(
          () => true,
          () => false,
        ));
        tries += 1
      )
        assert(tries < 40)
    }
    assert(count > 23)
    const [one, other] = [await everyRow(near.facts), await everyRow(far.facts)]
    const { duty_hours = [], duty_days = [], duty_utc_days = [], ...rest } = one
    assert(duty_hours.length > 100 && duty_days.length > 100)
    const plain = (rows: typeof duty_hours) => rows.map(({ parts: _, ...row }) => row)
    assert.deepEqual(other, {
      duty_hours: plain(duty_hours),
      duty_days: plain(duty_days),
      duty_utc_days: plain(duty_utc_days),
      ...rest,
    })
  })

  test('the endpoints, how duties enter the store, and how ingest survives being killed: all of it holds here as well', async () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const names = [
      'aggregate-effectiveness',
      'effectiveness',
      'metadata',
      'explain',
      'hours',
      'duties',
      'ingest/survival',
    ]
    const files = names.map((name) => join(import.meta.dirname, `${name}.test.ts`))
    const child = spawn(
      process.execPath,
      ['--test', '--test-reporter=tap', '--test-skip-pattern=/^(epoch by epoch|however)/', ...files],
      {
        env: { ...env, TETRAD_TEST_FACTS: server.url },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
    })
    const [code] = await once(child, 'close')
    const failures = said.split('\n').filter((line) => /not ok|error:|expected:|actual:/.test(line))
    assert.equal(code, 0, failures.join('\n'))
    assert.match(said, /# pass [4-9]\d/)
  })
})
