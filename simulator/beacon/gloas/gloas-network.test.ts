// Simulated networks that cross the fork to Gloas: what the server reads of them is what was simulated, and all events
// of the fork happen.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from '#sources/beacon/block.ts'
import { blockFromJson, blockFromSsz, withdrawalsFrom } from '#sources/beacon/block-ssz.ts'
import { envelopeFromJson, envelopeFromSsz } from '#sources/beacon/envelope.ts'
import { payloadCommitteeOf } from '#sources/beacon/payload-state.ts'
import { payloadStatus } from '#sources/beacon/payload-status.ts'
import { View } from '#sources/beacon/ssz.ts'
import { stateFromSsz } from '#sources/beacon/validators.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { blockBytes } from '../encode-block.ts'
import { blockJson } from '../encode-json.ts'
import { stateBytes } from '../encode-state.ts'
import { openNode } from '../node.ts'
import { gloasFrom, rulesOf } from '../plan.ts'
import type { SimulatedBlock } from '../records.ts'
import { builderCredentials } from './builders.ts'
import { envelopeBytes, envelopeJson } from './encode-gloas.ts'

const forkEpoch = 3
const worlds = new Map<number, CompletedNetwork>()

/** Every third network has an inactivity leak after the first builders have become active. */
const worldOf = (number: number): CompletedNetwork =>
  worlds.getOrInsertComputed(number, () =>
    simulateNetwork(`gloas/${number}`, {
      ...{ forkEpochs: gloasFrom(forkEpoch), epochs: 18, balanceChanges: 0.4, slashing: 0.06, missed: 0.1 },
      outage: number % 3 === 2 ? { from: 8, until: 13 } : { from: 0, until: 0 },
    }),
  )

const gloasBlocks = ({ blocks }: CompletedNetwork) =>
  [...blocks.values()].flatMap((block) => (block.gloas ? [{ block, parts: block.gloas }] : []))

/** Read from SSZ; compared with JSON. */
function readBlock(block: SimulatedBlock, world: CompletedNetwork): Block {
  const rules = rulesOf(world.plan)
  const read = blockFromSsz(new View(blockBytes(block, world.plan)), block.fork, rules)
  assert.deepEqual(blockFromJson(blockJson(block), block.fork, rules), read)
  return read
}

test('blocks and envelopes are read as they were simulated, from SSZ and from JSON', () => {
  const world = worldOf(0)
  const rules = rulesOf(world.plan)
  const chain = [...world.blocks.values()]
  let envelopes = 0
  for (const { block, parts } of gloasBlocks(world)) {
    const read = readBlock(block, world)
    assert.equal(read.root, block.root)
    assert.equal(read.bid?.value, Number(parts.bid.value))
    assert.equal(read.bid?.builder, parts.bid.builder === 'self' ? undefined : parts.bid.builder)
    assert.deepEqual(read.exits, parts.exits)
    assert.equal(read.payloadAttestations?.length, parts.payloadVotes.length)
    const child = chain.find(({ parentRoot }) => parentRoot === block.root)
    const status = child ? (parts.delivery === 'full' ? 'full' : 'empty') : 'unknown'
    assert.equal(payloadStatus(read, child && readBlock(child, world)), status, `slot ${block.slot}`)
    const envelope = envelopeFromSsz(new View(envelopeBytes(block, parts, world.plan)), read, rules)
    assert.deepEqual(envelopeFromJson(envelopeJson(block, parts), read, rules), envelope)
    const { withdrawals, builderWithdrawals = [] } = envelope.payload
    assert.equal(withdrawals.length + builderWithdrawals.length, block.withdrawals.length)
    envelopes += 1
  }
  assert(envelopes > 40)
})

