// A simulated network with known events, for the tests of alerts. It ends after 14 epochs of 8 slots.
//
// | epochs | what happens |
// |---|---|
// | 3 to 5 | validators 20 to 29 do not vote |
// | 4 | validator 3 does not vote, only once |
// | 4 | validator 8 proposes no block in slot 36 |
// | 5 | validator 5 is slashed in slot 42 |
// | 5 | validator 7 asks to exit in slot 44 |
import type { Range } from '#core/ranges.ts'
import { type Behaviour, noMistakes, noOperations } from '#simulator/beacon/behaviour.ts'
import type { SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { addCoverage } from '#storage/coverage.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith, type TestContext, testNowMs } from '#test/context.ts'
import { catchUp } from '#test/ingest-oracle.ts'
import { ManualClock } from './manual-clock.ts'
import { type CompletedNetwork, simulateScenario } from './simulator/simulate-network.ts'

const slotsPerEpoch = 8
const slotSeconds = 12
const epochCount = 14
export const epochMs = slotsPerEpoch * slotSeconds * 1000
const genesisUnix = testNowMs / 1000 - 1_000_000

const isIn = (value: number, from: number, until: number): boolean => value >= from && value < until

const validatorCount = 64

const behaviour: Behaviour = {
  mistakeRates(validator, epoch) {
    const isOut = isIn(validator, 20, 30) && isIn(epoch, 3, 6)
    const isMissed = validator === 3 && epoch === 4
    return { ...noMistakes, noVote: isOut || isMissed ? 1 : 0, missed: validator === 8 && epoch === 4 ? 1 : 0 }
  },
  operationsAt: ({ slot }) => ({
    ...noOperations,
    proposerSlashings: slot === 42 ? [5] : [],
    exits: slot === 44 ? [7] : [],
  }),
  // The last validators, which always vote, so that only the scripted block is missing.
  proposer: (slot) => (slot === 36 ? 8 : validatorCount - 1 - (slot % 20)),
  newValidator: (_, draws) => ({
    pubkey: `0x${draws.hex(96)}`,
    depositor: `0x${draws.hex(40)}`,
    credentials: `0x01${'0'.repeat(22)}${draws.hex(40)}`,
  }),
}

let simulated: CompletedNetwork | undefined
export function simulateAlertsNetwork(): CompletedNetwork {
  const plan = {
    ...{ slotsPerEpoch, slotSeconds, validators: validatorCount, committeesPerSlot: 2, syncSeats: 8, syncPeriod: 4 },
    ...{ forkEpochs: presentForks, hasExecution: false },
  }
  const scenario = { seed: 'alerts', behaviour, plan }
  simulated ??= { ...simulateScenario(scenario, epochCount), scenario, genesisUnix } as unknown as CompletedNetwork
  return simulated
}

export interface AlertsTest extends AsyncDisposable {
  readonly context: TestContext
  readonly node: SimulatedBeaconNode
  readonly network: CompletedNetwork
  /** The node finalizes what the epochs before `until` need. The clock moves to the end of epoch `until` + 2. */
  finalize(until: number): void
  /** Finalizes and stores the epochs before `until`. */
  store(until: number): Promise<void>
  /** Hides stored epochs from alerts, as if they had not been read yet. */
  showOnly(...epochs: readonly Range[]): Promise<void>
  /**
   * The same stored epochs with other settings, without events, all of them shown, and with the clock after the last
   * one. Much cheaper than storing them again.
   */
  startAgain(validators?: object): Promise<AlertsTest>
}

export const epochEndMs = (epoch: number): number => genesisUnix * 1000 + (epoch + 1) * epochMs

export const watchedIndices = [3, 5, 7, 8, ...Array.from({ length: 10 }, (_, at) => 20 + at), 50]

export const testSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
/** Nothing listens on its port. */
export const testWebhook = (changes: object = {}) => ({
  ...{ id: 'ops', url: 'http://127.0.0.1:1/hook', secret: testSecret },
  ...changes,
})

/** `validators`: settings of the group besides the network. */
export async function openAlertsTest(
  validators: object = {},
  watch: readonly number[] = watchedIndices,
): Promise<AlertsTest> {
  const network = simulateAlertsNetwork()
  let finalized = 0
  const node = await openNodeOfRun(network, { finalized: () => finalized })
  const hoodi = {
    ...{ genesisUnix, slotSeconds, slotsPerEpoch, epochsPerHour: 2, epochsPerDay: 6 },
    ...{ watch: watch.map(String), beacon: { urls: [node.url], fromEpoch: 0 } },
  }
  const overrides = (changes: object) => ({ validators: { ...changes, networks: { hoodi } } })
  const shared = await openContext(overrides(validators), genesisUnix * 1000)
  const testOf = (context: TestContext): AlertsTest => ({
    context,
    node,
    network,
    finalize(until) {
      finalized = until + 1
      context.clock.advance(Math.max(0, epochEndMs(until + 2) - context.clock.now()))
    },
    async store(until) {
      this.finalize(until)
      await catchUp(context, node.url)
    },
    showOnly: (...epochs) =>
      context.dutiesState.write(async (tx) => {
        await tx.run('delete from coverage where stream = ?', 'missed/hoodi')
        for (const { from, until } of epochs) await addCoverage(tx, 'missed/hoodi', from, until)
      }),
    async startAgain(changes = {}) {
      const until = finalized - 1
      await this.showOnly({ from: 0, until })
      await context.ingest.write(async (tx) => {
        for (const table of ['open_alerts', 'head_alerts', 'webhook_deliveries', 'validator_entities'])
          await tx.run(`delete from ${table}`)
        await tx.run('delete from cursors where stream = ?', 'alerts/hoodi')
      })
      const settings = { ...settingsWith(overrides(changes)), store: context.settings.store }
      return testOf({ ...shared, settings, clock: new ManualClock(epochEndMs(until + 2)) })
    },
    async [Symbol.asyncDispose]() {
      await shared[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  })
  return testOf(shared)
}
