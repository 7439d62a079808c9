// Ingests a recorded chain that crosses the fork from Fulu to Gloas, and compares every figure with an independent truth
// (test/gloas-rows.ts).
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Block } from '#sources/beacon/block.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { type Exchange, openReplay, type Replay, type ReplayOptions } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { type GloasTruth, gloasRecording, gloasTruth, skipWithoutGloas } from '#test/gloas-recording.ts'
import { gloasRows } from '#test/gloas-rows.ts'
import { storedRows } from '#test/stored-duties.ts'
import { truthMeasures } from '#test/truth-measures.ts'
import type { Row } from '#test/validators-reference.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import type { Measure } from '../method/measures.ts'
import { type Carry, type ProcessedEpoch, processEpoch } from './epochs/process-epoch.ts'
import { Sums } from './epochs/sums.ts'
import { Follower } from './follow.ts'
import { type BeaconQueries, createBeaconQueries } from './read/beacon-queries.ts'
import { withChainTimes } from './read/chain-identity.ts'
import { EpochReader } from './read/epoch-reader.ts'
import { settleBalances } from './read/settle-balances.ts'
import { type Gap, replayGap } from './replay/replay-gap.ts'

/** Epochs whose next epoch is final in the recording. */
const epochsUntil = 18
const emptySlots = [4, 9, 11, 20, 27, 31, 45, 50, 54, 56, 57, 63, 79, 86, 90, 92, 95, 112, 113, 124, 138]

const notFound = (exchange: Exchange, status = 404): Exchange => ({
  ...exchange,
  status,
  headers: { 'content-type': 'application/json' },
  bodyEncoding: 'utf8',
  body: '{"message":"not found"}',
})

/** Refuses the requests for paths that match. */
const without =
  (pattern: RegExp, status = 404): NonNullable<ReplayOptions['meddle']> =>
  (exchange) =>
    pattern.test(exchange.path) ? notFound(exchange, status) : exchange

const statesOfEmptySlots = new RegExp(`/states/(${emptySlots.join('|')})(/|$)`)
const fullStates = /\/debug\/beacon\/states\//
const envelopes = /\/execution_payload_envelopes\//

/** Deposits and consolidations are not all known if states are rebuilt. */
const withoutEmptySlots = without(statesOfEmptySlots)

const forms: Readonly<Record<string, ReplayOptions>> = {
  'SSZ, whole states': {},
  'SSZ, without states of empty slots': { meddle: withoutEmptySlots },
  'SSZ, without envelopes': { meddle: without(envelopes) },
  'SSZ, envelopes refused with 400': { meddle: without(envelopes, 400) },
  'SSZ, envelopes answered with 500': { meddle: without(envelopes, 500) },
  'SSZ blocks, without full states': { meddle: without(fullStates) },
  'JSON, whole states': { ssz: false },
}

const openNode = (options: ReplayOptions = {}): Promise<Replay> =>
  openReplay({ recording: gloasRecording, more: ['debug-states'], ...options })

const beaconOf = (...nodes: readonly Replay[]) =>
  openBeacon({
    network: 'hoodi',
    urls: nodes.map(({ url }) => url),
    timeoutMs: 10_000,
    clock: systemClock,
    backoffMs: 1,
  })

