// Small networks whose beacon node alters one answer while epochs become final and are stored. What is stored meanwhile
// must be true, and after the node has recovered, everything must be stored as in a run without the alteration.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { ChainTime } from '#core/chain-time.ts'
import { BeaconApi, type NodeReply } from '#simulator/beacon/beacon-api.ts'
import type { BeaconNodeOptions } from '#simulator/beacon/node.ts'
import { gloasFrom, presentForks } from '#simulator/beacon/plan.ts'
import { BeaconError, openBeacon } from '#sources/beacon/client.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { plainTime } from '#validators/duties/layout.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { queryDuties } from '#validators/duties/store.ts'
import { createEpochProcessor } from '#validators/ingest/epochs/epoch-processor.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { StateRecords } from '#validators/ingest/read/state-records.ts'
import type { Answer, AnswerAlterer } from './altered-answer.ts'
import type { AlteredRun } from './altered-seeds.ts'
import { type AnswerRequest, type AnswerServer, serveAnswers } from './altering-proxy.ts'
import { settingsWith, type TestContext, testNowMs } from './context.ts'
import { JumpingClock } from './jumping-clock.ts'
import { MovingHead } from './simulator/moving-head.ts'
import { profiles } from './simulator/profiles.ts'
import { type CompletedNetwork, simulateNetwork } from './simulator/simulate-network.ts'
import { emptyDuties, storedRows } from './stored-duties.ts'
import { sumTruth } from './sum-truth.ts'
import { truthMeasures } from './truth-measures.ts'

const network = 'hoodi'
const { signal } = new AbortController()
const epochsPerHour = 2
const slotsPerEpoch = 4

/** Archive nodes with SSZ and with JSON, and the clients with default settings. */
const nodes: readonly BeaconNodeOptions[] = [
  { ssz: true, states: true, rewards: true },
  { rewards: true },
  ...Object.values(profiles).map((profile) => ({ profile })),
]
const networksCount = 3
/** Every second server restarts after each poll. */
export const beaconWorlds = nodes.length * networksCount * 2

/** In these, builders deliver payloads, are late and withhold them. */
const gloasSeeds = [1, 3, 4]

/** Networks of Fulu, or networks that cross the fork from it to Gloas. */
export type AlteredForks = 'fulu' | 'gloas'

function simulateChain(number: number, forks: AlteredForks): CompletedNetwork {
  const isGloas = forks === 'gloas'
  const world = simulateNetwork(isGloas ? `altered gloas ${gloasSeeds[number]}` : `altered ${number}`, {
    ...{
      epochs: isGloas ? 13 : 11,
      slotsPerEpoch,
      slotSeconds: 12,
      validators: 24,
      committeesPerSlot: 1,
      syncSeats: 8,
    },
    ...{ outage: { from: 0, until: 0 }, missed: 0.08, orphaned: 0.05, slashing: 0.02, balanceChanges: 0.2 },
    ...{ forkEpochs: isGloas ? gloasFrom(2) : presentForks, hasExecution: false, derivesDuties: true },
  })
  // Some hours span two chain days, and a UTC day ends within the chain.
  return { ...world, genesisUnix: Date.UTC(2026, 10, 14, 23, 55, 48) / 1000 }
}

/** A chain and its node, whose answers are computed once. */
class World {
  readonly chain: CompletedNetwork
  readonly restarts: boolean
  readonly hasRecords: boolean
  readonly #options: BeaconNodeOptions
  readonly #answers = new Map<string, Promise<Answer>>()
  #head: MovingHead
  #api: BeaconApi

  constructor(number: number, forks: AlteredForks) {
    this.chain = simulateChain(number % networksCount, forks)
    this.restarts = number >= beaconWorlds / 2
    this.#options = nodes[Math.floor(number / networksCount) % nodes.length] as BeaconNodeOptions
    this.hasRecords = this.#options.profile !== undefined
    this.#head = this.startAgain()
    this.#api = new BeaconApi(this.#head, this.#options)
  }

