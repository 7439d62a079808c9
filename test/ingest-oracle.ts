// A small simulated chain and the responses about it, for tests that disturb ingest and compare the result with a clean
// run. They compare responses only, so that they do not depend on how data is stored.
import { strict as assert } from 'node:assert'
import { systemClock } from '#runtime/clock.ts'
import type { AppContext } from '#server/context.ts'
import type { BeaconNodeOptions, SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import { gloasFrom, presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { openNodeOfRun } from './client-of-run.ts'
import type { QuietServer } from './quiet-server.ts'
import { type CompletedNetwork, simulateNetwork } from './simulator/simulate-network.ts'

/** The forks of the chain: up to Fulu, or across the fork to Gloas. */
export const oracleForks = { fulu: presentForks, gloas: gloasFrom(2) } as const

/** Some hours span two chain days, and a UTC day ends within the chain. */
function oracleWorld(forks: keyof typeof oracleForks): CompletedNetwork {
  const world = simulateNetwork('oracle', {
    ...{ epochs: 11, slotsPerEpoch: 4, slotSeconds: 12, validators: 24, committeesPerSlot: 2, syncSeats: 8 },
    ...{ outage: { from: 0, until: 0 }, missed: 0.08, orphaned: 0.05, slashing: 0.02, balanceChanges: 0.2 },
    ...{ forkEpochs: oracleForks[forks], hasExecution: false },
  })
  assert.equal(world.finalized, oracleFinalized)
  return { ...world, genesisUnix: Date.UTC(2026, 10, 14, 23, 55, 48) / 1000 }
}

/** The finalized epoch, and the end of the coverage that follows from it. */
export const oracleFinalized = 8
export const oracleUntil = oracleFinalized - 1

/** An archive node of the client of this run. */
export const openOracleNode = (
  options: BeaconNodeOptions = {},
  forks: keyof typeof oracleForks = 'fulu',
): Promise<SimulatedBeaconNode> => openNodeOfRun(oracleWorld(forks), options)

export const oracleSettings = (url: string) => ({
  validators: {
    networks: {
      hoodi: {
        ...{ epochsPerHour: 2, epochsPerDay: 5, watch: [], hoursKeptDays: 0 },
        beacon: { urls: [url], acceptAnyChain: true, fromEpoch: 1 },
      },
    },
  },
})

/** Reads all finalized epochs. Returns the end of the coverage. */
export async function catchUp(context: AppContext, url: string): Promise<number> {
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const beacon = openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const follower = new Follower({ ...context, settings }, 'hoodi', beacon)
  return (await follower.catchUp(new AbortController().signal)).until
}

const sampleIndices = [5, 17]

/** Fails with the first request whose responses differ, and where they differ. */
export function assertSameAnswers(actual: Answers, expected: Answers, context: string): void {
  assert.deepEqual(Object.keys(actual), Object.keys(expected))
  for (const [path, clean] of Object.entries(expected)) {
    const now = actual[path] ?? ''
    if (now === clean) continue
    let at = 0
    while (now[at] === clean[at]) at += 1
    const around = (text: string) => text.slice(Math.max(0, at - 60), at + 60)
    assert.fail(`${context}: ${path}\n  clean: …${around(clean)}…\n  now:   …${around(now)}…`)
  }
}

/** Request → status, coverage and body. */
export type Answers = Readonly<Record<string, string>>

/** Responses that together depend on everything that is stored about the chain. */
export async function collectAnswers(server: QuietServer): Promise<Answers> {
  const indices = Array.from({ length: 32 }, (_, index) => index).join()
  const paths = [
    `/v0/eth/validators/effectiveness?indices=${indices}&size=1000`,
    `/v0/eth/validators/effectiveness?indices=${indices}&size=1000&filterType=hour&from=3&to=2`,
    `/v0/eth/validators/effectiveness?indices=${indices}&size=1000&granularity=all&groupBy=timeWindow`,
    ...sampleIndices.flatMap((index) => [
      `/v1/eth/validators/${index}/effectiveness?granularity=hour&limit=100`,
      `/v1/eth/validators/${index}/effectiveness?utc=true`,
      `/v1/eth/validators/${index}/explain?limit=100`,
    ]),
    ...Array.from({ length: 32 }, (_, index) => `/v0/eth/validators/${index}`),
  ]
  const answers: Record<string, string> = {}
  for (const path of paths) {
    const { status, headers, body } = await server.get(path, 'hoodi')
    const coverage = [headers['x-tetrad-as-of'], headers['x-tetrad-coverage']].join(' ')
    answers[path] = `${status} ${coverage} ${body}`
  }
  const { streams } = (await server.control('coverage')) as { streams: { name: string }[] }
  const network = streams.find(({ name }) => name === 'network hoodi') as Record<string, unknown> | undefined
  assert(network, 'the network is in the coverage report')
  // The status depends on the time of the previous report, and the speed on the machine.
  const { status: _, perSecond: __, remainingSeconds: ___, ...stored } = network
  answers.coverage = JSON.stringify(stored)
  return answers
}
