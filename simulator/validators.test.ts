// The validators of the demo: ingest reads every figure of the simulated nodes correctly, the endpoints show the incidents, and
// new epochs appear with time.
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type AggregateRecord, aggregateFields, type Network } from '#api/contract/wire/validators.ts'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { trail } from '#explorer/extensions/trail/trail.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { openContext, settingsWith, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { loadDemoExplorer } from '#test/load-demo.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { openFollower } from '#test/open-follower.ts'
import { simulateScenario } from '#test/simulator/simulate-network.ts'
import { storedRows } from '#test/stored-duties.ts'
import { truthMeasures } from '#test/truth-measures.ts'
import { callHandler } from '#test/validators-world.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { networkId } from '#validators/duties/layout.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { aggregateEffectiveness } from '#validators/endpoints/aggregate-effectiveness.ts'
import { effectiveness } from '#validators/endpoints/effectiveness.ts'
import { metadata } from '#validators/endpoints/metadata.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import type { Measure } from '#validators/method/measures.ts'
import type { Truth } from './beacon/truth.ts'
import { demoSeed } from './demo-seed.ts'
import { demoAccounts, demoChains } from './explorer/chains.ts'
import { openDemoNodes } from './nodes.ts'
import { daysBefore, epochsPerDay, hoodiScenario, mainnetScenario, roles } from './validators/behaviour.ts'
import { configuredPool } from './validators/entities.ts'
import { lidoModule, registryPools } from './validators/registries.ts'
import {
  type DemoValidators,
  type LoadOptions,
  loadedShare,
  startDemoValidators,
  validatorSamples,
} from './validators.ts'

// The tests' present is at noon, when a chain day ends; three epochs more are needed to make the last one final.
const finalEpochs = { mainnet: daysBefore * epochsPerDay - 3, hoodi: 42 } as const
const epochMs = { mainnet: 6 * 3_600_000, hoodi: 240_000 } as const

type Progress = Parameters<NonNullable<LoadOptions['onEpochs']>>

async function openScene(
  clock: ManualClock,
  onEpochs: (...progress: Progress) => void,
): Promise<{ demo: DemoValidators; context: TestContext }> {
  const demo = await startDemoValidators(demoSeed, await openDemoNodes(demoSeed, clock))
  const plain = { ...(await openContext(demo.settings)), clock }
  await demo.load(plain, { onEpochs })
  return { demo, context: { ...plain, settings: await withChainTimes(plain) } }
}

const daysOf = (context: TestContext, network: Network) => storedRows(context, network, 'days')

/** Every measure of every validator and chain day, as simulated. */
function sumByDay(truth: Truth, until: number, perDay: number): Map<string, Partial<Record<Measure, number>>> {
  const sums = new Map<string, Partial<Record<Measure, number>>>()
  for (let epoch = 0; epoch < until; epoch++) {
    for (const [validator, row] of truth.rows(epoch)) {
      const key = `${Math.floor(epoch / perDay)} ${validator}`
      const sum = sums.get(key) ?? {}
      for (const name of truthMeasures) if (row[name]) sum[name] = (sum[name] ?? 0) + row[name]
      sums.set(key, sum)
    }
  }
  return sums
}

/** Field → it has a value somewhere, it is null somewhere. */
function seen(records: readonly object[]): Map<string, { value: boolean; none: boolean }> {
  const fields = new Map<string, { value: boolean; none: boolean }>()
  for (const [name, value] of records.flatMap((record) => Object.entries(record))) {
    const field = fields.get(name) ?? { value: false, none: false }
    const isNone = value === null || (Array.isArray(value) && value.length === 0)
    fields.set(name, { value: field.value || !isNone, none: field.none || isNone })
  }
  return fields
}

