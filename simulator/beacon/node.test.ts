// Tests of the simulated node: SSZ and JSON agree, states can be requested by id, and options have their effect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blockFromJson, blockFromSsz } from '#sources/beacon/block-ssz.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
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
