import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchJson } from '#sources/http-client.ts'
import { demoSeed } from '../demo-seed.ts'
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