  /** Goes back to the start. */
  startAgain(): MovingHead {
    this.#head = new MovingHead(this.chain, { headSlot: 3 * slotsPerEpoch })
    this.#api = new BeaconApi(this.#head, this.#options)
    return this.#head
  }

  get slotsLeft(): number {
    return this.chain.headSlot - this.#head.headSlot
  }

  advance(slots: number): void {
    this.#head.advance(Math.min(slots, this.slotsLeft))
  }

  answer({ path, sent, accept }: AnswerRequest): Promise<Answer> {
    const key = [this.#head.headSlot, accept, path, sent].join(' ')
    const request = { url: path, headers: { accept } } as IncomingMessage
    return this.#answers.getOrInsertComputed(key, async () => toAnswer(await this.#api.respond(request, sent)))
  }
}

function toAnswer(reply: NodeReply): Answer {
  const type = 'application/json'
  if ('status' in reply) return { status: reply.status, type, body: JSON.stringify(reply.body) }
  const headers = reply.version === undefined ? {} : { 'eth-consensus-version': reply.version }
  return 'bytes' in reply
    ? { status: 200, type: 'application/octet-stream', body: reply.bytes, headers }
    : { status: 200, type, body: JSON.stringify({ ...reply.more, data: reply.json }), headers }
}

/**
 * Not the comparison with the rewards of the node, nor inactivity scores. These come from each state and only matter
 * during a leak, where they change balances (docs/security.md#trust-in-sources).
 */
const dutiesTables = [
  ...['duty_hours', 'duty_days', 'duty_presence', 'duty_units', 'duty_summaries'],
  ...['coverage', 'duty_networks', 'unexplained_balance_changes'],
]

/** The rows of each table. */
async function readTables(
  { dutiesState, duties, ingest: state }: TestContext,
  time: ChainTime,
): Promise<Record<string, readonly string[]>> {
  const rows: Record<string, readonly string[]> = { validators: texts(await state.all('select * from validators')) }
  // Their order in a row depends on which epochs were written together.
  const validators = Array.from({ length: 64 }, (_, index) => index)
  const query = { network, time: plainTime(time), validators, epochs: { from: 0, until: 100 } } as const
  rows.missed_duties = texts(await queryDuties(duties, 'listMissedDuties', query))
  for (const table of dutiesTables) rows[table] = texts(await dutiesState.all(`select * from ${table}`))
  return rows
}

const texts = (rows: readonly object[]): readonly string[] =>
  rows
    .map((row) =>
      JSON.stringify(row, (_, value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)),
    )
    .sort()

/** A server that stores the epochs of a world. */
class Ingest {
  readonly #database: TestContext
  readonly #url: string
  readonly #world: World
  readonly #clock = new JumpingClock(testNowMs)
  #follower: Follower | undefined

  constructor(database: TestContext, url: string, world: World) {
    this.#database = database
    this.#url = url
    this.#world = world
  }

