// The registries that know withdrawal addresses, on a real EVM. Replies are ABI bytes made from the documentation.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import { concatHex, encodePacked, type Hex, keccak256, toFunctionSelector, toHex } from 'viem'
import { systemClock } from '#runtime/clock.ts'
import { openRpc, type Rpc } from '#sources/evm/rpc.ts'
import { addCoverage } from '#storage/coverage.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { evmChainId, evmMissing, openEvm, type RealEvm } from '#test/real-evm.ts'
import { openContracts, type RegistryContractsOnEvm, word } from '#test/registry-contracts.ts'
import { dutiesStream } from '../../duties/coverage.ts'
import { putValidators, readEntities } from '../../registry/registry.ts'
import { importEntities } from '../import-entities.ts'
import { selectorOf } from './contract-questions.ts'
import { readRegistries } from './read-registries.ts'
import { nextAddresses, readRegistryStates } from './registry-rows.ts'

const skip = (await evmMissing()) ?? false
const network = 'devnet'
const { signal } = new AbortController()
const yes = word(1)
const no = word(0)

test('the selectors are those of the documented functions', () => {
  const pinned = {
    'getAddress(bytes32)': '21f8a721',
    'getBool(bytes32)': '7ae1cfca',
    'getMinipoolExists(address)': '606bb62e',
    'getNodeAddress()': '70dabc9e',
    'podOwner()': '0b18ff66',
    'ownerToPod(address)': '9ba06275',
    'deployedEtherFiNodes(address)': '99d23cd8',
    'vaults(address)': 'a622ee7c',
    'deployedVaults(address)': 'faf20d11',
    'nodeOperator()': '023c5b08',
  }
  for (const signature of Object.keys(pinned)) assert.equal(`0x${selectorOf(signature)}`, toFunctionSelector(signature))
  assert.deepEqual(Object.fromEntries(Object.keys(pinned).map((of) => [of, selectorOf(of)])), pinned)
})

