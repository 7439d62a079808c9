import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchJson } from '#sources/http-client.ts'
import { demoSeed } from './demo-seed.ts'
import { DemoDates } from './markets/dates.ts'
import { createDemoListing } from './markets/listing.ts'
import { openNodesThread } from './open-nodes-thread.ts'

test('the nodes on the thread respond, and continue a stored chain from its genesis', async () => {
  await using nodes = openNodesThread(demoSeed)
  const { mainnet, hoodi } = await nodes.urls()
  const genesisOf = async (url: string) => {
    const body = await fetchJson(`${url}/eth/v1/beacon/genesis`, { timeoutMs: 60_000, bytesMax: 10_000 })
    return Number((body as { data: { genesis_time: string } }).data.genesis_time)
  }
  const hoodiGenesis = await genesisOf(hoodi)
  await nodes.setGenesis('mainnet', 1_700_000_000)
  assert.deepEqual([await genesisOf(mainnet), await genesisOf(hoodi)], [1_700_000_000, hoodiGenesis])
})

test('the sources of the first start respond until they are closed', async () => {
  await using nodes = openNodesThread(demoSeed, true)
  const createdMs = 1_790_000_000_000
  const { chains, markets, [Symbol.asyncDispose]: close } = await nodes.openPast(createdMs)
  const options = { timeoutMs: 60_000, bytesMax: 10_000_000 }
  const page = await fetchJson(`${markets}?limit=500&as_of=${createdMs - 3_600_000}`, options)
  const expected = createDemoListing(demoSeed, new DemoDates(createdMs), () => createdMs - 3_600_000)
    .entries()
    .map(({ value }) => value)
  assert.deepEqual(page, JSON.parse(JSON.stringify(expected)))

  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] })
  const newestOf = async (url: string) => {
    const reply = await fetchJson(url, { ...options, method: 'POST', body })
    return Number((reply as { result: { timestamp: string } }).result.timestamp)
  }
  assert.deepEqual(await Promise.all(Object.values(chains).map(newestOf)), [createdMs / 1000, createdMs / 1000])
  await close()
  await assert.rejects(newestOf(chains[1]), { failure: 'network' })
})