test('states are read as they were simulated', () => {
  const world = worldOf(1)
  const rules = rulesOf(world.plan)
  const { slotsPerEpoch } = world.plan
  for (let slot = forkEpoch * slotsPerEpoch; slot < world.headSlot; slot++) {
    const snapshot = world.snapshots[slot]
    assert(snapshot?.gloas)
    const view = new View(stateBytes(slot, snapshot, world.plan))
    const { validators, finalizedEpoch } = stateFromSsz(view, rules)
    const { payloads, pending } = validators
    assert(payloads && pending)
    const { gloas } = snapshot
    const epoch = Math.floor(slot / slotsPerEpoch)
    assert.equal(finalizedEpoch, snapshot.finalized)
    assert.deepEqual(
      [...validators.balance],
      snapshot.validators.map(({ balance }) => Number(balance)),
    )
    assert.equal(payloads.latestBlockHash, gloas.latestHash)
    assert.equal(payloads.latestBid.blockHash, gloas.bid.blockHash)
    assert.equal(payloads.builders.length, gloas.builders.length * 93)
    assert.equal(payloads.builderWithdrawals.length, gloas.builderWithdrawals.length * 36)
    assert.equal(payloads.partialWithdrawals.length, gloas.partials.length * 24)
    assert.equal(payloads.nextWithdrawalValidator, gloas.nextValidator)
    assert.equal(payloads.nextWithdrawalBuilder, gloas.nextBuilder)
    const expected = withdrawalsFrom(new View(payloads.expectedWithdrawals))
    const amounts = [...expected.withdrawals, ...expected.builderWithdrawals].map(({ amount }) => amount)
    assert.deepEqual(amounts.sort(), gloas.expected.map(({ amount }) => Number(amount)).sort())
    const record = world.epochs[epoch]
    assert.deepEqual(
      [...(payloadCommitteeOf(payloads, rules, epoch, slot) ?? [])],
      record?.payloadCommittees[slot % slotsPerEpoch],
    )
    assert.equal(pending.deposits.length, snapshot.queue.length * 192)
    assert.deepEqual(snapshot.lookahead.slice(0, slotsPerEpoch), record?.proposers)
  }
})

test('each withdrawal is in one payload of the chain, and a list is repeated until a payload has it', () => {
  for (let number = 0; number < 4; number++) {
    const blocks = gloasBlocks(worldOf(number))
    const paid = blocks.filter(({ parts }) => parts.delivery === 'full').flatMap(({ block }) => block.withdrawals)
    assert.deepEqual(
      paid.map(({ index }) => index),
      paid.map((_, at) => at),
    )
    assert(paid.some(({ isBuilder }) => isBuilder))
    blocks.slice(1).forEach(({ block, parts }, at) => {
      if (!parts.isParentFull) assert.deepEqual(block.withdrawals, blocks[at]?.block.withdrawals)
    })
  }
})

test('requests act with the next block, and those of a missing payload never do', () => {
  const blocks = [0, 1, 2, 3].flatMap((number) => gloasBlocks(worldOf(number)))
  let [applied, lost] = [0, 0]
  blocks.slice(1).forEach(({ block, parts }, at) => {
    const parent = blocks[at]
    if (!parent || parent.block.root !== block.parentRoot) return
    const count = Object.values(parent.parts.requests).flat().length
    if (parts.isParentFull) {
      assert.deepEqual(parts.parentRequests, parent.parts.requests)
      applied += count
    } else {
      assert.equal(Object.values(parts.parentRequests).flat().length, 0)
      lost += count
    }
  })
  assert(applied > 30 && lost > 10, `${applied}, ${lost}`)
})

test('slashed validators are not chosen as proposers of the epoch after the next', () => {
  let slashedCount = 0
  for (let number = 0; number < 6; number++) {
    const { epochs } = worldOf(number)
    for (const { epoch, states } of epochs.slice(forkEpoch)) {
      const slashed = new Set(states[0]?.validators.flatMap((validator, index) => (validator.slashed ? [index] : [])))
      for (const proposer of epochs[epoch + 1]?.proposers ?? []) assert(!slashed.has(proposer))
      slashedCount += slashed.size
    }
  }
  assert(slashedCount > 10)
})