describe('registries that know withdrawal addresses', { skip }, () => {
  let evm: RealEvm
  let contracts: RegistryContractsOnEvm
  let storage: Hex
  let podManager: Hex
  let etherFi: Hex
  let stakeWise: Hex
  let lidoVaults: Hex
  let [minipool, megapool, oldMinipool, nodePod, otherPod, fakePod]: Hex[] = []
  let [endless, huge, vault, stVault]: Hex[] = []
  const node: Hex = `0x${'11'.repeat(20)}`
  const operator: Hex = `0x${'22'.repeat(20)}`
  const person: Hex = `0x${'33'.repeat(20)}`
  const etherFiNode: Hex = `0x${'44'.repeat(20)}`
  const legacyNode: Hex = `0x${'55'.repeat(20)}`
  const plain: Hex = `0x${'66'.repeat(20)}`

  before(async () => {
    evm = await openEvm()
    contracts = await openContracts(evm)
    const deployed: Hex[] = []
    for (let at = 0; at < 13; at++) deployed.push(await contracts.deploy())
    ;[storage, podManager, etherFi, stakeWise, lidoVaults] = deployed as [Hex, Hex, Hex, Hex, Hex]
    ;[minipool, megapool, oldMinipool, nodePod, otherPod, fakePod, vault, stVault] = deployed.slice(5)
    ;[endless, huge] = [await contracts.deploy('Endless'), await contracts.deploy('Huge')]
    const { reply } = contracts
    const manager = await contracts.deploy()
    await reply(
      storage,
      'getAddress(bytes32)',
      word(manager),
      keccak256(toHex('contract.addressrocketMinipoolManager')),
    )
    await reply(storage, 'getBool(bytes32)', no)
    const megapoolKey = keccak256(encodePacked(['string', 'address'], ['megapool.exists', megapool as Hex]))
    await reply(storage, 'getBool(bytes32)', yes, megapoolKey)
    await reply(manager, 'getMinipoolExists(address)', no)
    for (const pool of [minipool, oldMinipool])
      await reply(manager, 'getMinipoolExists(address)', yes, word(pool as Hex))
    for (const pool of [minipool, megapool]) await reply(pool as Hex, 'getNodeAddress()', word(node))
    await reply(nodePod as Hex, 'podOwner()', word(etherFiNode))
    await reply(otherPod as Hex, 'podOwner()', word(person))
    await reply(fakePod as Hex, 'podOwner()', word(etherFiNode))
    await reply(podManager, 'ownerToPod(address)', no)
    await reply(podManager, 'ownerToPod(address)', word(nodePod as Hex), word(etherFiNode))
    await reply(podManager, 'ownerToPod(address)', word(otherPod as Hex), word(person))
    await reply(etherFi, 'deployedEtherFiNodes(address)', no)
    for (const own of [etherFiNode, legacyNode]) await reply(etherFi, 'deployedEtherFiNodes(address)', yes, word(own))
    await reply(stakeWise, 'vaults(address)', no)
    await reply(stakeWise, 'vaults(address)', yes, word(vault as Hex))
    await reply(lidoVaults, 'deployedVaults(address)', no)
    await reply(lidoVaults, 'deployedVaults(address)', yes, word(stVault as Hex))
    await reply(stVault as Hex, 'nodeOperator()', word(operator))
  })
  after(() => evm[Symbol.asyncDispose]())

  const openNetwork = (registries: object = {}) =>
    openContext({
      validators: {
        networks: {
          [network]: {
            ...{ genesisUnix: 1, epochsPerHour: 1, epochsPerDay: 10 },
            execution: { chainId: evmChainId, rpc: [{ url: evm.url }] },
            entities: {
              registries: {
                ...{ rocketStorage: storage, eigenPodManager: podManager, etherFiStakingManager: etherFi },
                ...{ stakeWiseVaultsRegistry: stakeWise, lidoVaultFactory: lidoVaults },
                ...registries,
              },
            },
          },
        },
      },
    })

  type Body = { method: string; params: unknown[] }
  /** A client whose nodes return what `change` makes of the results of the real one. */
  const rpcWith = (
    change: (node: number, body: Body, real: () => Promise<object>) => Promise<object>,
    nodes = 1,
  ): Rpc =>
    openRpc({
      ...{ chain: evmChainId, clock: systemClock, backoffMs: 1 },
      rpc: Array.from({ length: nodes }, (_, at) => ({
        ...{ url: `http://node-${at}/`, perSecond: 0, batchMax: 1, timeoutMs: 10_000 },
      })),
      post: async (address, { body }) => {
        const request = JSON.parse(String(body)) as (Body & { id: number }) | (Body & { id: number })[]
        const one = Array.isArray(request) ? (request[0] as Body & { id: number }) : request
        const real = async () => ({ result: await evm.request(one.method, ...one.params) })
        const reply = {
          jsonrpc: '2.0',
          id: one.id,
          ...(await change(Number(address.match(/node-(\d)/)?.[1]), one, real)),
        }
        return JSON.stringify(Array.isArray(request) ? [reply] : reply)
      },
    })
  const plainRpc = () => rpcWith((_, _body, real) => real())

  const register = (context: TestContext, addresses: readonly (string | null | undefined)[], from = 0) =>
    putValidators(
      context.ingest,
      network,
      addresses.map((withdrawalAddress = null, at) => ({
        ...{ index: from + at, pubkey: `0x${String(from + at).padStart(96, '0')}`, activationEligibilityEpoch: 0 },
        ...{ activationEpoch: 0, exitEpoch: null, withdrawableEpoch: null, withdrawalAddress },
      })),
    )
  const named = async (context: TestContext, count: number) => {
    const indices = Array.from({ length: count }, (_, at) => at)
    const entities = await readEntities(context.ingest, network, indices)
    return indices.map((index) => {
      const entity = entities.get(index)
      return entity ? [entity.pool, entity.subpool, entity.nodeOperators.join()] : undefined
    })
  }
  const states = async (context: TestContext) =>
    Object.fromEntries((await readRegistryStates(context.ingest, network)).map((row) => [row.source, row]))
  const finalBlock = async () =>
    Number((await evm.request<{ number: string }>('eth_getBlockByNumber', 'finalized', false)).number)

  test('a withdrawal address names pool and operator; one that no registry confirms names nothing', async () => {
    await using context = await openNetwork()
    await register(context, [minipool, megapool, oldMinipool, nodePod, legacyNode, otherPod, fakePod, vault, stVault])
    await register(context, [plain, null, endless, huge, node], 9)
    assert.deepEqual(await readRegistries(context, network, plainRpc(), signal), {
      asked: 13,
      changed: 7,
      problems: [],
    })
    assert.deepEqual(await named(context, 14), [
      ...[
        ['Rocket Pool', null, node],
        ['Rocket Pool', null, node],
        // Its delegate is too old to name its node.
        ['Rocket Pool', null, ''],
        ['ether.fi', null, ''],
        ['ether.fi', null, ''],
      ],
      // The pod of a person, and a contract that names a foreign owner.
      ...[undefined, undefined],
      ...[
        ['StakeWise', vault, ''],
        ['Lido stVaults', stVault, operator],
      ],
      ...[undefined, undefined, undefined, undefined, undefined],
    ])
    const { problem, atBlock } = (await states(context))['rocket-pool'] ?? {}
    assert.deepEqual([problem, atBlock], [null, await finalBlock()])
  })

  test('each address is asked about once, a rule of the operator wins, and a later validator follows', async () => {
    await using context = await openNetwork()
    await register(context, [minipool, plain])
    const calls: string[] = []
    const counting = rpcWith((_, { method }, real) => {
      calls.push(method)
      return real()
    })
    await readRegistries(context, network, counting, signal)
    assert(calls.includes('eth_call'))
    calls.length = 0
    await register(context, [minipool, plain, minipool])
    await importEntities(context.ingest, network, [{ at: 1, record: { index: 0, pool: 'Own' } }], 'mine')
    assert.equal((await readRegistries(context, network, counting, signal)).asked, 0)
    assert.deepEqual(calls, [])
    assert.deepEqual(await named(context, 3), [['Own', null, node], undefined, ['Rocket Pool', null, node]])
  })

  test('a registry that answers in another shape stops and keeps what it has; the others continue', async () => {
    await using context = await openNetwork()
    await register(context, [minipool, vault])
    await readRegistries(context, network, plainRpc(), signal)
    const before = (await states(context)).stakewise
    for (const reply of [word(2), concatHex([yes, yes]), toHex('x')]) {
      await contracts.reply(stakeWise, 'vaults(address)', reply, word(stVault as Hex))
      await register(context, [minipool, vault, stVault, megapool])
      await readRegistries(context, network, plainRpc(), signal)
      const { problem, atBlock, atUnix } = (await states(context)).stakewise ?? {}
      assert.equal(problem, `${stakeWise} does not answer vaults(address) as documented`)
      assert.deepEqual([atBlock, atUnix], [before?.atBlock, before?.atUnix])
    }
    assert.deepEqual(
      (await named(context, 4)).map((entity) => entity?.[0]),
      ['Rocket Pool', 'StakeWise', 'Lido stVaults', 'Rocket Pool'],
    )
    await contracts.reply(stakeWise, 'vaults(address)', no, word(stVault as Hex))
    assert.equal((await readRegistries(context, network, plainRpc(), signal)).asked, 2, 'only what is left')
    assert.equal((await states(context)).stakewise?.problem, null)
  })

  test('a contract that is not there is reported, and another one in the settings replaces its answers', async () => {
    await using context = await openNetwork({ stakeWiseVaultsRegistry: plain })
    await register(context, [vault, minipool])
    await readRegistries(context, network, plainRpc(), signal)
    assert.match((await states(context)).stakewise?.problem ?? '', /^there is no contract at 0x6666/)
    await using right = await openNetwork()
    const corrected = { ...context, settings: right.settings }
    await readRegistries(corrected, network, plainRpc(), signal)
    assert.deepEqual(await named(context, 2), [
      ['StakeWise', vault, ''],
      ['Rocket Pool', null, node],
    ])
    await using none = await openNetwork({ stakeWiseVaultsRegistry: 'none' })
    await readRegistries({ ...context, settings: none.settings }, network, plainRpc(), signal)
    assert.deepEqual(await named(context, 2), [undefined, ['Rocket Pool', null, node]])
    assert.equal((await states(context)).stakewise, undefined)
  })

  describe('nothing is stored', () => {
    const fails = async (context: TestContext, rpc: Rpc, expected: RegExp) => {
      await register(context, [minipool])
      await assert.rejects(readRegistries(context, network, rpc, signal), expected)
      assert.deepEqual(await named(context, 1), [undefined])
      assert.equal((await nextAddresses(context.ingest, network, 1, 10)).length, 1)
      assert.match((await states(context))['rocket-pool']?.problem ?? '', expected)
      await readRegistries(context, network, plainRpc(), signal)
      assert.deepEqual(await named(context, 1), [['Rocket Pool', null, node]])
    }

    test('if a final block is replaced', async () => {
      await using context = await openNetwork()
      const reorganized = rpcWith(async (_, { method, params }, real) => {
        const reply = (await real()) as { result: object }
        if (method !== 'eth_getBlockByNumber' || params[0] === 'finalized') return reply
        return { result: { ...reply.result, hash: `0x${'ab'.repeat(32)}` } }
      })
      await fails(context, reorganized, /was reported as final, and has another hash now/)
    })

    test('if one of two nodes lies', async () => {
      await using context = await openNetwork()
      const lying = rpcWith(async (at, { method }, real) => {
        const reply = (await real()) as { result: string }
        return at === 1 && method === 'eth_call' ? { result: reply.result.replaceAll('1', '0') } : reply
      }, 2)
      await fails(context, lying, /two execution nodes answer a call as of block \d+ differently/)
    })

    test('if the node has dropped the state; the message names the remedy', async () => {
      await using context = await openNetwork()
      const pruned = rpcWith(async (_, { method }, real) =>
        method === 'eth_call' ? { error: { code: -32000, message: 'missing trie node abc' } } : real(),
      )
      await fails(context, pruned, /add a node to execution\.rpc that keeps the state/)
    })

    test('if the node is behind the stored epochs', async () => {
      await using context = await openNetwork()
      const { timestamp } = await evm.request<{ timestamp: string }>('eth_getBlockByNumber', 'finalized', false)
      const chain = { genesisUnix: Number(timestamp) - 100, genesisRoot: `0x${'01'.repeat(32)}` }
      await context.duties.update('writeChain', {
        network,
        chain: { ...chain, slotSeconds: 1, slotsPerEpoch: 10, executionChainId: evmChainId } as never,
      })
      await context.dutiesState.write((tx) => addCoverage(tx, dutiesStream(network), 0, 11))
      const behind = rpcWith(async (_, { method }, real) => {
        const reply = (await real()) as { result: object }
        return method === 'eth_getBlockByNumber'
          ? { result: { ...reply.result, timestamp: toHex(Number(timestamp) - 5) } }
          : reply
      })
      await fails(context, behind, /is 5 seconds older than the stored epochs/)
    })
  })

  test('a node that cannot call by hash is asked by number', async () => {
    await using context = await openNetwork()
    await register(context, [minipool])
    const tags: unknown[] = []
    const old = rpcWith(async (_, { method, params: [, tag] }, real) => {
      if (method === 'eth_call') tags.push(tag)
      return method === 'eth_call' && typeof tag === 'object'
        ? { error: { code: -32602, message: 'invalid argument 1' } }
        : real()
    })
    await readRegistries(context, network, old, signal)
    assert.deepEqual(await named(context, 1), [['Rocket Pool', null, node]])
    assert.equal(tags.filter((tag) => typeof tag === 'object').length, 1)
  })

  test('after it was killed between two sets, the next process continues', async () => {
    await using context = await openNetwork()
    const others = Array.from({ length: 700 }, (_, at): Hex => `0x${String(at).padStart(40, 'a')}`)
    await register(context, [minipool, ...others])
    const killed = new Error('killed')
    let writes = 0
    const ingest = stateWith(context.ingest, {
      write: (work, options) => {
        // Four registries are registered, then each set is one write.
        if (++writes >= 6) return Promise.reject(killed)
        return context.ingest.write(work, options)
      },
    })
    await assert.rejects(readRegistries({ ...context, ingest }, network, plainRpc(), signal), killed)
    assert.equal((await nextAddresses(context.ingest, network, 15, 1000)).length, 401)
    assert.equal((await readRegistries(context, network, plainRpc(), signal)).asked, 401)
    assert.deepEqual(await named(context, 1), [['Rocket Pool', null, node]])
  })
})
