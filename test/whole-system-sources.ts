// The four simulated sources of a whole-system run, each behind a gate: an execution chain, a beacon chain, a market feed
// and rates. They follow one clock that only the test moves. The same seed gives the same sources.
import type { Behaviour } from '#simulator/beacon/behaviour.ts'
import { LiveNetwork } from '#simulator/beacon/live-network.ts'
import { openNode } from '#simulator/beacon/node.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { AnswerAlterer } from './altered-answer.ts'
import { isBelievedOfChain } from './altered-chain.ts'
import { isBelievedOfMarkets, MarketWorld } from './altered-markets.ts'
import { serveAnswers } from './altering-proxy.ts'
import { archiveOf } from './client-of-run.ts'
import { testNowMs } from './context.ts'
import { dialectsWith } from './simulator/dialects.ts'
import { LimitedNode } from './simulator/limited-node.ts'
import { type ClientName, profiles } from './simulator/profiles.ts'
import { SeededBehaviour } from './simulator/seeded-behaviour.ts'
import { type AlterAnswer, type Gate, openGate } from './source-gate.ts'

export const sourceNames = ['chain', 'beacon', 'feed', 'rates'] as const
export type SourceName = (typeof sourceNames)[number]

/** The time between two steps of a run. */
export const stepMs = 1_800_000
/** The feed is read completely after this many steps. */
export const fullPassSteps = 12
const blockSeconds = 600
const blocksBefore = 30
const slotSeconds = 600
const slotsPerEpoch = 4
const epochsBefore = 8

const traceForms = ['trace_block', 'debug_traceBlockByNumber', 'debug_traceTransaction'] as const

export interface Sources extends AsyncDisposable {
  readonly chain: SimulatedChain
  readonly gates: Readonly<Record<SourceName, Gate>>
  /** As in tetrad.yaml. */
  readonly settings: object
  /** Without time limits that a slow machine reaches. */
  readonly patientSettings: object
  now(): number
  /** Lets `stepMs` pass. */
  step(): void
}