describe('validators of the demo', () => {
  const clock = new ManualClock(testNowMs)
  let demo: DemoValidators
  let context: TestContext
  const reported: Progress[] = []
  /** The same chain with its expected figures. */
  let mainnet: ReturnType<typeof simulateScenario>
  before(async () => {
    ;({ demo, context } = await openScene(clock, (...progress) => reported.push(progress)))
    mainnet = simulateScenario(mainnetScenario(demoSeed, demoAccounts(demoSeed)), finalEpochs.mainnet + 3)
  })
  after(async () => {
    await demo.close()
    await context[Symbol.asyncDispose]()
  })

  const dayOf = async (index: number, day: number) => {
    const input = { validator_index_or_pubkey: String(index), fromDay: day, toDay: day }
    return (await callHandler(effectiveness, context, input)).body.results[0]
  }
  const sumsOf = async (index: number, fromDay: number, toDay = fromDay) => {
    const bounds = { from: String(fromDay), to: String(toDay), size: 100 } as const
    const { data } = (await callHandler(aggregateEffectiveness, context, { indices: [index], ...bounds })).body
    return (name: keyof AggregateRecord) => data.reduce((sum, record) => sum + Number(record[name] ?? 0), 0)
  }

  test('the load reports its progress, up to the last epoch of both networks', () => {
    const total = finalEpochs.mainnet + finalEpochs.hoodi
    assert.ok(reported.length > 10)
    assert.deepEqual(
      reported.map(([read]) => read),
      reported.map(([read]) => read).toSorted((one, other) => one - other),
    )
    assert.deepEqual(reported.at(-1), [total, total])
  })

  test('all finalized epochs of both networks are read, and every figure equals the simulated one', async () => {
    for (const [network, simulated, perDay] of [
      ['mainnet', mainnet, epochsPerDay],
      ['hoodi', simulateScenario(hoodiScenario(demoSeed), finalEpochs.hoodi + 3), 15],
    ] as const) {
      const until = finalEpochs[network]
      assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 0, until }])
      const truth = sumByDay(simulated.truth, until, perDay)
      for (const row of await daysOf(context, network)) {
        const key = `${row.day} ${row.validator}`
        const expected = truth.get(key)
        for (const name of truthMeasures) assert.equal(row[name], expected?.[name] ?? 0, `${network}, ${key}: ${name}`)
        truth.delete(key)
      }
      assert.deepEqual(
        [...truth.values()].filter((row) => Object.keys(row).length > 0),
        [],
        'missing rows',
      )
    }
  })

  test('every field of a record has a value in some record, and fees are null without an execution node', async () => {
    const everyone = Array.from({ length: 98 }, (_, index) => index)
    const input = { indices: everyone, granularity: 'week', size: 1000 } as const
    const records = (await callHandler(aggregateEffectiveness, context, input)).body.data
    const fields = seen(records)
    // Records of a week have no day.
    assert.deepEqual(
      aggregateFields.filter((name) => !fields.get(name)?.value),
      ['day'],
    )
    // A wrong head has no penalty. Since Deneb, a vote that is included is never too late for its target.
    const never = [...fields.keys()].filter((name) => records.every((record) => !record[name as 'earnings']))
    assert.deepEqual(never.sort(), ['sumLateTargetPenalties', 'sumLateTargetVotes', 'sumWrongHeadPenalties'])
    const hoodi = (await callHandler(aggregateEffectiveness, context, { network: 'hoodi', indices: [0, 1] })).body.data
    assert(hoodi.length > 0 && hoodi.every((record) => !('sumPriorityFees' in record)))
  })

  test('every metadata field has a value for some validator and none for another', async () => {
    const cards = []
    for (const [network, count] of [
      ['mainnet', 98],
      ['hoodi', 16],
    ] as const) {
      for (let index = 0; index < count; index++) {
        cards.push((await callHandler(metadata, context, { network, validator_index_or_pubkey: String(index) })).body)
      }
    }
    for (const [name, { value, none }] of seen(cards)) {
      assert(value, `${name} has no value anywhere`)
      assert(none || ['validatorIndex', 'validatorPubkey'].includes(name), `${name} is never unknown`)
    }
    const [lantern, harbour] = validatorSamples.pools
    const pools = Map.groupBy(cards, ({ pool }) => pool)
    assert.deepEqual([pools.get(lantern)?.length, pools.get(harbour)?.length], [36, 24])
    assert.equal(pools.get(configuredPool.pool)?.length, 6, 'named by a rule of the configuration')
    for (const [pool, indices] of Object.entries(registryPools))
      assert.equal(pools.get(pool)?.length, indices.length, `${pool} is named by a registry on the chain`)
    const [ofLido] = pools.get('Lido') ?? []
    assert.deepEqual({ subpool: ofLido?.subpool, nodeOperators: ofLido?.nodeOperators }, lidoModule)
    assert.equal(cards[roles.compounding.validator]?.depositAddresses?.length, 2)
  })

  const ratingsOf = async (indices: number[]) => {
    const input = { indices, granularity: 'all', size: 1000 } as const
    const { data } = (await callHandler(aggregateEffectiveness, context, input)).body
    return new Map(data.map((record) => [Number(record.validatorIndex), record.validatorEffectiveness ?? Number.NaN]))
  }
  const indicesFrom = (from: number, until: number) => Array.from({ length: until - from }, (_, at) => from + at)

  test('ratings are those of real pools: about 97 to 99.9, except for validators with a story', async () => {
    const { late, confused, orphan, slashed, merged, dark } = roles
    const ratings = await ratingsOf(indicesFrom(0, 97))
    assert.equal(ratings.size, 97)
    const low = [...ratings].filter(([, rating]) => rating < 96.9).map(([index]) => index)
    const stories: number[] = [late, confused, orphan, slashed, merged, dark].map(({ validator }) => validator)
    assert.deepEqual(new Set(low), new Set(stories))
    const usual = [...ratings.values()].filter((rating) => rating >= 97 && rating < 99.95)
    assert(usual.length > 80, `${usual.length}`)
    assert(new Set(usual.map((rating) => rating.toFixed(2))).size > 25, 'they vary')
    for (const [from, until] of [
      [0, 36],
      [36, 60],
      [60, 76],
    ] as const) {
      const pool = [...(await ratingsOf(indicesFrom(from, until))).values()]
      const mean = pool.reduce((sum, rating) => sum + rating, 0) / pool.length
      assert(mean > 97.5 && mean < 99.5, `${from}: ${mean}`)
    }
  })

  test('each incident that the guide links to is visible: the rating of the day, or of all days, is low', async () => {
    const guide = readFileSync(join(import.meta.dirname, '../docs/try.md'), 'utf8')
    const links = [...guide.matchAll(/8080\/validators\/(\d+)\?network=mainnet(?:&day=(\d+))?/g)]
    assert.equal(links.length, 7)
    for (const [link, index, day] of links) {
      const rating = day
        ? (await dayOf(Number(index), Number(day)))?.validatorEffectiveness
        : (await ratingsOf([Number(index)])).get(Number(index))
      assert((rating ?? 100) < 97, link)
    }
  })

  test('all validators of one operator are offline for six hours, and nobody else', async () => {
    const { outage } = roles
    const day = Math.floor(outage.epoch / epochsPerDay)
    const uptimes = async (from: number, until: number) =>
      Promise.all(indicesFrom(from, until).map(async (index) => (await dayOf(index, day))?.uptime ?? 0))
    const affected = await uptimes(outage.firstValidator, outage.untilValidator)
    assert.equal(affected.length, 16)
    for (const uptime of affected) assert(uptime > 0 && uptime <= 0.75, `${uptime}`)
    const others = [...(await uptimes(0, outage.firstValidator)), ...(await uptimes(outage.untilValidator, 60))]
    assert(others.filter((uptime) => uptime < 1).length <= 2, `${others}`)
    const names = (await callHandler(metadata, context, { validator_index_or_pubkey: '20' })).body.nodeOperators
    assert.deepEqual(names, ['Cedar Validation'])
  })

  test('a client that is behind votes late for a week', async () => {
    const { validator, fromDay, untilDay } = roles.late
    const delayOf = async (from: number, until: number) => {
      const days = await Promise.all(indicesFrom(from, until).map((day) => dayOf(validator, day)))
      return days.reduce((sum, day) => sum + (day?.avgInclusionDelay ?? 0), 0) / days.length
    }
    assert((await delayOf(fromDay, untilDay)) > 1.5)
    assert((await delayOf(0, fromDay)) < 1.2)
    assert((await delayOf(untilDay, daysBefore - 1)) < 1.2)
  })

  test('a validator that is offline for a day misses its block, which delays the votes of the slot before', async () => {
    const { index, day } = validatorSamples.badDay
    const [before, bad, next] = [await dayOf(index, day - 1), await dayOf(index, day), await dayOf(index, day + 1)]
    assert.equal(bad?.uptime, 0)
    assert.equal(bad?.attesterEffectiveness, 0)
    assert((before?.uptime ?? 0) > 0.7 && (next?.uptime ?? 0) > 0.7)
    const sums = await sumsOf(index, day)
    assert(sums('proposerDutiesCount') > 0 && sums('proposedCount') === 0)
    assert(sums('sumMissedConsensusBlockRewards') > 0 && sums('sumMissedExecutionRewards') > 0)

    // Votes of the slot before cannot be included in the missed block.
    const slot = roles.away.slot - 1
    const epoch = Math.floor(slot / 4)
    const { epochs, truth } = mainnet
    const members = epochs[epoch]?.committees.slice((slot % 4) * 2, (slot % 4) * 2 + 2).flat() ?? []
    const voters = members.filter((member) => truth.row(epoch, member).included)
    assert(voters.length > 10)
    for (const voter of voters) assert((truth.row(epoch, voter).inclusion_delay ?? 0) >= 2, `${voter}`)
    const [one = 0] = voters
    assert((await dayOf(one, day))?.avgInclusionDelay !== 1)
  })

  test('the demo has an orphaned block, a slashing, an exit, a new validator and an incomplete deposit', async () => {
    const { orphan, slashed, accuser, leaver, newcomer, halfPaid } = roles
    const card = async (index: number) =>
      (await callHandler(metadata, context, { validator_index_or_pubkey: String(index) })).body
    const orphanDay = await sumsOf(orphan.validator, Math.floor(orphan.slot / 4 / epochsPerDay))
    assert.equal(orphanDay('proposerDutiesCount') - orphanDay('proposedCount'), 1)
    assert.equal((await sumsOf(slashed.validator, slashed.day))('slashesReceived'), 1)
    assert.equal((await sumsOf(accuser, slashed.day))('slashesCollected'), 1)
    assert.equal((await card(leaver.validator)).exitEpoch, leaver.day * epochsPerDay + 2)
    const activation = (await card(newcomer.validator)).activationEpoch ?? 0
    assert(activation > newcomer.day * epochsPerDay && activation < (newcomer.day + 2) * epochsPerDay, `${activation}`)
    assert.equal((await card(halfPaid.validator)).activationEpoch, null)
  })

  test('chain days begin at noon, so UTC days contain other epochs', async () => {
    const input = { validator_index_or_pubkey: '12', limit: 100 }
    const chain = (await callHandler(effectiveness, context, input)).body.results
    const utc = (await callHandler(effectiveness, context, { ...input, utc: true })).body.results
    assert.deepEqual([chain.length, utc.length], [daysBefore, daysBefore])
    assert.deepEqual([chain[0]?.endEpoch, utc[0]?.endEpoch], [3, 1])
    assert.deepEqual([chain[1]?.startEpoch, utc[1]?.startEpoch], [4, 2])
    assert.match(String(chain[1]?.startTimestamp), /T12:00:00/)
    assert.match(String(utc[1]?.startTimestamp), /T00:00:00/)
  })

  test('depositors are funded on the demo chain before their deposits, and their trails end at a label', async () => {
    await loadDemoExplorer(context, demoSeed)
    const { epochs, plan } = mainnet
    const genesisUnix = (await storedChain(context.duties, 'mainnet'))?.genesisUnix ?? assert.fail()
    const blockOfGenesis = [...(epochs[0]?.blocks.values() ?? [])][0]?.payload.number ?? assert.fail()
    const deposits = epochs[finalEpochs.mainnet - 1]?.deposits ?? []
    assert.equal(deposits.length, 99)
    const transfers = demoChains(demoSeed)[0].blocks.flatMap((block) => block.transfers)
    const needed = new Map<string, bigint>()
    for (const { from, block, gwei } of deposits) {
      const funding = await fundedBy.handle({ chainid: '1', address: from }, context, testRequestInfo())
      assert(funding.is === 'body', from)
      const depositUnix = genesisUnix + (block - blockOfGenesis - 1) * plan.slotSeconds
      assert(Number(funding.body.result.timeStamp) < depositUnix, from)
      needed.set(from, (needed.get(from) ?? 0n) + gwei)
    }
    for (const [address, gwei] of needed) {
      const outcome = await trail.handle({ chainid: '1', address, depth: 20 }, context, testRequestInfo())
      assert(outcome.is === 'body')
      assert.equal(outcome.body.result.end.reason, 'label', address)
      const sum = transfers.filter(({ to }) => to === address).reduce((total, { valueWei }) => total + valueWei, 0n)
      assert(sum >= gwei * 10n ** 9n, `${address} received enough`)
    }
  })

  test('if only recent days are loaded, the ingest reads the others, with the same result', async () => {
    await using plain = await openContext(demo.settings)
    const recent = { ...plain, clock, settings: await withChainTimes({ ...plain, clock }) }
    await demo.load(recent, { networks: ['mainnet'], recentDays: 7 })
    const until = finalEpochs.mainnet
    const from = (daysBefore - 8) * epochsPerDay
    assert.deepEqual(await coveredEpochs(recent.duties, 'mainnet'), [{ from, until }])
    assert.equal(await loadedShare(recent), 1 - from / until)

    const { signal } = new AbortController()
    let isFinished = false
    const finishing = demo.finish(recent, signal).then(() => {
      isFinished = true
    })
    const follower = await openFollower(recent, 'mainnet')
    while (await follower.fillGaps(signal));
    while (!isFinished) {
      clock.advance(1000)
      await nextEventLoopTurn()
    }
    await finishing
    assert.deepEqual(await coveredEpochs(recent.duties, 'mainnet'), [{ from: 0, until }])
    assert.deepEqual(await daysOf(recent, 'mainnet'), await daysOf(context, 'mainnet'))
    const mainnetRows = async ({ ingest: state, duties }: TestContext) => [
      await state.all("select * from validators where network = 'mainnet' order by validator_index"),
      await state.all("select * from validator_deposits where network = 'mainnet' order by validator_index, address"),
      await duties.all(
        'select day, kind, name, validators, data from duty_summaries where network = ? order by day, kind, name',
        networkId('mainnet'),
      ),
    ]
    assert.deepEqual(await mainnetRows(recent), await mainnetRows(context))
  })

  test('a restart continues from the stored epochs, and a second load changes nothing', async () => {
    const before = await daysOf(context, 'mainnet')
    const later = await startDemoValidators(demoSeed, await openDemoNodes(demoSeed, clock))
    try {
      await later.resume(context)
      const settings = settingsWith(later.settings)
      const now = { ...context, settings: await withChainTimes({ ...context, settings }), clock }
      const { written } = await (await openFollower(now, 'mainnet')).catchUp(new AbortController().signal)
      assert.equal(written, 0)
      await later.load(now)
      assert.deepEqual(await daysOf(context, 'mainnet'), before)
    } finally {
      await later.close()
    }
  })

  test('new epochs appear with time, and the follower reads them', async () => {
    const now = { ...context, clock }
    clock.advance(2 * epochMs.hoodi)
    const hoodi = await (await openFollower(now, 'hoodi')).catchUp(new AbortController().signal)
    assert.deepEqual([hoodi.written, hoodi.until], [2, finalEpochs.hoodi + 2])
    clock.advance(epochMs.mainnet)
    const mainnet = await (await openFollower(now, 'mainnet')).catchUp(new AbortController().signal)
    assert.deepEqual([mainnet.written, mainnet.until], [1, finalEpochs.mainnet + 1])
  })
})