  async poll(): Promise<void> {
    if (this.#world.restarts) this.#follower = undefined
    this.#follower ??= await this.#start()
    await this.#follower.catchUp(signal)
    this.#clock.advance(60_000)
  }

  async fillGaps(): Promise<void> {
    while (await this.#follower?.fillGaps(signal));
  }

  async #settings(clock = this.#clock) {
    const hoodi = {
      ...{ epochsPerHour, epochsPerDay: 5, watch: [], hoursKeptDays: 0 },
      beacon: { urls: [this.#url], fromEpoch: 1, auditValidators: 4 },
    }
    const settings = settingsWith({ validators: { networks: { [network]: hoodi } } })
    return withChainTimes({ ...this.#database, settings, clock })
  }

  async #start(): Promise<Follower> {
    const settings = await this.#settings()
    const clock = this.#clock
    const identity = await storedChain(this.#database.duties, network)
    const beacon = openBeacon({ network, urls: [this.#url], timeoutMs: 10_000, clock, identity, backoffMs: 1 })
    const records = this.#world.hasRecords ? new StateRecords(recordsDir(this.#database)) : undefined
    const processor = createEpochProcessor(beacon, { auditValidators: 4, records })
    return new Follower({ ...this.#database, settings, clock }, network, processor)
  }

  async readTime(): Promise<ChainTime> {
    return (await this.#settings()).validators.networks[network]
  }

  /** Compares every figure of the stored epochs. */
  async assertTruth(): Promise<void> {
    const covered = await coveredEpochs(this.#database.duties, network)
    if (covered.length === 0) return
    const settings = await this.#settings()
    const rows = await storedRows({ ...this.#database, settings }, network, 'hours')
    const hours = Map.groupBy(rows, ({ hour }) => hour)
    for (const [hour, hourRows] of hours) {
      const from = Math.max(hour * epochsPerHour, covered[0]?.from ?? 0)
      const stored = covered.filter((range) => range.from < from + epochsPerHour && from < range.until)
      for (const { until } of stored) {
        const truth = sumTruth(this.#world.chain.truth, from, Math.min(until, (hour + 1) * epochsPerHour))
        const sumOf = (validator: number, name: (typeof truthMeasures)[number]) =>
          hourRows.reduce((sum, row) => sum + (row.validator === validator ? row[name] : 0), 0)
        for (const [validator, sums] of truth)
          for (const name of truthMeasures)
            assert.equal(sumOf(validator, name), sums[name] ?? 0, `${name} of validator ${validator} in hour ${hour}`)
      }
    }
  }
}

const recordsDir = ({ dir }: TestContext): string => join(dir, 'beacon', network)

async function deleteAll(database: TestContext): Promise<void> {
  await emptyDuties(database)
  await database.ingest.write((tx) => tx.run('delete from validators'))
  await rm(recordsDir(database), { recursive: true, force: true })
}

/** The server is shared by all runs, which run one after the other. */
export async function openAlteredBeacon(
  database: TestContext,
  forks: AlteredForks = 'fulu',
): Promise<AsyncDisposable & { readonly run: AlteredRun }> {
  const worlds = new Map<number, World>()
  const truths = new WeakMap<World, Promise<Record<string, readonly string[]>>>()
  let world: World
  const server: AnswerServer = await serveAnswers((request) => world.answer(request))

  /** Returns what is stored in the end, and how often an answer was refused. */
  const ingest = async (alterer: AnswerAlterer | undefined) => {
    await deleteAll(database)
    world.startAgain()
    server.alterer = alterer
    const ingest = new Ingest(database, server.url, world)
    let refusals = 0
    // The node has recovered when one epoch is left.
    while (world.slotsLeft > 2 * slotsPerEpoch) {
      world.advance(slotsPerEpoch)
      await ingest.poll().catch((error: unknown) => {
        assert.ok(error instanceof BeaconError, String((error as Error).stack))
        refusals += 1
      })
      await ingest.assertTruth()
    }
    alterer?.stop()
    while (world.slotsLeft > 0) {
      world.advance(slotsPerEpoch)
      await ingest.poll()
    }
    await ingest.fillGaps()
    await ingest.assertTruth()
    return { tables: await readTables(database, await ingest.readTime()), refusals }
  }

  const run: AlteredRun = async (seed, alterer) => {
    const number = seed % beaconWorlds
    world = worlds.getOrInsertComputed(number, () => new World(number, forks))
    const truth = await truths.getOrInsertComputed(world, async () => (await ingest(undefined)).tables)
    const { tables, refusals } = await ingest(alterer)
    // A node that has deleted its states cannot return them any more. The coverage reports the missing epochs.
    const isLess = world.hasRecords && JSON.stringify(tables.coverage) !== JSON.stringify(truth.coverage)
    if (isLess) return true
    for (const [table, rows] of Object.entries(truth)) assert.deepEqual(tables[table], rows, `${table} after recovery`)
    return refusals > 0
  }
  return { run, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}
