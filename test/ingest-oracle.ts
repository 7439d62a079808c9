// A small chain and the answers about it, for tests that disturb its ingest and compare the outcome with that of a clean run.
// They use no store, so that they hold for any.
import { strict as assert } from 'node:assert'
import { systemClock } from '#runtime/clock.ts'
import type { AppContext } from '#server/context.ts'
import { type CompletedNetwork, simulateNetwork } from '#simulator/beacon/networks.ts'
import { type BeaconNodeOptions, openNode, type SimBeaconNode } from '#simulator/beacon/node.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import type { QuietServer } from './quiet-server.ts'

/** Hours cross the ends of chain days, and a UTC day ends. */
export function oracleWorld(): CompletedNetwork {
  const world = simulateNetwork('oracle', {
    ...{ epochs: 11, slotsPerEpoch: 4, slotSeconds: 12, validators: 24, committeesPerSlot: 2, syncSeats: 8 },
    ...{ outage: { from: 0, until: 0 }, missed: 0.08, orphaned: 0.05, slashing: 0.02, balanceChanges: 0.2 },
    ...{ forkEpochs: presentForks, hasExecution: false },
  })
  assert.equal(world.finalized, oracleFinalized)
  return { ...world, genesisUnix: Date.UTC(2026, 10, 14, 23, 55, 48) / 1000 }
}

/** Finality of the chain, and where reading ends because of it. */
export const oracleFinalized = 8
export const oracleUntil = oracleFinalized - 1

/** How a node gives its answers: as SSZ with whole states, or as JSON. Each is read by other code. */
export const nodeForms: readonly BeaconNodeOptions[] = [{ ssz: true, states: true, rewards: true }, { rewards: true }]

export const openOracleNode = (habits: BeaconNodeOptions = {}): Promise<SimBeaconNode> =>
  openNode(oracleWorld(), habits)

export const oracleSettings = (url: string) => ({
  validators: {
    networks: {
      hoodi: {
        ...{ epochsPerHour: 2, epochsPerDay: 5, watch: [], hoursKeptDays: 0 },
        beacon: { urls: [url], fromEpoch: 1, auditValidators: 4 },
      },
    },
  },
})

/** Reads all that is final; the result is where it ended. A node that failed is asked again at once. */
export async function catchUp(context: AppContext, url: string): Promise<number> {
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const beacon = openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const follower = new Follower({ ...context, settings }, 'hoodi', beacon)
  return (await follower.catchUp(new AbortController().signal)).until
}

const some = [5, 17]

/** Fails with the first request whose answer is another one, and where the two differ. */
export function assertSameAnswers(actual: Answers, expected: Answers, context: string): void {
  assert.deepEqual(Object.keys(actual), Object.keys(expected))
  for (const [path, wanted] of Object.entries(expected)) {
    const found = actual[path] ?? ''
    if (found === wanted) continue
    let at = 0
    while (found[at] === wanted[at]) at += 1
    const around = (text: string) => text.slice(Math.max(0, at - 60), at + 60)
    assert.fail(`${context}: ${path}\n  clean: …${around(wanted)}…\n  now:   …${around(found)}…`)
  }
}

/** Request → status, coverage and body. */
export type Answers = Readonly<Record<string, string>>

/** Answers that together depend on everything which is stored about the chain. */
export async function collectAnswers(server: QuietServer): Promise<Answers> {
  const everyone = Array.from({ length: 32 }, (_, index) => index).join()
  const paths = [
    `/v0/eth/validators/effectiveness?indices=${everyone}&size=1000`,
    `/v0/eth/validators/effectiveness?indices=${everyone}&size=1000&filterType=hour&from=3&to=2`,
    `/v0/eth/validators/effectiveness?indices=${everyone}&size=1000&granularity=all&groupBy=timeWindow`,
    ...some.flatMap((who) => [
      `/v1/eth/validators/${who}/effectiveness?granularity=hour&limit=100`,
      `/v1/eth/validators/${who}/effectiveness?utc=true`,
      `/v1/eth/validators/${who}/explain?limit=100`,
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
  // Whether it moves depends on when it was looked at before.
  const { standing: _, ...stored } = network
  answers.coverage = JSON.stringify(stored)
  return answers
}
