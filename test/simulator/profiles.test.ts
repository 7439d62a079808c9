// Each profile returns what the client returns: for kept and pruned states, empty slots, missing blocks and endpoints.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type BeaconNodeOptions, openNode } from '#simulator/beacon/node.ts'
import { gloasFrom } from '#simulator/beacon/plan.ts'
import { BeaconError, openBeacon } from '#sources/beacon/client.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { dueMs } from '#sources/beacon/slot-timing.ts'
import { EpochReader } from '#validators/ingest/read/epoch-reader.ts'
import { MovingHead } from './moving-head.ts'
import { type ClientName, profiles } from './profiles.ts'
import { simulateNetwork } from './simulate-network.ts'

const calm = { missed: 0, orphaned: 0, slashing: 0, balanceChanges: 0, outage: { from: 0, until: 0 } }
const slotsPerEpoch = 4
/** Every slot has a block. */
const chain = simulateNetwork('profiles', { ...calm, slotsPerEpoch, epochs: 12, calmEpochs: 12 })
/** While the head is in these slots, the last slot of epoch 4 and the first one of epoch 5 are empty. */
const branches = [{ from: 19, until: 22, empty: [19, 20] }]
const checkpointSlot = 8
const clients = Object.keys(profiles) as ClientName[]

async function open(client: ClientName, headSlot: number, options: BeaconNodeOptions = {}) {
  const network = new MovingHead(chain, { headSlot, branches })
  const node = await openNode(network, { profile: profiles[client], checkpointSlot, ...options })
  const request = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${node.url}/eth/${path}`, init)
    const text = await response.text()
    const isJson = response.headers.get('content-type') === 'application/json'
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
  }
  return { network, node, request, [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() }
}

const slotConstants: Record<ClientName, readonly string[]> = {
  lighthouse: ['SECONDS_PER_SLOT'],
  teku: ['SLOT_DURATION_MS'],
  prysm: ['SECONDS_PER_SLOT', 'SLOT_DURATION_MS'],
  nimbus: ['SECONDS_PER_SLOT', 'SLOT_DURATION_MS'],
  lodestar: ['SECONDS_PER_SLOT', 'SLOT_DURATION_MS'],
  grandine: ['SECONDS_PER_SLOT', 'SLOT_DURATION_MS'],
}

for (const client of clients) {
  test(`${client}: the length of a slot and its deadlines follow from the constants that the client lists`, async () => {
    await using world = await open(client, 8)
    const { body } = await world.request('v1/config/spec')
    const { SECONDS_PER_SLOT, SLOT_DURATION_MS } = body.data
    const listed = Object.entries({ SECONDS_PER_SLOT, SLOT_DURATION_MS }).filter(([, value]) => value !== undefined)
    assert.deepEqual(
      listed.map(([name]) => name),
      slotConstants[client],
    )
    const rules = readRules(body.data)
    assert.equal(rules.slotSeconds, chain.plan.slotSeconds)
    assert.equal(dueMs(rules, 'attestation', 0), Math.floor((chain.plan.slotSeconds * 3333) / 10))
  })
}

test('whichever constants a client lists, deadlines change with the first epoch of Gloas', async () => {
  const world = simulateNetwork('deadlines', {
    ...calm,
    slotsPerEpoch,
    epochs: 3,
    slotSeconds: 6,
    forkEpochs: gloasFrom(2),
  })
  for (const client of clients) {
    await using node = await openNode(world, { profile: profiles[client] })
    const rules = readRules((await (await fetch(`${node.url}/eth/v1/config/spec`)).json()).data)
    const dueIn = (epoch: number) =>
      (['attestation', 'payloadAttestation'] as const).map((duty) => dueMs(rules, duty, epoch))
    assert.deepEqual(
      [dueIn(1), dueIn(2)],
      [
        [1999, undefined],
        [1500, 4500],
      ],
      client,
    )
  }
})

const post = { method: 'POST', body: '["0"]', headers: { 'content-type': 'application/json' } }

/** At head slot 38, epoch 7 is finalized. */
const statesFrom: Record<ClientName, number> = {
  ...{ lighthouse: 28, teku: 28, lodestar: 28 },
  ...{ prysm: checkpointSlot, nimbus: checkpointSlot, grandine: checkpointSlot },
}

const future: Record<ClientName, Record<'state' | 'duties', number>> = {
  lighthouse: { state: 404, duties: 400 },
  teku: { state: 404, duties: 400 },
  prysm: { state: 500, duties: 400 },
  nimbus: { state: 404, duties: 400 },
  lodestar: { state: 404, duties: 400 },
  grandine: { state: 404, duties: 500 },
}

const pruned: Record<ClientName, Record<'state' | 'duties', [number, RegExp]>> = {
  lighthouse: {
    state: [404, /^NOT_FOUND: beacon state at slot 7$/],
    duties: [404, /^NOT_FOUND: beacon state at slot 4$/],
  },
  teku: { state: [404, /^Not found$/], duties: [503, /syncing/] },
  prysm: { state: [404, /^State not found$/], duties: [404, /^State not found$/] },
  nimbus: { state: [404, /requested state/], duties: [400, /pruned historical state/] },
  lodestar: { state: [500, /--serveHistoricalState/], duties: [500, /--serveHistoricalState/] },
  grandine: { state: [404, /^state not found$/], duties: [404, /^state not found$/] },
}

for (const client of clients) {
  describe(client, () => {
    test('keeps states from its first slot on, and reports others as the client does', async () => {
      await using node = await open(client, 38)
      assert.equal((await node.request('v1/beacon/states/head/finality_checkpoints')).body.data.finalized.epoch, '7')
      const first = statesFrom[client]
      for (const resource of [
        'validators',
        'validator_balances',
        'committees',
        'sync_committees',
        'pending_deposits',
      ]) {
        assert.equal((await node.request(`v1/beacon/states/${first}/${resource}`)).status, 200, resource)
        assert.notEqual((await node.request(`v1/beacon/states/${first - 1}/${resource}`)).status, 200, resource)
      }
      assert.equal((await node.request(`v2/debug/beacon/states/${first}`)).status, 200)
      const state = await node.request('v2/debug/beacon/states/7')
      const duties = await node.request('v1/validator/duties/proposer/1')
      for (const [reply, [status, message]] of [
        [state, pruned[client].state],
        [duties, pruned[client].duties],
      ] as const) {
        assert.equal(reply.status, status)
        assert.equal(reply.body.code, status)
        assert.match(reply.body.message, message)
      }
    })

    test('reports future states and duties as the client does', async () => {
      await using node = await open(client, 38)
      assert.equal((await node.request('v1/beacon/states/39/validators')).status, future[client].state)
      assert.equal((await node.request('v1/validator/duties/proposer/10')).status, 200, 'the next epoch')
      assert.equal((await node.request('v1/validator/duties/proposer/11')).status, future[client].duties)
    })

    test('returns blocks and full states as SSZ with their fork', async () => {
      await using node = await open(client, 38)
      const accept = { headers: { accept: 'application/octet-stream' } }
      for (const path of ['v2/beacon/blocks/38', 'v2/debug/beacon/states/38']) {
        const { headers } = await node.request(path, accept)
        assert.equal(headers.get('content-type'), 'application/octet-stream')
        assert.equal(headers.get('eth-consensus-version'), chain.blocks.get(38)?.fork)
      }
    })

    test('reports an empty slot and an unknown endpoint as not found', async () => {
      await using node = await open(client, 21)
      assert.equal((await node.request('v2/beacon/blocks/20')).status, 404)
      assert.equal((await node.request('v1/beacon/headers/20')).status, 404)
      assert.equal((await node.request('v1/beacon/unheard_of')).status, 404)
    })

    test('adds the members of the Beacon API to its responses', async () => {
      await using node = await open(client, 38)
      const { execution_optimistic, finalized } = (await node.request('v1/beacon/states/28/validators')).body
      assert.deepEqual({ execution_optimistic, finalized }, { execution_optimistic: false, finalized: true })
      assert.equal((await node.request('v2/beacon/blocks/38')).body.finalized, false)
      const duties = (await node.request('v1/validator/duties/proposer/9')).body
      assert.equal(duties.dependent_root, chain.blocks.get(35)?.root)
      const attester = (await node.request('v1/validator/duties/attester/9', post)).body
      assert.equal(attester.dependent_root, chain.blocks.get(31)?.root)
    })

    test('reports rewards for the epochs whose states it has', async () => {
      await using node = await open(client, 38)
      const { attestationRewards } = profiles[client]
      const rewards = (epoch: number) => node.request(`v1/beacon/rewards/attestations/${epoch}`, post)
      assert.equal((await rewards(7)).status, attestationRewards ? 200 : 404)
      assert.notEqual((await rewards(8)).status, 200, 'not known yet')
      assert.equal((await rewards(2)).status === 200, client === 'prysm')
      assert.equal((await node.request('v1/beacon/rewards/blocks/38')).status, 200)
      assert.equal((await node.request('v1/beacon/rewards/blocks/12')).status === 200, statesFrom[client] < 12)
    })

    test('is enough to read an epoch while its states are kept', async () => {
      await using node = await open(client, 38)
      const beacon = openBeacon({
        network: 'hoodi',
        urls: [node.node.url],
        timeoutMs: 5000,
        clock: systemClock,
        backoffMs: 1,
      })
      const reader = new EpochReader(beacon, (await beacon.chain()).rules)
      const { blocks } = await reader.read(7)
      assert.equal(blocks.length, 2 * slotsPerEpoch, 'blocks of the epoch and the next one')
      if (statesFrom[client] === 28) await assert.rejects(reader.read(5), BeaconError)
    })
  })
}

test('the state of an empty slot after the newest block is the slot itself, an earlier one or missing', async () => {
  // Slot 20 begins epoch 5 and is empty; the newest block is that of slot 18.
  for (const client of clients) {
    await using node = await open(client, 20)
    /** The slot is the third field of a state, after 40 bytes. */
    const stateSlot = async () => {
      const response = await fetch(`${node.node.url}/eth/v2/debug/beacon/states/20`)
      return response.ok ? Number(Buffer.from(await response.bytes()).readBigUInt64LE(40)) : undefined
    }
    const expected = { advanced: 20, 'of head block': 18, missing: undefined }
    assert.equal(await stateSlot(), expected[profiles[client].emptyHead], client)
    node.network.advance()
    assert.equal(await stateSlot(), 20, `${client} has the state when there is a later block`)
  }
})

test('a client that keeps states since the finalized epoch has the first state of an epoch for three epochs', async () => {
  for (const client of clients.filter((name) => profiles[name].statesFromSlot === profiles.lighthouse.statesFromSlot)) {
    await using node = await open(client, 23)
    const kept: number[] = []
    while (node.network.headSlot < 40) {
      node.network.advance()
      const { status } = await node.request('v1/beacon/states/24/validators')
      if (status === 200) kept.push(node.network.headSlot)
    }
    assert.deepEqual(
      kept,
      Array.from({ length: 3 * slotsPerEpoch }, (_, at) => 24 + at),
      client,
    )
  }
})

test('single features replace those of a profile', async () => {
  await using node = await open('lighthouse', 38, { statesFromSlot: () => 0, rewards: false })
  assert.equal((await node.request('v1/beacon/states/7/validators')).status, 200)
  assert.equal((await node.request('v1/beacon/rewards/blocks/38')).status, 404)
})

test('a client without an envelope answers as its source does: never published, pruned, or of a block before Gloas', async () => {
  const world = simulateNetwork('envelopes', {
    ...{ epochs: 9, calmEpochs: 9, outage: { from: 0, until: 0 }, missed: 0, slotsPerEpoch: 4 },
    forkEpochs: gloasFrom(2),
  })
  const slotOf = (delivery: string | undefined) =>
    [...world.blocks.values()].find(({ gloas }) => gloas?.delivery === delivery)?.slot as number
  const statuses = Object.entries(profiles).map(async ([client, profile]) => {
    await using node = await openNode(world, { profile, envelopesFromSlot: () => slotOf('full') + 1 })
    const status = async (slot: number) =>
      (await fetch(`${node.url}/eth/v1/beacon/execution_payload_envelopes/${slot}`)).status
    return [client, [await status(slotOf('withheld')), await status(slotOf('full')), await status(slotOf(undefined))]]
  })
  assert.deepEqual(Object.fromEntries(await Promise.all(statuses)), {
    lighthouse: [404, 404, 404],
    teku: [404, 404, 404],
    prysm: [404, 500, 404],
    nimbus: [404, 404, 400],
    lodestar: [404, 404, 400],
    grandine: [404, 404, 400],
  })
})
