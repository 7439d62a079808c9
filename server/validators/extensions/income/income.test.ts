// The income statement: its days explain the changes of balances to the gwei.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { far } from '#simulator/beacon/amounts.ts'
import { gloasFrom, presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { callHandler, invalidInputs } from '#test/validators-world.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { income } from './income.ts'

const epochsPerDay = 4

async function openIngested(url: string, watch: readonly string[] = []): Promise<TestContext> {
  const beacon = { urls: [url], fromEpoch: 0 }
  const context = await openContext({
    validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay, beacon, watch: [...watch] } } },
  })
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const client = openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  await new Follower({ ...context, settings }, 'hoodi', client).catchUp(new AbortController().signal)
  return Object.assign(context, { settings })
}

const readIncome = async (context: TestContext, input: object) =>
  (await callHandler(income, context, { network: 'hoodi', ...input })).body

/** The balance of a validator at the first slot of an epoch. */
const balanceAt = ({ snapshots, plan }: CompletedNetwork, epoch: number, index: number): number =>
  Number(snapshots[epoch * plan.slotsPerEpoch]?.validators[index]?.balance ?? 0n)

/** Every row of a statement, per validator and day. Returns which kinds of validators and days there were. */
async function checkStatements(
  world: CompletedNetwork,
  context: TestContext,
): Promise<Readonly<Record<string, number>>> {
  const covered = await coveredEpochs(context.duties, 'hoodi')
  const [first, last] = [covered[0]?.from ?? 0, covered.at(-1)?.until ?? 0]
  const { validators } = world.snapshots.at(-1) as CompletedNetwork['snapshots'][number]
  const seen = { days: 0, slashed: 0, laterPenalty: 0, afterExit: 0, empty: 0 }
  const kinds: Record<string, number> = { deposits: 0, withdrawals: 0, consolidations: 0 }
  for (let index = 0; index < validators.length; index++) {
    const slashingsOf = (from: number, until: number): number =>
      Array.from(
        { length: until - from },
        (_, at) => world.truth.rows(from + at).get(index)?.slashing_penalty ?? 0,
      ).reduce((sum, gwei) => sum + gwei, 0)
    for (const utc of [false, true]) {
      const { days, total } = await readIncome(context, { indices: [index], utc })
      for (const day of days) {
        const label = `validator ${index}, ${utc ? 'UTC' : 'chain'} day ${day.day}`
        const parts = [
          day.attestationRewards,
          day.syncRewards,
          day.blockRewards,
          day.penalties,
          day.slashings,
          day.shift,
        ]
        assert.equal(
          parts.reduce<number>((sum, gwei) => sum + Number(gwei), 0),
          day.earnings,
          label,
        )
        const change = balanceAt(world, day.endEpoch + 1, index) - balanceAt(world, day.startEpoch, index)
        const others = Number(day.deposits) + Number(day.consolidations) - Number(day.withdrawals)
        assert.equal(Number(day.earnings) + others, change, label)
        assert.equal(day.balanceChange, change, label)
        assert.equal(day.slashings, slashingsOf(day.startEpoch, day.endEpoch + 1), label)
        seen.days += 1
        if (day.slashings !== 0) seen.slashed += 1
        const { exit = far } = validators[index] ?? {}
        if (day.startEpoch >= exit) seen.afterExit += 1
        if (day.startEpoch >= exit && day.slashings !== 0) seen.laterPenalty += 1
        for (const kind of Object.keys(kinds)) if (day[kind as 'deposits'] !== 0) kinds[kind] = (kinds[kind] ?? 0) + 1
      }
      assert.equal(total.balanceChange, balanceAt(world, last, index) - balanceAt(world, first, index))
      assert.equal(total.slashings, slashingsOf(first, last))
      // Nothing is paid later any more.
      const isOver = [last - 3, last - 2, last - 1].every((epoch) => !world.truth.rows(epoch).get(index))
      if (first === 0 && isOver && days.length > 0) {
        assert.equal(total.shift, 0, `validator ${index}`)
        seen.empty += 1
      }
    }
  }
  return { ...seen, ...kinds }
}

for (const [name, forkEpochs] of [
  ['since Electra', presentForks],
  ['across the fork to Gloas', gloasFrom(6)],
  ['before Electra', { altair: 0, bellatrix: 0, capella: 0, deneb: 0 }],
] as const) {
  test(`the rows of each day of each validator add up to the change of its balance: ${name}`, async () => {
    const world = simulateNetwork(`income/${name}`, {
      ...{ epochs: 20, missed: 0.05, slashing: 0.05, balanceChanges: 0.5, forkEpochs, hasExecution: false },
    })
    await using node = await openNodeOfRun(world)
    await using context = await openIngested(node.url)
    const seen = await checkStatements(world, context)
    const { consolidations, ...always } = seen
    for (const [kind, count] of Object.entries(always)) assert(count > 0, `${kind}: ${JSON.stringify(seen)}`)
    if (name !== 'across the fork to Gloas')
      assert.equal(Number(consolidations) > 0, name === 'since Electra', JSON.stringify(seen))
  })
}

test('the days of the recorded chain add up to the recorded balances', async () => {
  await using node = await openReplay()
  await using context = await openIngested(node.url)
  const response = await fetch(`${node.url}/eth/v1/beacon/states/104/validator_balances`)
  const { data } = (await response.json()) as { data: { index: string; balance: string }[] }
  for (const { index, balance } of data) {
    const { total } = await readIncome(context, { indices: [Number(index)] })
    assert.equal(total.balanceChange, Number(balance) - 32_000_000_000, `validator ${index}`)
  }
  const { total, validators } = await readIncome(context, { indices: data.map(({ index }) => Number(index)) })
  assert.equal(validators, data.length)
  assert.equal(
    total.balanceChange,
    data.reduce((sum, { balance }) => sum + Number(balance) - 32_000_000_000, 0),
  )
})

test('validators are named in exactly one way', async () => {
  await using context = await openContext()
  const names = ['indices', 'pubkeys', 'pool', 'nodeOperator', 'depositAddress', 'withdrawalAddress', 'watched']
  assert.deepEqual(
    await invalidInputs(readIncome(context, {})),
    names.map((name) => `query.${name}`),
  )
  assert.deepEqual(await invalidInputs(readIncome(context, { indices: [1], pool: 'a' })), [
    'query.indices',
    'query.pool',
  ])
})

test('the watch list selects the validators on it', async () => {
  await using node = await openReplay()
  await using context = await openIngested(node.url, ['2', '5'])
  const watched = await readIncome(context, { watched: true })
  assert.equal(watched.validators, 2)
  assert.notEqual(watched.total.earnings, 0)
  assert.deepEqual(watched, await readIncome(context, { indices: [2, 5] }))
})

test('without a watch list, its income is refused', async () => {
  await using node = await openReplay()
  await using context = await openIngested(node.url)
  assert.deepEqual(await invalidInputs(readIncome(context, { watched: true })), ['query.watched'])
  assert.equal((await readIncome(context, { indices: [2], watched: false })).validators, 1)
})