test('the simulated networks cover all kinds of events of Gloas', () => {
  const seen = new Map<string, number>()
  const count = (kind: string, times = 1) => seen.set(kind, (seen.get(kind) ?? 0) + times)
  for (let number = 0; number < 9; number++) {
    const world = worldOf(number)
    for (const [kind, times] of world.truth.kinds()) count(kind, times)
    for (const { isFull, isPaid, builder } of world.truth.proposals().values())
      count(`${isFull ? 'full' : 'empty'}, ${builder === 'self' ? 'own' : isPaid ? 'paid' : 'not paid'}`)
    for (const { block, parts } of gloasBlocks(world)) {
      count(parts.delivery)
      for (const { index, slot, head } of block.attestations) {
        const voted = world.epochs.flatMap(({ blocks }) => [...blocks.values()]).find(({ root }) => root === head)
        if (voted && voted.slot < slot) count(`vote for an earlier block: ${index}`)
      }
      for (const { isPresent } of parts.payloadVotes) count(`payload vote: ${isPresent}`)
      for (const { isBuilder } of block.withdrawals) count(isBuilder ? 'withdrawal of a builder' : 'withdrawal')
      count('credentials change', parts.credentialsChanges.length)
      count('exit', parts.exits.length)
      const { deposits, builderDeposits } = parts.parentRequests
      count('deposit', deposits.length)
      count('builder deposit', builderDeposits.length)
      // An exit that the limit of an epoch moved to a later one.
      const epoch = Math.floor(block.slot / world.plan.slotsPerEpoch)
      const { exitEpoch = 0 } = world.snapshots[block.slot]?.gloas ?? {}
      if (exitEpoch > epoch + 2) count('exit limit')
    }
  }
  for (const kind of [
    ...['full', 'late', 'withheld', 'full, own', 'full, paid', 'empty, own', 'empty, paid', 'empty, not paid'],
    ...['payment by quorum', 'missed quorum', 'builder at the fork', 'builder deposit', 'builder exit', 'leak'],
    ...[
      'refused builder exit',
      'partial withdrawal',
      'withdrawal',
      'withdrawal of a builder',
      'deposit',
      'deposit limit',
    ],
    ...['consolidation', 'switch to compounding', 'credentials change', 'exit', 'exit limit'],
    ...['vote for an earlier block: 0', 'vote for an earlier block: 1', 'payload vote: true', 'payload vote: false'],
  ])
    assert((seen.get(kind) ?? 0) > 3, `${kind}: ${seen.get(kind) ?? 0} times`)
  for (const kind of ['payment of a slashed proposer', 'builder index used again'])
    assert((seen.get(kind) ?? 0) > 0, `${kind}: never`)
})

test('the same seed gives the same network, also from a later epoch', () => {
  const again = simulateNetwork('gloas/0', { ...worldOf(0).plan })
  assert.deepEqual(again.epochs, worldOf(0).epochs)
})

test('a node returns envelopes, builders and payload committees', async () => {
  const world = worldOf(0)
  const { slotsPerEpoch } = world.plan
  const pruned = { until: 0 }
  await using node = await openNode(world, { ssz: true, envelopesFromSlot: () => pruned.until })
  const get = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${node.url}/eth/v1/${path}`, init)
    return {
      status: response.status,
      version: response.headers.get('eth-consensus-version'),
      json: await response.json(),
    }
  }
  const envelope = async (slot: number) => (await get(`beacon/execution_payload_envelopes/${slot}`)).status
  const slotOf = (delivery: string) =>
    gloasBlocks(world).find(({ parts }) => parts.delivery === delivery)?.block.slot as number
  const beforeFork = [...world.blocks.keys()][0] as number
  assert.deepEqual(
    await Promise.all([slotOf('full'), slotOf('late'), slotOf('withheld'), beforeFork].map(envelope)),
    [200, 200, 404, 400],
  )
  pruned.until = slotOf('full') + 1
  assert.equal(await envelope(slotOf('full')), 404)
  const post = (body: unknown) => ({ method: 'POST', body: JSON.stringify(body) })
  const builders = world.snapshots.at(-1)?.gloas?.builders ?? []
  const { json } = await get('beacon/states/head/builders', post({}))
  assert.equal(json.data.length, builders.length)
  assert.equal(json.data[0].builder.balance, String(builders[0]?.balance))
  const one = await get('beacon/states/head/builders', post({ ids: ['1'], statuses: ['active', 'exited', 'pending'] }))
  assert.deepEqual(
    one.json.data.map(({ index }: { index: string }) => index),
    ['1'],
  )
  assert.equal((await get(`beacon/states/${slotsPerEpoch}/builders`, post({}))).status, 400)
  assert.equal((await get('validator/duties/ptc/1', post(['0']))).status, 400)
  const all = world.snapshots.at(-1)?.validators.map((_, index) => String(index))
  const duties = (await get(`validator/duties/ptc/${forkEpoch + 1}`, post(all))).json.data
  const committees = world.epochs[forkEpoch + 1]?.payloadCommittees ?? []
  assert.equal(
    duties.length,
    committees.reduce((sum, seats) => sum + new Set(seats).size, 0),
  )
})

test('builder credentials contain the address', () => {
  assert.equal(builderCredentials(`0x${'ab'.repeat(20)}`), `0xb0${'00'.repeat(11)}${'ab'.repeat(20)}`)
})
