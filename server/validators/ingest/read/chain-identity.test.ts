// A node is used only if it is on the chain that the settings name (behaviour/validators.md#one-chain-per-network).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { knownChains } from '#core/known-chains.ts'
import { systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { openExecution } from '#simulator/beacon/execution.ts'
import { jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, plainSettings } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { storedChain } from '../../duties/networks.ts'
import { beaconFindings, startBeacon } from '../start.ts'
import { findRun } from '../status/ingest-status.ts'
import { expectedChain, withChainTimes } from './chain-identity.ts'

const network = 'mainnet'
const chain = simulateNetwork('identity', { epochs: 8, outage: { from: 0, until: 0 } })
/** Of all simulated chains. */
const simulatedRoot = `0x${'22'.repeat(32)}`

const genesisOf = (genesisUnix: number, genesisRoot = simulatedRoot) =>
  jsonAt(/\/beacon\/genesis$/, (data: object) => ({
    ...data,
    genesis_time: String(genesisUnix),
    genesis_validators_root: genesisRoot,
  }))

/** A server with a new data folder, which stops when it has stored an epoch or when its first poll has failed. */
async function startServer(urls: readonly string[], changes: object = {}) {
  const plain = await openContext()
  const lines: string[] = []
  const hoursAndDays = { epochsPerHour: 1, epochsPerDay: 4 }
  const read = async (more: object = changes) => {
    const options = { ...hoursAndDays, ...more, beacon: { urls, fromEpoch: 0 } }
    const configured = plainSettings({ validators: { networks: { [network]: options } } })
    const log = openLog('info', (line) => lines.push(line))
    const settings = await withChainTimes({ ...plain, settings: configured, clock: systemClock, log })
    const context = { ...plain, settings, clock: systemClock, log }
    const stop = new AbortController()
    const running = startBeacon(context, stop.signal, () => stop.abort())
    const status = () => findRun(context, network)?.status
    const hasBegun = () => stop.signal.aborted || status()?.polls || status()?.lastError
    await waitUntil(() => Boolean(hasBegun()))
    const [finding] = await beaconFindings(context)
    stop.abort()
    await running
    const stored = await coveredEpochs(context.duties, network)
    return { finding, epochs: stored.at(-1)?.until ?? 0, chain: await storedChain(context.duties, network) }
  }
  return { lines, read, [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose]() }
}

test('execution nodes of another chain stop ingest at once, with the reason and the setting', async () => {
  const paying = simulateNetwork('identity', { epochs: 8, hasExecution: true, outage: { from: 0, until: 0 } })
  await using node = await openNodeOfRun(paying)
  await using execution = await openExecution(paying, '32382')
  await using server = await startServer([node.url], { genesisUnix: paying.genesisUnix })
  const { finding, epochs } = await server.read({
    ...{ genesisUnix: paying.genesisUnix, execution: { rpc: [{ url: execution.url }] } },
  })
  assert.deepEqual([finding?.ok, epochs], [false, 0])
  const setting = 'validators\\.networks\\.mainnet\\.execution\\.chainId'
  const reason = new RegExp(`its execution nodes are refused: mainnet: .* is on chain 32382, not 1: .*${setting}`)
  assert.match(finding?.message ?? '', reason)
})

describe('a node of another network', () => {
  test('is refused on a new data folder, in the log and in /readyz', async () => {
    await using node = await openNodeOfRun(chain)
    await using server = await startServer([node.url])
    const { finding, epochs, chain: stored } = await server.read()
    assert.deepEqual([finding?.ok, epochs, stored], [false, 0, undefined])
    const reason = `it is on another chain: genesisUnix is ${chain.genesisUnix}, not ${knownChains.mainnet.genesisUnix}`
    assert.ok(finding?.message?.includes(`its beacon node is refused: mainnet: ${node.url}: ${reason}`))
    assert.ok(server.lines.some((line) => line.includes(reason) && line.includes('refused')))
  })

  test('with the genesis time of the network is refused because of its root', async () => {
    await using node = await openNodeOfRun(chain)
    await using proxy = await openAlteringProxy(node.url, genesisOf(knownChains.mainnet.genesisUnix))
    await using server = await startServer([proxy.url])
    const { finding, epochs } = await server.read()
    assert.deepEqual([finding?.ok, epochs], [false, 0])
    const { genesisRoot } = knownChains.mainnet
    assert.match(
      finding?.message ?? '',
      new RegExp(`another chain: genesisRoot is ${simulatedRoot}, not ${genesisRoot}`),
    )
  })

  test('is named if it is known', async () => {
    await using node = await openNodeOfRun(chain)
    const { genesisUnix, genesisRoot } = knownChains.sepolia
    await using proxy = await openAlteringProxy(node.url, genesisOf(genesisUnix, genesisRoot))
    await using server = await startServer([proxy.url])
    assert.match((await server.read()).finding?.message ?? '', /it is on another chain \(sepolia\): genesisUnix is/)
  })

  test('is not used next to a node of the network', async () => {
    await using node = await openNodeOfRun(chain)
    await using other = await openAlteringProxy(node.url, genesisOf(999))
    await using server = await startServer([other.url, node.url], { genesisUnix: chain.genesisUnix })
    const { epochs, chain: stored } = await server.read()
    assert.deepEqual([epochs > 0, stored?.genesisUnix], [true, chain.genesisUnix])
  })

  test('is refused with data of that network too, once the settings do not name it any more', async () => {
    await using node = await openNodeOfRun(chain)
    await using server = await startServer([node.url])
    const { epochs } = await server.read({ genesisUnix: chain.genesisUnix })
    assert.ok(epochs > 0)
    const again = await server.read()
    assert.deepEqual([again.finding?.ok, again.epochs], [false, epochs])
    assert.match(again.finding?.message ?? '', /its beacon node is refused: .*another chain: genesisRoot is 0x22/)
  })
})

test('a chain of your own is read if its genesis time is set; its root is compared if it is set', async () => {
  await using node = await openNodeOfRun(chain)
  for (const changes of [{}, { genesisRoot: simulatedRoot }]) {
    await using server = await startServer([node.url], { genesisUnix: chain.genesisUnix, ...changes })
    assert.ok((await server.read()).epochs > 0)
  }
  const genesisRoot = `0x${'33'.repeat(32)}`
  await using server = await startServer([node.url], { genesisUnix: chain.genesisUnix, genesisRoot })
  const { finding, epochs } = await server.read()
  assert.deepEqual([finding?.ok, epochs], [false, 0])
})

test('what the settings say about a chain', () => {
  const expected = (options: object) =>
    expectedChain(
      network,
      plainSettings({ validators: { networks: { [network]: options } } }).validators.networks[network],
    )
  assert.deepEqual(expected({}), knownChains.mainnet)
  assert.deepEqual(expected({ genesisUnix: 5 }), { genesisUnix: 5 })
  assert.deepEqual(expected({ genesisUnix: 5, genesisRoot: simulatedRoot }), {
    genesisUnix: 5,
    genesisRoot: simulatedRoot,
  })
  assert.deepEqual(expected({ beacon: { acceptAnyChain: true } }), {})
  const { genesisRoot: _, ...time } = knownChains.mainnet
  assert.deepEqual(expected({ genesisRoot: simulatedRoot }), { ...time, genesisRoot: simulatedRoot })
})
