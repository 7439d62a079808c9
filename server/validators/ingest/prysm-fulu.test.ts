// Ingests the recorded chain of a running Prysm, and compares every figure with a truth from the client's own answers: in it
// are slashings, exits, consolidations, deposits, withdrawals, and empty members of the sync committee.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay, type ReplayOptions } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { prysmRecording, prysmTruth } from '#test/prysm-recording.ts'
import { openComputed } from '#test/read-states.ts'
import { isStateRequest, withOneState } from '#test/recorded-chain.ts'
import { storedRows } from '#test/stored-duties.ts'
import { callHandler } from '#test/validators-world.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { aggregateEffectiveness } from '../endpoints/aggregate-effectiveness.ts'
import { effectiveness } from '../endpoints/effectiveness.ts'
import { metadata } from '../endpoints/metadata.ts'
import { type Measure, measures } from '../method/measures.ts'
import { auditEpochs } from './epochs/audit.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'

/** Everything else about the chain comes from the node. */
const network = 'devnet'
const [fromEpoch, untilEpoch] = [8, 28]
const [epochsPerHour, epochsPerDay] = [2, 4]
/** The epoch before the first one is processed without being stored. */
const firstStateSlot = (fromEpoch - 1) * 8

/** Not in the truth: there is no execution node. */
const unknown = new Set<Measure>([
  ...(['execution_unknown', 'missed_execution_reward', 'priority_fee', 'baseline_mev', 'external_reward'] as const),
  'proposed_empty',
])
const compared = measures.filter((name) => !unknown.has(name))

const beaconOf = (url: string) =>
  openBeacon({ network, urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })

async function openIngested(url: string): Promise<TestContext> {
  const context = await openContext({
    validators: {
      networks: {
        [network]: {
          ...{ epochsPerHour, epochsPerDay },
          beacon: { urls: [url], fromEpoch },
        },
      },
    },
  })
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const beacon = beaconOf(url)
  const { signal } = new AbortController()
  await using processor = openComputed(beacon, 'all')
  await new Follower({ ...context, settings }, network, processor).catchUp(signal)
  return Object.assign(context, { settings })
}

describe('the recorded chain of a running Prysm', () => {
  const openNode = (meddle?: ReplayOptions['meddle']) =>
    openReplay({ recording: prysmRecording, file: 'answers.ndjson', ...(meddle && { meddle }) })

  test('every measure, figure and registry entry is right, from one state and blocks', async () => {
    const truth = prysmTruth()
    await using node = await openNode(withOneState(firstStateSlot))
    await using context = await openIngested(node.url)
    assert(node.requests.filter(isStateRequest).length <= 2)
    assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: fromEpoch, until: untilEpoch }])

    const hours = new Map(
      (await storedRows(context, network, 'hours')).map((row) => [`${row.hour} ${row.validator}`, row]),
    )
    const byHour = Map.groupBy(
      truth.rows,
      ({ epoch, validator }) => `${Math.floor(epoch / epochsPerHour)} ${validator}`,
    )
    for (const [key, rows] of byHour)
      for (const name of compared) {
        const expected = rows.reduce((sum, row) => sum + (row[name] ?? 0), 0)
        assert.equal(hours.get(key)?.[name] ?? 0, expected, `hour and validator ${key}: ${name}`)
      }

    for (const kind of ['hour', 'day'] as const) {
      const figures = truth.figures.filter((line) => line.kind === kind)
      for (const [number, list] of Map.groupBy(figures, (line) => line.number)) {
        const { body } = await callHandler(aggregateEffectiveness, context, {
          ...{ network, from: String(number), to: String(number), filterType: kind, groupBy: 'validator', size: 100 },
          indices: list.map(({ validator }) => validator),
        })
        const found = new Map(
          body.data.map((record) => [record.validatorIndex, record as Record<string, unknown>] as const),
        )
        for (const { kind, number: _, validator, proposerEffectiveness, ...expected } of list)
          for (const [name, value] of Object.entries(expected)) {
            const actual = found.get(validator)?.[name]
            const label = `${kind} ${number}, validator ${validator}: ${name} is ${actual}, not ${value}`
            if (typeof value === 'number' && typeof actual === 'number') assert(Math.abs(actual - value) < 1e-6, label)
            else assert.equal(actual ?? null, value, label)
          }
      }
    }

    const days = truth.figures.filter(({ kind }) => kind === 'day')
    for (const [validator, list] of Map.groupBy(days, (line) => line.validator)) {
      const { body } = await callHandler(effectiveness, context, {
        ...{ network, validator_index_or_pubkey: String(validator), limit: 100 },
      })
      const found = new Map(body.results.map(({ day, proposerEffectiveness }) => [day, proposerEffectiveness]))
      for (const { number, proposerEffectiveness } of list)
        assert.equal(found.get(number) ?? null, proposerEffectiveness, `validator ${validator}, day ${number}`)
    }

    for (const expected of truth.validators) {
      const { body } = await callHandler(metadata, context, {
        ...{ network, validator_index_or_pubkey: String(expected.validatorIndex) },
      })
      for (const name of ['validatorPubkey', 'activationEligibilityEpoch', 'activationEpoch'] as const)
        assert.equal(body[name], expected[name], `validator ${expected.validatorIndex}: ${name}`)
    }
  })

  test('the audit finds no difference, although the node states penalties of empty balances', async () => {
    await using node = await openNode()
    const beacon = beaconOf(node.url)
    const epochs = { from: fromEpoch, until: untilEpoch }
    await using states = openComputed(beacon)
    for await (const lines of auditEpochs(beacon, states, epochs, new AbortController().signal))
      for (const line of lines) assert.equal(line.differing, 0, JSON.stringify(line))
  })
})
