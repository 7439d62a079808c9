// A node is used only if it is on the chain that the settings name (behaviour/validators.md#one-chain-per-network).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { knownChains } from '#core/known-chains.ts'
import { systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { chainTimeFrom } from '#runtime/settings/chain-pins.ts'
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
  const hoursAndDays = { epochsPerHour: 1, epochsPerDay: 4, states: 'node' }
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
    assert.match(again.finding?.message ?? '', /its beacon node is refused: .*another chain: genesisUnix is/)
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
  assert.deepEqual(expected({ genesisUnix: 5, slotSeconds: 3, execution: { chainId: '7' } }), {
    ...{ genesisUnix: 5, slotSeconds: 3, executionChainId: '7' },
  })
  assert.deepEqual(expected({ genesisUnix: 5, genesisRoot: simulatedRoot }), {
    genesisUnix: 5,
    genesisRoot: simulatedRoot,
  })
  assert.deepEqual(expected({ beacon: { acceptAnyChain: true } }), {})
  const { genesisRoot: _, ...time } = knownChains.mainnet
  assert.deepEqual(expected({ genesisRoot: simulatedRoot }), { ...time, genesisRoot: simulatedRoot })
})

describe('a chain whose settings say nothing about it', () => {
  const accepting = { beacon: { acceptAnyChain: true } }
  const hours = (slotSeconds: number, slotsPerEpoch: number) =>
    Object.values(chainTimeFrom('mainnet', {}, { genesisUnix: 0, slotSeconds, slotsPerEpoch })).slice(-2)

  test('has hours and days of as many epochs as fit into them', () => {
    assert.deepEqual(
      [hours(12, 32), hours(6, 8), hours(12, 8)],
      [
        [9, 225],
        [75, 1800],
        [37, 900],
      ],
    )
    assert.deepEqual(hours(12, 32_768), [1, 1])
  })

  async function openStored(urls: readonly string[]) {
    const plain = await openContext()
    const read = (options: object, urlsNow = urls) => {
      const beacon = { ...accepting.beacon, ...(options as typeof accepting).beacon, urls: urlsNow }
      const settings = plainSettings({ validators: { networks: { [network]: { ...options, beacon } } } })
      return withChainTimes({ ...plain, settings, clock: systemClock })
    }
    return { plain, read, [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose]() }
  }

  test('has the times and the execution chain that its nodes report, and keeps them when no node responds', async () => {
    await using node = await openNodeOfRun(chain, { chainId: '32382' })
    await using stored = await openStored([node.url])
    const { genesisUnix } = chain
    const { slotSeconds, slotsPerEpoch } = chain.plan
    for (const urls of [[node.url], ['http://127.0.0.1:9']]) {
      const { mainnet } = (await stored.read({}, urls)).validators.networks
      assert.deepEqual(
        [mainnet.genesisUnix, mainnet.slotSeconds, mainnet.slotsPerEpoch, mainnet.epochsPerHour, mainnet.epochsPerDay],
        [genesisUnix, slotSeconds, slotsPerEpoch, ...hours(slotSeconds, slotsPerEpoch)],
      )
      const identity = await storedChain(stored.plain.duties, network)
      assert.deepEqual([identity?.genesisRoot, identity?.executionChainId], [simulatedRoot, '32382'])
    }
  })

  test('is not stored if its nodes are on different chains', async () => {
    await using node = await openNodeOfRun(chain)
    await using other = await openAlteringProxy(node.url, genesisOf(999))
    await using stored = await openStored([node.url, other.url])
    await stored.read({})
    assert.equal(await storedChain(stored.plain.duties, network), undefined)
    await stored.read({}, [other.url])
    assert.equal((await storedChain(stored.plain.duties, network))?.genesisUnix, 999)
  })

  test('is refused once the settings contradict what is stored, with the setting', async () => {
    await using node = await openNodeOfRun(chain)
    await using server = await startServer([node.url], { genesisUnix: chain.genesisUnix })
    assert.ok((await server.read()).epochs > 0)
    const { finding } = await server.read({ genesisUnix: chain.genesisUnix, slotSeconds: chain.plan.slotSeconds + 1 })
    assert.equal(finding?.ok, false)
    const { slotSeconds } = chain.plan
    const reason = `networks.mainnet.slotSeconds is ${slotSeconds + 1}, but the stored data is of a chain with ${slotSeconds}`
    assert.ok(finding?.message?.includes(reason), finding?.message)
  })
})
