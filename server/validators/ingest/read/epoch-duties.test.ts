// Proposers and committees are computed, so that wrong duties of a node change nothing: with the recordings of a real node
// (Deneb) and of Lodestar (Deneb to Fulu), and with a simulated Fulu chain.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type BeaconNodeOptions, openNode } from '#simulator/beacon/node.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import type { TruthRow } from '#simulator/beacon/truth.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { committeesFromJson } from '#sources/beacon/committees.ts'
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import { jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openReplay, unpackRecording } from '#test/beacon-replay.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { profiles } from '#test/simulator/profiles.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { emptyDuties, storedRows } from '#test/stored-duties.ts'
import { penalties, rewards } from '#validators/method/measures.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { createEpochProcessor } from '../epochs/epoch-processor.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from './chain-identity.ts'
import { EpochReader } from './epoch-reader.ts'

const network = 'hoodi'

interface Duty {
  readonly slot: string
  validator_index: string
}

/** Names another validator for every slot without a block. Blocks show who proposed in the others. */
const wrongDuties = (hasBlock: (slot: number) => boolean) =>
  jsonAt<Duty[]>(/\/duties\/proposer\/\d+$/, (duties) => {
    for (const duty of duties)
      if (!hasBlock(Number(duty.slot))) duty.validator_index = String((Number(duty.validator_index) + 1) % 20)
  })

interface Recording {
  readonly recording: string
  readonly ssz: boolean
  /** Epochs that can be read. */
  readonly epochs: number
}

const folder = join(import.meta.dirname, '../../../../test/recordings/lodestar')
const recordings: readonly Recording[] = [
  // The real node was recorded without whole states.
  { recording: 'beacon', ssz: false, epochs: 12 },
  ...readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return []
    const recording = `lodestar/${entry.name}`
    const truth = JSON.parse(unpackRecording(`${recording}/truth.json`)) as { hasJson: boolean; finalizedEpoch: number }
    const formats = truth.hasJson ? [true, false] : [true]
    return formats.map((ssz) => ({ recording, ssz, epochs: truth.finalizedEpoch - 1 }))
  }),
]

