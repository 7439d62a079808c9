// A simulated network with known events, for the tests of alerts. It ends after 14 epochs of 8 slots.
//
// | epochs | what happens |
// |---|---|
// | 3 to 5 | validators 20 to 29 do not vote (`outage` of them) |
// | 4 | validator 3 does not vote, only once |
// | 4 | validator 8 proposes no block in slot 36 |
// | 5 | validator 5 is slashed in slot 42 |
// | 5 | validator 7 asks to exit in slot 44 |
import { type Behaviour, noMistakes, noOperations } from '#simulator/beacon/behaviour.ts'
import { type CompletedNetwork, simulateScenario } from '#simulator/beacon/networks.ts'
import { openNode, type SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { catchUp } from '#test/ingest-oracle.ts'

const slotsPerEpoch = 8
const slotSeconds = 12
const epochCount = 14
export const epochMs = slotsPerEpoch * slotSeconds * 1000
const genesisUnix = testNowMs / 1000 - 1_000_000

export interface NetworkSize {
  readonly validators: number
  /** Validators that do not vote for three epochs. */
  readonly outage: number
}

const isIn = (value: number, from: number, until: number): boolean => value >= from && value < until

const behaviourOf = ({ outage, validators }: NetworkSize): Behaviour => ({
  mistakeRates(validator, epoch) {
    const isOut = isIn(validator, 20, 20 + outage) && isIn(epoch, 3, 6)
    const isLapse = validator === 3 && epoch === 4
    return { ...noMistakes, noVote: isOut || isLapse ? 1 : 0, missed: validator === 8 && epoch === 4 ? 1 : 0 }
  },
  operationsAt: ({ slot }) => ({
    ...noOperations,
    proposerSlashings: slot === 42 ? [5] : [],
    exits: slot === 44 ? [7] : [],
  }),
  // The last validators, which always vote, so that only the scripted block is missing.
  proposer: (slot) => (slot === 36 ? 8 : validators - 1 - (slot % 20)),
  newValidator: (_, draws) => ({
    pubkey: `0x${draws.hex(96)}`,
    depositor: `0x${draws.hex(40)}`,
    credentials: `0x01${'0'.repeat(22)}${draws.hex(40)}`,
  }),
})

const simulated = new Map<string, CompletedNetwork>()
function simulate(size: NetworkSize): CompletedNetwork {
  const key = JSON.stringify(size)
  const plan = {
    ...{ slotsPerEpoch, slotSeconds, validators: size.validators, committeesPerSlot: 2, syncSeats: 8, syncPeriod: 4 },
    ...{ forkEpochs: presentForks, hasExecution: false },
  }
  const network =
    simulated.get(key) ??
    ({
      ...simulateScenario({ seed: 'alerts', behaviour: behaviourOf(size), plan }, epochCount),
      genesisUnix,
    } as unknown as CompletedNetwork)
  simulated.set(key, network)
  return network
}

export interface AlertsTest extends AsyncDisposable {
  readonly context: TestContext
  readonly node: SimulatedBeaconNode
  readonly network: CompletedNetwork
  /** Stores the epochs before `until`, and moves the clock to the end of epoch `until` + 2. */
  store(until: number): Promise<void>
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
  size: NetworkSize = { validators: 64, outage: 10 },
): Promise<AlertsTest> {
  const network = simulate(size)
  let finalized = 0
  const node = await openNode(network, { finalized: () => finalized })
  const hoodi = {
    ...{ genesisUnix, slotSeconds, slotsPerEpoch, epochsPerHour: 2, epochsPerDay: 6 },
    ...{ watch: watch.map(String), beacon: { urls: [node.url], fromEpoch: 0, auditValidators: 0 } },
  }
  const context = await openContext({ validators: { ...validators, networks: { hoodi } } }, genesisUnix * 1000)
  return {
    context,
    node,
    network,
    async store(until) {
      finalized = until + 1
      await catchUp(context, node.url)
      context.clock.advance(Math.max(0, epochEndMs(until + 2) - context.clock.now()))
    },
    async [Symbol.asyncDispose]() {
      await context[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}
