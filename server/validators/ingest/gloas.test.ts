// Ingests a recorded chain that crosses the fork from Fulu to Gloas, and compares every figure with an independent truth
// (test/gloas-rows.ts).
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type Exchange, openReplay, type Replay, type ReplayOptions } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { type GloasTruth, gloasRecording, gloasTruth } from '#test/gloas-recording.ts'
import { gloasRows } from '#test/gloas-rows.ts'
import { bothStates, openComputed, openStatesOf, readEpoch } from '#test/read-states.ts'
import { storedRows } from '#test/stored-duties.ts'
import { truthMeasures } from '#test/truth-measures.ts'
import type { Row } from '#test/validators-reference.ts'
import type { Measure } from '../method/measures.ts'
import { type Carry, type ProcessedEpoch, processEpoch } from './epochs/process-epoch.ts'
import { Sums } from './epochs/sums.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'

/** Epochs whose next epoch is final in the recording. */
const epochsUntil = 18

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

describe('a chain that crosses the fork to Gloas', () => {
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
  function assertChanges({ unexplained, transfers }: ProcessedEpoch, epoch: number): void {
    assert.equal(unexplained, undefined, `epoch ${epoch}`)
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

  for (const kind of bothStates)
    test(`every measure of every epoch, with states: ${kind}`, async () => {
      await using node = await openNode()
      const beacon = beaconOf(node)
      const { rules } = await beacon.chain()
      await using states = openStatesOf(kind, beacon, 'all')
      let carry: Carry | undefined
      // A computed state is read when it is final.
      for (let epoch = 0; epoch < (kind === 'node' ? epochsUntil : epochsUntil - 1); epoch++) {
        const sums = new Sums()
        const processed = processEpoch(rules, await readEpoch(states, epoch), carry, sums)
        carry = processed.carry
        assertMeasures(sums, epoch)
        assertChanges(processed, epoch)
      }
    })

  describe('stored epochs', () => {
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

    for (const kind of bothStates)
      test(`a fork that is scheduled while the server runs needs no restart, with states: ${kind}`, async () => {
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
        const beacon = beaconOf(node)
        await using computed = kind === 'computed' ? openComputed(beacon, 'all') : undefined
        const follower = new Follower({ ...context, settings }, 'hoodi', computed ?? beacon)
        await assert.rejects(follower.catchUp(new AbortController().signal), /is of gloas, but fulu is scheduled/)
        isScheduled = true
        const { until } = await follower.catchUp(new AbortController().signal)
        assert.equal(until, epochsUntil - 1)
        await assertStored(context)
      })
  })
})