for (const { recording, ssz, epochs } of recordings) {
  test(`${recording}, ${ssz ? 'SSZ' : 'JSON'}: computed proposers and committees equal those of the chain`, async () => {
    const exchanges = unpackRecording(`${recording}/exchanges.ndjson`)
    const found = exchanges.matchAll(/"\/eth\/v2\/beacon\/blocks\/(\d+)"[^}]*?"status":200/g)
    const withBlock = new Set(Array.from(found, ([, slot]) => Number(slot)))
    await using node = await openReplay({ recording, ssz, derived: recording === 'beacon' })
    await using proxy = await openAlteringProxy(
      node.url,
      wrongDuties((slot) => withBlock.has(slot)),
    )
    const beacon = openBeacon({ network, urls: [proxy.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
    const { rules } = await beacon.chain()
    const reader = new EpochReader(beacon, rules)
    let emptySlots = 0
    for (let epoch = 0; epoch < epochs; epoch++) {
      const { proposers, committees } = await reader.read(epoch)
      const reply = await fetch(`${node.url}/eth/v1/validator/duties/proposer/${epoch}`)
      const { data } = (await reply.json()) as { data: Duty[] }
      // The mixes that the first two epochs depend on are in states only.
      if (!ssz && epoch < 2) continue
      for (const [at, { slot, validator_index }] of data.entries()) {
        if (slot === '0') continue
        assert.equal(proposers[at], Number(validator_index), `slot ${slot}`)
        if (!withBlock.has(Number(slot))) emptySlots += 1
      }
      const first = firstSlotAt(rules, epoch)
      const listed = await fetch(`${node.url}/eth/v1/beacon/states/${first}/committees?epoch=${epoch}`)
      const { data: members } = (await listed.json()) as { data: unknown }
      assert.deepEqual(committees, committeesFromJson(members, first, rules.slotsPerEpoch))
    }
    assert.ok(emptySlots > 0)
    // The reader requests the committees of the epochs that this test does not request, and no others.
    const requested = node.requests.filter((path) => path.includes('/committees?'))
    assert.equal(requested.length, epochs)
  })
}

describe('a simulated chain', async () => {
  const world = simulateNetwork('proposers', {
    ...{ epochs: 14, slotsPerEpoch: 4, slotSeconds: 12, validators: 24, committeesPerSlot: 1, syncSeats: 8 },
    ...{ outage: { from: 0, until: 0 }, missed: 0.2, orphaned: 0.05, slashing: 0.02, balanceChanges: 0.2 },
    ...{ forkEpochs: presentForks, hasExecution: false, derivesDuties: true },
  })
  const context = await openContext()
  after(() => context[Symbol.asyncDispose]())
  afterEach(async () => {
    await emptyDuties(context)
    await context.ingest.write((tx) => tx.run('delete from validators'))
  })

  async function ingest(urls: readonly string[]) {
    const hoodi = { epochsPerHour: 1, epochsPerDay: 6, beacon: { urls, fromEpoch: 2 } }
    const configured = settingsWith({ validators: { networks: { [network]: hoodi } } })
    const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
    const beacon = openBeacon({ network, urls, timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
    await new Follower({ ...context, settings }, network, createEpochProcessor(beacon)).catchUp(
      new AbortController().signal,
    )
    assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 2, until: world.finalized - 1 }])
    return storedRows({ ...context, settings }, network, 'hours')
  }

  const nodes: Record<string, BeaconNodeOptions> = {
    'with whole states': { ssz: true, states: true },
    'with JSON only': {},
    'of a client': { profile: profiles.lighthouse, statesFromSlot: () => 0, blocksFromSlot: () => 0 },
  }
  /** Two validators of an epoch that earn the same with their votes, although one was included later. */
  function swapIn(epoch: number): readonly string[] {
    const voters = [...world.truth.rows(epoch)].filter(([, { included }]) => included)
    const earnedBy = (row: TruthRow) => [...rewards, ...penalties].map((name) => row[name] ?? 0).join(' ')
    for (const [one, row] of voters) {
      const isSame = ([, other]: (typeof voters)[number]) =>
        other.inclusion_delay !== row.inclusion_delay && earnedBy(other) === earnedBy(row)
      const other = voters.find(isSame)
      if (other) return [one, other[0]].map(String)
    }
    return []
  }

  interface Committee {
    readonly slot: string
    validators: readonly string[]
  }
  const swappedMembers = jsonAt<Committee[]>(/\/committees\?epoch=\d+$/, (committees) => {
    const swap = swapIn(Math.floor(Number(committees[0]?.slot) / world.plan.slotsPerEpoch))
    const replace = (member: string) => swap.find((other) => swap.includes(member) && other !== member) ?? member
    for (const committee of committees) committee.validators = committee.validators.map(replace)
  })

  for (const [name, options] of Object.entries(nodes)) {
    test(`wrong proposer duties of a node ${name} change no figure, and do not stop a second node`, async () => {
      await using node = await openNode(world, options)
      const truth = await ingest([node.url])
      await using wrong = await openAlteringProxy(
        node.url,
        wrongDuties((slot) => world.blocks.has(slot)),
      )
      for (const urls of [[wrong.url], [wrong.url, node.url], [node.url, wrong.url]]) {
        await emptyDuties(context)
        assert.deepEqual(await ingest(urls), truth)
      }
    })

    test(`committees of a node ${name} that contradict no balance change no figure`, async () => {
      await using node = await openNode(world, options)
      const truth = await ingest([node.url])
      await using wrong = await openAlteringProxy(node.url, swappedMembers)
      await emptyDuties(context)
      assert.deepEqual(await ingest([wrong.url]), truth)
    })
  }
})
