// Tests of the simulated node: SSZ and JSON agree, states can be requested by id, and options have their effect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { blockFromJson, blockFromSsz } from '#sources/beacon/block-ssz.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { EpochReader } from '#validators/ingest/read/epoch-reader.ts'
import { openExecution } from './execution.ts'
import { openNode } from './node.ts'
import { specOf } from './plan.ts'

const dataOf = async (url: string): Promise<unknown> => ((await (await fetch(url)).json()) as { data: unknown }).data

/** Makes Buffer and Uint8Array comparable. */
const plain = (block: object): unknown =>
  JSON.parse(
    JSON.stringify(block, (_, value) => {
      if (typeof value === 'bigint') return String(value)
      return value instanceof Uint8Array ? [...value] : value?.type === 'Buffer' ? value.data : value
    }),
  )

test('a block is the same as SSZ and as JSON, in every fork', async () => {
  const seen = new Set<string>()
  for (let number = 0; number < 12; number++) {
    const world = simulateNetwork(`forms/${number}`, { epochs: 9 })
    await using node = await openNode(world, { ssz: true })
    const rules = readRules(specOf(world.plan, '1'))
    for (const { slot, fork, root } of [...world.blocks.values()].filter((_, at) => at % 5 === 0)) {
      const url = `${node.url}/eth/v2/beacon/blocks/${slot}`
      const bytes = await (await fetch(url, { headers: { accept: 'application/octet-stream' } })).bytes()
      const [ssz, json] = [blockFromSsz(new View(bytes), fork, rules), blockFromJson(await dataOf(url), fork, rules)]
      assert.deepEqual(plain(ssz), plain(json), `slot ${slot}`)
      assert.equal(ssz.root, root)
      seen.add(fork)
    }
  }
  assert.equal(seen.size, 6)
})

test('states can be requested by slot, as head and as finalized', async () => {
  const world = simulateNetwork('names')
  await using node = await openNode(world)
  const at = (state: string | number) => dataOf(`${node.url}/eth/v1/beacon/states/${state}/validators/3`)
  assert.deepEqual(await at('head'), await at(world.headSlot))
  assert.deepEqual(await at('finalized'), await at(world.finalized * world.plan.slotsPerEpoch))
  assert.equal((await fetch(`${node.url}/eth/v1/beacon/states/${world.headSlot + 1}/validators`)).status, 404)
})

test('a node that prunes keeps blocks, but no earlier states and duties', async () => {
  const world = simulateNetwork('pruned')
  const { slotsPerEpoch } = world.plan
  const first = 2 * slotsPerEpoch
  await using node = await openNode(world, { statesFromSlot: () => first })
  const status = async (path: string) => (await fetch(`${node.url}/eth/${path}`)).status
  for (const [slot, expected] of [
    [first - 1, 404],
    [first, 200],
  ] as const) {
    assert.equal(await status(`v1/beacon/states/${slot}/validators`), expected)
    assert.equal(await status(`v1/beacon/states/${slot}/committees`), expected)
  }
  assert.equal(await status('v1/validator/duties/proposer/1'), 404)
  assert.equal(await status('v1/validator/duties/proposer/2'), 200)
  const slot = [...world.blocks.keys()].find((at) => at < first)
  assert.equal(await status(`v2/beacon/blocks/${slot}`), 200)
  const head = (await dataOf(`${node.url}/eth/v1/beacon/headers/head`)) as { root: string }
  assert.equal(head.root, world.blocks.get(Math.max(...world.blocks.keys()))?.root)
})

test('the epoch reader detects that a node lacks a block', async () => {
  const world = simulateNetwork('lacking', { missed: 0, orphaned: 0, slashing: 0, outage: { from: 0, until: 0 } })
  const [, , missing] = [...world.blocks.keys()]
  await using node = await openNode(world, { lacks: (slot) => slot === missing })
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 5000, clock: systemClock })
  const { rules } = await beacon.chain()
  await assert.rejects(new EpochReader(beacon, rules).read(0), /the node lacks blocks between them/)
})

test('full states are requested again some epochs after a node did not offer them', async () => {
  const world = simulateNetwork('states', {
    ...{ epochs: 18, outage: { from: 0, until: 0 }, slashing: 0, balanceChanges: 0 },
    ...{ slotsPerEpoch: 4, validators: 24 },
  })
  const options = { states: false }
  await using node = await openNode(world, options)
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 5000, clock: systemClock })
  const reader = new EpochReader(beacon, (await beacon.chain()).rules)
  // Only full states contain inactivity scores.
  const hasScores = async (epoch: number) => (await reader.read(epoch)).atEnd.scores !== undefined
  assert.equal(await hasScores(0), false)
  options.states = true
  const results: boolean[] = []
  for (let epoch = 1; epoch < 14; epoch++) results.push(await hasScores(epoch))
  assert.equal(results[0], false, 'it is not requested for every epoch')
  assert.equal(results.at(-1), true)
})

test('deposits are numbered without gaps, and each has a sender', async () => {
  const world = simulateNetwork('paying', {
    balanceChanges: 0.4,
    outage: { from: 0, until: 0 },
    slashing: 0,
    hasExecution: true,
  })
  await using node = await openExecution(world, '1')
  const call = async (method: string, ...params: unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return ((await (await fetch(node.url, { method: 'POST', body })).json()) as { result: unknown }).result
  }
  const { number } = (await call('eth_getBlockByNumber', 'finalized', false)) as { number: string }
  const address = specOf(world.plan, '1').DEPOSIT_CONTRACT_ADDRESS
  type Log = { data: string; transactionHash: string }
  const logs = (await call('eth_getLogs', { address, fromBlock: '0x0', toBlock: number })) as Log[]
  assert(logs.length > world.plan.validators, `${logs.length}`)
  for (const [at, { data, transactionHash }] of logs.entries()) {
    // The last parameter is the number: its length, then eight little-endian bytes.
    assert.equal(Buffer.from(data.slice(-64), 'hex').readBigUInt64LE(0), BigInt(at))
    const { from } = (await call('eth_getTransactionByHash', transactionHash)) as { from: string }
    assert.equal(from, world.epochs.at(-1)?.deposits[at]?.from)
  }
})