export async function openSources(seed: string): Promise<Sources> {
  const draws = createSeededRandom(`${seed}/sources`)
  await using opened = new AsyncDisposableStack()
  const clock = { nowMs: testNowMs, now: () => clock.nowMs }

  const chain = new SimulatedChain({ seed, finalLag: draws.whole(2, 6), accounts: 10, busy: 3, blockSeconds })
  chain.mine(blocksBefore)
  const form = draws.pick(traceForms)
  const node = opened.use(
    new LimitedNode(chain, {
      traces: [form],
      dialect: draws.pick(dialectsWith(form)),
      batchMax: draws.pick([8, 100]),
      receipts: draws.happens(0.5),
    }),
  )
  node.laterSeconds = testNowMs / 1000 - chain.head.timeUnix
  const mineUntilNow = () => {
    const due = (clock.nowMs - testNowMs) / 1000 / blockSeconds + blocksBefore - chain.head.number
    chain.mine(Math.max(0, Math.floor(due)))
  }

  const plan = {
    ...{ slotsPerEpoch, slotSeconds, validators: 24, committeesPerSlot: 2, syncSeats: 8, syncPeriod: 4 },
    ...{ forkEpochs: presentForks, hasExecution: false },
  }
  const genesisUnix = testNowMs / 1000 - epochsBefore * slotsPerEpoch * slotSeconds
  const network = new LiveNetwork({ seed, plan, behaviour: calmBehaviour }, genesisUnix, clock)
  const isBinary = draws.happens(0.5)
  const client = createSeededRandom(`${seed}/client`).pick(Object.keys(profiles) as ClientName[])
  const beacon = opened.use(await openNode(network, { ...archiveOf(client), ssz: isBinary }))

  const markets = new MarketWorld(draws.whole(0, 1_000_000))
  const feed = opened.use(await serveAnswers(({ path }) => markets.answer(path)))
  const rates = opened.use(await serveAnswers(({ path }) => ({ body: rateDocument(seed, path, clock.nowMs) })))

  const gates = {
    chain: opened.use(await openGate(await node.listen())),
    beacon: opened.use(await openGate(beacon.url)),
    feed: opened.use(await openGate(feed.url)),
    rates: opened.use(await openGate(rates.url)),
  }
  const rangeBlocks = draws.whole(1, 60)
  const resources = opened.move()
  return {
    chain,
    gates,
    settings: settingsOf(gates, markets, rangeBlocks, timeoutMs),
    patientSettings: settingsOf(gates, markets, rangeBlocks, patientTimeoutMs),
    now: clock.now,
    step() {
      clock.nowMs += stepMs
      mineUntilNow()
      markets.step()
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const disrupted = new SeededBehaviour({
  ...{ epochs: 1_000_000, calmEpochs: 0, outage: { from: 0, until: 0 } },
  ...{ missed: 0.03, orphaned: 0.03, slashing: 0.01, balanceChanges: 0.2 },
})

/** Few enough mistakes that every epoch is finalized in time, so that a delay is the fault of the server. */
const calmBehaviour: Behaviour = {
  mistakeRates: (validator, epoch) => ({
    ...disrupted.mistakeRates(validator, epoch),
    ...{ noVote: 0.02, wrongTarget: 0.01, late: 0.1 },
  }),
  operationsAt: (slot, chain, draws) => disrupted.operationsAt(slot, chain, draws),
  proposer: () => disrupted.proposer(),
  newValidator: (index, draws) => disrupted.newValidator(index, draws),
}

function rateDocument(seed: string, path: string, nowMs: number): string {
  const draws = createSeededRandom(`${seed}/rates ${path} ${nowMs}`)
  const rate = (1.0842 * (1 + (draws.next() - 0.5) / 500)).toFixed(6)
  return JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', rate, time: new Date(nowMs).toISOString() }] })
}

const timeoutMs = 2000
const patientTimeoutMs = 100_000

const settingsOf = (
  gates: Sources['gates'],
  { style }: MarketWorld,
  rangeBlocks: number,
  timeoutMs: number,
): object => ({
  explorer: {
    chains: [{ id: '1', name: 'Simulated', mode: 'index', rpc: [{ url: gates.chain.url, timeoutMs }] }],
    index: { everyMs: 600_000, rangeBlocks },
  },
  validators: {
    networks: {
      hoodi: {
        ...{ epochsPerHour: 2, epochsPerDay: 5, hoursKeptDays: 0 },
        beacon: {
          urls: [gates.beacon.url],
          acceptAnyChain: true,
          fromEpoch: 1,
          everyMs: stepMs,
          timeoutMs,
        },
      },
    },
  },
  fx: {
    spender: '0x3333333333333333333333333333333333333333',
    sources: [
      ...['first', 'second'].map((id) => ({
        ...{ id, kind: 'http-json', url: `${gates.rates.url}/${id}` },
        ...{ everyMs: stepMs, staleMs: 4 * stepMs, timeoutMs },
      })),
      { id: 'desk', kind: 'push', staleMs: 30 * 86_400_000 },
    ],
  },
  markets: {
    feeds: [
      {
        ...{ id: 'main', url: gates.feed.url, perSecond: 1000, timeoutMs, ...style },
        ...{ everyMs: stepMs, fullEveryMs: fullPassSteps * stepMs, staleMs: 4 * stepMs },
      },
    ],
  },
})

/** Alterations that the source can make without contradicting itself are not made (docs/security.md#trust-in-sources). */
const isBelieved = {
  chain: isBelievedOfChain,
  feed: isBelievedOfMarkets,
  rates: () => false,
  // The proposer of an empty slot is not verified.
  beacon: ({ question }: { question: string }) => question.includes('/duties/proposer/'),
}

/** Alters one of the next answers of a source. */
export function alterNext(source: SourceName, seed: string, skipped: number): AlterAnswer {
  const draws = createSeededRandom(seed)
  let left = skipped
  let isDone = false
  return (question, answer) => {
    if (isDone || left-- > 0) return undefined
    const alterer = new AnswerAlterer(draws, 0)
    const altered = alterer.next(question, answer)
    const { report } = alterer
    const reports = report ? [report, { ...report, path: report.otherPath ?? report.path }] : []
    isDone = report !== undefined && !reports.some(isBelieved[source])
    return isDone ? altered : undefined
  }
}