describe('a chain that crosses the fork to Gloas', { skip: skipWithoutGloas }, () => {
  let truth: GloasTruth
  let rows: readonly Row[]

  before(() => {
    truth = gloasTruth()
    rows = gloasRows(truth, epochsUntil)
  })

  function assertMeasures(sums: Sums, epoch: number): void {
    for (const row of rows.filter((entry) => entry.epoch === epoch)) {
      for (const name of truthMeasures) {
        const stored = sums.columns[name][row.validator] ?? 0
        assert.equal(stored === 0 ? 0 : stored, row[name] === 0 ? 0 : row[name], label(epoch, row.validator, name))
      }
    }
  }
  const label = (epoch: number, validator: number, name: Measure) => `epoch ${epoch}, validator ${validator}: ${name}`

  /** Every change of a balance is explained, and deposits and consolidations are those of the truth. */
  function assertChanges({ unexplainedBalanceChanges, transfers }: ProcessedEpoch, epoch: number): void {
    assert.deepEqual(unexplainedBalanceChanges, { validators: 0, inGwei: 0, outGwei: 0 }, `epoch ${epoch}`)
    const parts = Object.entries(truth.balanceChanges[epoch]?.parts ?? {})
    for (const [name, part] of [
      ['deposited', 'deposits'],
      ['consolidated', 'consolidations'],
      ['withdrawn', 'withdrawals'],
    ] as const) {
      const expected = parts.flatMap(([validator, { [part]: gwei = 0 }]) =>
        gwei === 0 ? [] : [[Number(validator), Math.abs(gwei) * (name === 'withdrawn' ? 1 : Math.sign(gwei))] as const],
      )
      const found = [...transfers[name]].filter(([, gwei]) => gwei !== 0)
      assert.deepEqual(new Map(found), new Map(expected), `epoch ${epoch}: ${name}`)
    }
  }

  for (const [name, options] of Object.entries(forms)) {
    test(`every measure of every epoch: ${name}`, async () => {
      await using node = await openNode(options)
      const beacon = beaconOf(node)
      const { rules } = await beacon.chain()
      const reader = new EpochReader(beacon, rules)
      let carry: Carry | undefined
      for (let epoch = 0; epoch < epochsUntil; epoch++) {
        const data = await reader.read(epoch)
        settleBalances(data, carry)
        const sums = new Sums()
        const processed = processEpoch(rules, data, carry, sums)
        carry = processed.carry
        assertMeasures(sums, epoch)
        if (options.meddle !== withoutEmptySlots) assertChanges(processed, epoch)
      }
    })
  }

  describe('stored epochs', () => {
    async function ingest(context: TestContext, nodes: readonly Replay[]) {
      const settings = await withChainTimes({ ...context, clock: systemClock })
      return new Follower({ ...context, settings }, 'hoodi', beaconOf(...nodes)).catchUp(new AbortController().signal)
    }

    const contextFor = (nodes: readonly Replay[]) =>
      openContext({
        validators: {
          networks: {
            hoodi: {
              ...{ epochsPerHour: 2, epochsPerDay: 4 },
              beacon: { urls: nodes.map(({ url }) => url), fromEpoch: 0 },
            },
          },
        },
      })

    async function assertStored(context: TestContext): Promise<void> {
      const settings = await withChainTimes({ ...context, clock: systemClock })
      const days = await storedRows({ ...context, settings }, 'hoodi', 'days')
      const stored = new Map(days.map((row) => [`${row.day} ${row.validator}`, row]))
      const expected = Map.groupBy(
        rows.filter(({ epoch }) => epoch < epochsUntil - 1),
        ({ epoch, validator }) => `${Math.floor(epoch / 4)} ${validator}`,
      )
      for (const [key, list] of expected) {
        for (const name of truthMeasures) {
          const sum = list.reduce((total, row) => total + row[name], 0)
          assert.equal(stored.get(key)?.[name] ?? 0, sum === 0 ? 0 : sum, `${key}: ${name}`)
        }
      }
    }

    const lies: Readonly<Record<string, (exchange: Exchange) => Exchange>> = {
      'withdrawals in envelopes': (exchange) =>
        envelopes.test(exchange.path)
          ? { ...exchange, body: exchange.body.replace(/"amount":"1/, '"amount":"2') }
          : exchange,
      'balances of validators': (exchange) =>
        exchange.path === '/eth/v1/beacon/states/80/validators'
          ? { ...exchange, body: exchange.body.replace('"balance":"32', '"balance":"31') }
          : exchange,
      'payload votes in blocks': (exchange) =>
        exchange.path === '/eth/v2/beacon/blocks/46'
          ? { ...exchange, body: exchange.body.replace('"index":"0"', '"index":"1"') }
          : exchange,
      // Block 136 is the first of epoch 17. Its payload is withheld, and that of block 137 pays its withdrawals.
      'payload votes in a block that pays the withdrawals of an earlier one': (exchange) =>
        exchange.path === '/eth/v2/beacon/blocks/137'
          ? { ...exchange, body: exchange.body.replace('"index":"0"', '"index":"1"') }
          : exchange,
      'missing envelopes': without(envelopes) as (exchange: Exchange) => Exchange,
    }
    for (const [label, meddle] of Object.entries(lies)) {
      test(`one of two nodes lies about ${label}: every figure is right`, async () => {
        await using liar = await openNode({ ssz: false, meddle })
        await using honest = await openNode()
        await using context = await contextFor([liar, honest])
        const { until } = await ingest(context, [liar, honest])
        assert.equal(until, epochsUntil - 1)
        await assertStored(context)
      })
    }

    test('a node without whole states that answers requests for envelopes with status 500 leads to no gap', async () => {
      const meddle: NonNullable<ReplayOptions['meddle']> = (exchange) =>
        fullStates.test(exchange.path)
          ? notFound(exchange)
          : envelopes.test(exchange.path)
            ? notFound(exchange, 500)
            : exchange
      await using node = await openNode({ meddle })
      await using context = await contextFor([node])
      await assert.rejects(ingest(context, [node]), /status 500/)
      const [covered, ...others] = await coveredEpochs(context.duties, 'hoodi')
      assert.equal(covered?.from, 0)
      assert.deepEqual(others, [])
    })

    test('without whole states and envelopes, the last epochs before Gloas are read', async () => {
      await using node = await openNode({ meddle: without(/\/(debug\/beacon\/states|execution_payload_envelopes)\//) })
      await using context = await contextFor([node])
      await assert.rejects(
        ingest(context, [node]),
        /neither the envelope of the payload of slot \d+ nor the full states/,
      )
      // Block 32, the first of Gloas, is between the states of epoch 3.
      assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: 3 }])
    })

    test('the envelope of the first block after an epoch is missing: a later payload has the same withdrawals', async () => {
      // Block 136 builds on a payload, its own is withheld, and block 137 pays. It is the first block of epoch 17.
      await using node = await openNode({ meddle: without(fullStates) })
      await using context = await contextFor([node])
      await ingest(context, [node])
      assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: epochsUntil - 1 }])
      await assertStored(context)
    })

    test('a fork that is scheduled while the server runs needs no restart', async () => {
      let isScheduled = false
      const meddle = (exchange: Exchange): Exchange =>
        !isScheduled && exchange.path.endsWith('/config/spec')
          ? {
              ...exchange,
              body: exchange.body.replace('"GLOAS_FORK_EPOCH":"4"', '"GLOAS_FORK_EPOCH":"18446744073709551615"'),
            }
          : exchange
      await using node = await openNode({ meddle })
      await using context = await contextFor([node])
      const settings = await withChainTimes({ ...context, clock: systemClock })
      const follower = new Follower({ ...context, settings }, 'hoodi', beaconOf(node))
      await assert.rejects(follower.catchUp(new AbortController().signal), /is of gloas, but fulu is scheduled/)
      isScheduled = true
      const { until } = await follower.catchUp(new AbortController().signal)
      assert.equal(until, epochsUntil - 1)
      await assertStored(context)
    })
  })

  describe('epochs without states, computed from blocks', () => {
    interface Chain {
      readonly rules: ConsensusRules
      readonly gapOf: (from: number, length: number) => Promise<Gap>
    }

    async function withChain(work: (chain: Chain) => Promise<void>): Promise<void> {
      await using node = await openNode()
      const beacon = beaconOf(node)
      const { rules } = await beacon.chain()
      const queries = createBeaconQueries(beacon, rules)
      const blocks = new Map<number, readonly Block[]>()
      for (let epoch = 0; epoch <= 19; epoch++) blocks.set(epoch, await readBlocks(queries, epoch))
      const finalized = async (epoch: number) => (await queries.finalizedEpoch(epoch * 8)) ?? 0
      const stateAt = async (epoch: number) => {
        const state = await queries.transitionState(epoch * 8)
        assert(state)
        return { epoch, ...state }
      }
      const gapOf = async (from: number, length: number): Promise<Gap> => {
        const until = from + length + 1
        const { validators } = await stateAt(until)
        return {
          before: await stateAt(from),
          after: { epoch: until, validators, finalizedEpoch: await finalized(until) },
          finalizedAfter: await finalized(until + 1),
          readBlocks: async (epoch) => blocks.get(epoch) ?? [],
        }
      }
      await work({ rules, gapOf })
    }

    // A consolidation is requested and takes effect in gaps of 6 epochs.
    for (const length of [1, 2, 3, 5, 6]) {
      test(`gaps of ${length} epochs, anywhere on the chain and across the fork`, () =>
        withChain(async ({ rules, gapOf }) => {
          for (let from = 3; from + length + 1 < epochsUntil; from++) {
            const epochs = await replayGap(rules, await gapOf(from, length))
            assert.equal(epochs.length, length + 1)
            let carry: Carry | undefined
            for (const data of epochs) {
              const sums = new Sums()
              const processed = processEpoch(rules, data, carry, sums)
              if (carry) assertMeasures(sums, data.epoch)
              carry = processed.carry
            }
          }
        }))
    }

    test('gaps that cannot be computed name the cause', () =>
      withChain(async ({ rules, gapOf }) => {
        const assertRefused = async (from: number, length: number, cause: RegExp) =>
          assert.rejects(replayGap(rules, await gapOf(from, length)), cause)
        await assertRefused(5, 8, /; slot \d+ requests a partial withdrawal that can be paid in this gap/)
        await assertRefused(2, 1, /; the committees of epochs 0 and 1 depend on RANDAO mixes from before genesis/)
        await assertRefused(7, 8, /: epoch 16: its sync committee is not in the state of epoch 7$/)
      }))
  })
})

async function readBlocks(queries: BeaconQueries, epoch: number): Promise<Block[]> {
  const slots = Array.from({ length: 8 }, (_, at) => epoch * 8 + at).filter((slot) => slot > 0)
  return (await Promise.all(slots.map((slot) => queries.block(slot)))).filter((block) => block !== undefined)
}
