// Lido's staking modules on a real EVM. Replies are ABI bytes made from the documentation.
import { strict as assert } from 'node:assert'
import { after, before, beforeEach, describe, test } from 'node:test'
import { concatHex, encodeAbiParameters, type Hex, parseAbiParameters, stringToHex, toFunctionSelector } from 'viem'
import { systemClock } from '#runtime/clock.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { evmChainId, evmMissing, openEvm, type RealEvm } from '#test/real-evm.ts'
import { openContracts, type RegistryContractsOnEvm, word } from '#test/registry-contracts.ts'
import { putValidators, readEntities } from '../../registry/registry.ts'
import { AbiReply, cleanName } from './abi-reply.ts'
import { selectorOf } from './contract-questions.ts'
import { readRegistries } from './read-registries.ts'
import { readRegistryStates } from './registry-rows.ts'

const skip = (await evmMissing()) ?? false
const network = 'devnet'
const { signal } = new AbortController()

test('the selectors are those of the documented functions', () => {
  const pinned = {
    'stakingRouter()': 'ef6c064c',
    'withdrawalVault()': '69d42148',
    'getStakingModules()': '6183214d',
    'getType()': '15dae03e',
    'getNonce()': 'd087d288',
    'getNodeOperatorsCount()': 'a70c70e4',
    'getNodeOperatorSummary(uint256)': 'b3076c3c',
    'getNodeOperator(uint256,bool)': '9a56983c',
    'getStakingModuleSummary()': '9abddf09',
    'getSigningKeys(uint256,uint256,uint256)': '59e25c12',
    'META_REGISTRY()': '03a3279d',
    'getOperatorMetadata(uint256)': 'aca6d2da',
  }
  for (const signature of Object.keys(pinned)) assert.equal(`0x${selectorOf(signature)}`, toFunctionSelector(signature))
  assert.deepEqual(Object.fromEntries(Object.keys(pinned).map((of) => [of, selectorOf(of)])), pinned)
})

test('a name loses control and direction characters, and is cut', () => {
  assert.equal(cleanName(Buffer.from(' A\u0000\u202e\nB\u200b  C\ud800 ')), 'A B C')
  assert.equal(cleanName(Buffer.from('é'.repeat(200))).length, 100)
  assert.equal(cleanName(Buffer.from([0xff, 0xfe])), '')
})

test('a reply whose offsets or lengths do not fit is not decoded', () => {
  const reply = (...words: number[]) => AbiReply.of(concatHex(words.map((value) => word(value))))
  assert.equal(reply(32, 1).bytes(0), undefined)
  assert.equal(reply(96).bytes(0), undefined)
  assert.equal(reply(32, 3).list(0, 2), undefined)
  assert.equal(reply().number(0), undefined)
  assert.equal(AbiReply.of(`0x${'ff'.repeat(32)}`).number(0), undefined)
  assert.equal(AbiReply.of(`0x${'ff'.repeat(32)}`).address(0), undefined)
})

const keyOf = (nth: number): Hex => `0x${nth.toString(16).padStart(96, 'c')}`
const vault: Hex = `0x${'77'.repeat(20)}`
const other: Hex = `0x${'88'.repeat(20)}`

describe('the staking modules of Lido', { skip }, () => {
  let evm: RealEvm
  let contracts: RegistryContractsOnEvm
  let [locator, router, curated, community, curatedV2, future, names]: Hex[] = []
  let calls: string[] = []

  before(async () => {
    evm = await openEvm()
    contracts = await openContracts(evm)
    evm.onCall = (method, [request]) => {
      if (method === 'eth_call') calls.push(String((request as { data: string }).data).slice(0, 202))
    }
    const deployed: Hex[] = []
    for (let at = 0; at < 7; at++) deployed.push(await contracts.deploy())
    ;[locator, router, curated, community, curatedV2, future, names] = deployed
    const { reply } = contracts
    await reply(locator as Hex, 'stakingRouter()', word(router as Hex))
    await reply(locator as Hex, 'withdrawalVault()', word(vault))
    await reply(router as Hex, 'getStakingModules()', modulesReply([curated, community, curatedV2, future] as Hex[]))
    await reply(future as Hex, 'getType()', stringToHex('future-onchain-v9', { size: 32 }))
    await reply(future as Hex, 'getNonce()', word(1))
    await openModule(curated as Hex, 'curated-onchain-v1', [3, 0])
    for (const [id, name] of ['Alpha', 'Beta'].entries())
      await reply(curated as Hex, 'getNodeOperator(uint256,bool)', operatorReply(name), concatHex([word(id), word(1)]))
    // The module refuses three keys at once.
    await putKeys(curated as Hex, 0, 0, [1, 2])
    await putKeys(curated as Hex, 0, 2, [3])
    await openModule(community as Hex, 'community-onchain-v1', [2])
    // The second one is the key of a validator that does not withdraw to the vault.
    await putPlainKeys(community as Hex, 0, 0, [10, 11])
    await openModule(curatedV2 as Hex, 'curated-onchain-v2', [1, 1])
    await reply(curatedV2 as Hex, 'META_REGISTRY()', word(names as Hex))
    const hostile = `Gamma\u0000\u202e${'x'.repeat(248)}`
    for (const [id, name] of [hostile, ''].entries()) {
      await reply(names as Hex, 'getOperatorMetadata(uint256)', metadataReply(name), word(id))
      await putPlainKeys(curatedV2 as Hex, id, 0, [20 + id])
    }
  })
  beforeEach(() => {
    calls = []
  })
  after(() => evm[Symbol.asyncDispose]())

  /** With two fields more than at first. */
  const modulesReply = (addresses: readonly Hex[]): Hex =>
    encodeAbiParameters(
      parseAbiParameters(
        '(uint24,address,uint16,uint16,uint16,uint8,string,uint64,uint256,uint256,uint16,uint64,uint64,uint8,uint64)[]',
      ),
      [
        addresses.map(
          (address, at) =>
            [at + 1, address, 1, 2, 3, 0, ['Curated', 'Community', 'Curated v2', 'Future'][at] ?? ''].concat([
              4n,
              5n,
              6n,
              7,
              8n,
              9n,
              1,
              10n,
            ] as never) as never,
        ),
      ],
    )
  const operatorReply = (name: string): Hex =>
    encodeAbiParameters(parseAbiParameters('bool, string, address, uint64, uint64, uint64, uint64, uint64'), [
      ...[true, name, other, 9n, 0n, 0n, 9n, 9n],
    ] as never)
  const metadataReply = (name: string): Hex =>
    encodeAbiParameters(parseAbiParameters('(string,string,bool)'), [[name, 'about', false]])

  async function openModule(module: Hex, type: string, deposited: readonly number[], nonce = 1): Promise<void> {
    const { reply } = contracts
    await reply(module, 'getType()', stringToHex(type, { size: 32 }))
    await reply(module, 'getNonce()', word(nonce))
    await reply(module, 'getNodeOperatorsCount()', word(deposited.length))
    for (const [id, count] of deposited.entries())
      await reply(
        module,
        'getNodeOperatorSummary(uint256)',
        concatHex([0, 0, 0, 0, 0, 0, count, 0].map((of) => word(of))),
        word(id),
      )
    const total = deposited.reduce((a, b) => a + b, 0)
    await reply(module, 'getStakingModuleSummary()', concatHex([word(0), word(total), word(0)]))
  }
  const pageOf = (operator: number, from: number, count: number) => concatHex([word(operator), word(from), word(count)])
  const keySignature = 'getSigningKeys(uint256,uint256,uint256)'
  async function putKeys(module: Hex, operator: number, from: number, keys: readonly number[]): Promise<void> {
    const signatures: Hex = `0x${'ab'.repeat(96 * keys.length)}`
    const values = [concatHex(keys.map(keyOf)), signatures, keys.map(() => true)] as const
    const reply = encodeAbiParameters(parseAbiParameters('bytes, bytes, bool[]'), values)
    await contracts.reply(module, keySignature, reply, pageOf(operator, from, keys.length))
  }
  async function putPlainKeys(module: Hex, operator: number, from: number, keys: readonly number[]): Promise<void> {
    const reply = encodeAbiParameters(parseAbiParameters('bytes'), [concatHex(keys.map(keyOf))])
    await contracts.reply(module, keySignature, reply, pageOf(operator, from, keys.length))
  }

  const openNetwork = () =>
    openContext({
      validators: {
        networks: {
          [network]: {
            ...{ genesisUnix: 1, epochsPerHour: 1, epochsPerDay: 10 },
            execution: { chainId: evmChainId, rpc: [{ url: evm.url }] },
            entities: { registries: { lidoLocator: locator } },
          },
        },
      },
    })
  const rpc = () =>
    openRpc({
      ...{ chain: evmChainId, clock: systemClock, backoffMs: 1 },
      rpc: [{ url: evm.url, perSecond: 0, batchMax: 10, timeoutMs: 10_000 }],
    })
  const register = (context: TestContext, validators: Readonly<Record<number, Hex | null>>) =>
    putValidators(
      context.ingest,
      network,
      Object.entries(validators).map(([index, withdrawalAddress]) => ({
        ...{ index: Number(index), pubkey: keyOf(Number(index)), activationEligibilityEpoch: 0, activationEpoch: 0 },
        ...{ exitEpoch: null, withdrawableEpoch: null, withdrawalAddress },
      })),
    )
  const named = async (context: TestContext, indices: readonly number[]) => {
    const entities = await readEntities(context.ingest, network, indices)
    return indices.map((index) => {
      const entity = entities.get(index)
      return entity ? [entity.pool, entity.subpool, entity.nodeOperators.join()] : undefined
    })
  }
  const stateOf = async (context: TestContext) => (await readRegistryStates(context.ingest, network))[0]

  test('keys name operators, only with the vault as withdrawal address; a module of an unknown type is reported', async () => {
    await using context = await openNetwork()
    await register(context, { 1: vault, 2: null, 3: vault, 10: vault, 11: other, 20: vault, 21: vault, 30: vault })
    const { problems } = await readRegistries(context, network, rpc(), signal)
    assert.deepEqual(problems, [
      'lido: the module Future has the unknown type future-onchain-v9: its validators have no operator',
    ])
    assert.deepEqual(await named(context, [1, 2, 3, 10, 11, 20, 21, 30]), [
      ['Lido', 'Curated', 'Alpha'],
      // It has no withdrawal address yet.
      undefined,
      ['Lido', 'Curated', 'Alpha'],
      ['Lido', 'Community', 'csm:0'],
      // Somebody has written the key of a foreign validator into the module.
      undefined,
      ['Lido', 'Curated v2', `Gamma ${'x'.repeat(94)}`],
      ['Lido', 'Curated v2', 'lido-3:1'],
      // Of the unknown module.
      ['Lido', null, ''],
    ])
    await register(context, { 2: vault })
    await readRegistries(context, network, rpc(), signal)
    assert.deepEqual(await named(context, [2]), [['Lido', 'Curated', 'Alpha']])
  })

  test('later, only the new keys of a module whose nonce has changed are read', async () => {
    await using context = await openNetwork()
    await register(context, { 3: vault, 4: vault })
    await readRegistries(context, network, rpc(), signal)
    calls = []
    await readRegistries(context, network, rpc(), signal)
    const keySelector = `0x${selectorOf(keySignature)}`
    const pages = () => calls.filter((data) => data.startsWith(keySelector))
    assert.deepEqual(pages(), [])
    await openModule(curated as Hex, 'curated-onchain-v1', [4, 0], 2)
    await putKeys(curated as Hex, 0, 3, [4])
    await readRegistries(context, network, rpc(), signal)
    assert.deepEqual(pages(), [concatHex([keySelector as Hex, pageOf(0, 3, 1)])])
    assert.deepEqual(await named(context, [3, 4]), [
      ['Lido', 'Curated', 'Alpha'],
      ['Lido', 'Curated', 'Alpha'],
    ])
    await openModule(curated as Hex, 'curated-onchain-v1', [3, 0])
  })

  test('counts that do not match, and a page of another shape, stop it; what is stored stays', async () => {
    await using context = await openNetwork()
    await register(context, { 1: vault, 10: vault })
    const { reply } = contracts
    await reply(community as Hex, 'getStakingModuleSummary()', concatHex([word(0), word(3), word(0)]))
    const { problems } = await readRegistries(context, network, rpc(), signal)
    assert.deepEqual(problems, ['lido: the operators of Community have 2 deposited keys, the module says 3'])
    assert.deepEqual(await named(context, [1, 10]), [
      ['Lido', 'Curated', 'Alpha'],
      ['Lido', null, ''],
    ])
    assert.equal((await stateOf(context))?.atBlock, null, 'it was never complete')
    await openModule(community as Hex, 'community-onchain-v1', [2])
    await reply(community as Hex, keySignature, word(1), pageOf(0, 0, 2))
    assert.match(
      (await readRegistries(context, network, rpc(), signal)).problems[0] ?? '',
      /does not answer getSigningKeys/,
    )
    assert.deepEqual(await named(context, [10]), [['Lido', null, '']])
    await putPlainKeys(community as Hex, 0, 0, [10, 11])
    await readRegistries(context, network, rpc(), signal)
    assert.deepEqual(await named(context, [10]), [['Lido', 'Community', 'csm:0']])
  })

  test('after it was killed between two pages, the next process continues', async () => {
    await using context = await openNetwork()
    await register(context, { 1: vault, 3: vault })
    const killed = new Error('killed')
    let writes = 0
    const ingest = stateWith(context.ingest, {
      write: (work, options) => {
        // The registry, the rule of the vault, the first page, and then the second one.
        if (++writes === 4) return Promise.reject(killed)
        return context.ingest.write(work, options)
      },
    })
    await assert.rejects(readRegistries({ ...context, ingest }, network, rpc(), signal), killed)
    assert.deepEqual(await context.ingest.all('select name, key_count as keys from registry_operators'), [
      { name: 'Alpha', keys: 2 },
    ])
    calls = []
    await readRegistries(context, network, rpc(), signal)
    const [first] = calls.filter((data) => data.startsWith(`0x${selectorOf(keySignature)}`))
    assert.equal(first, concatHex([`0x${selectorOf(keySignature)}`, pageOf(0, 2, 1)]))
    assert.deepEqual(await named(context, [1, 3]), [
      ['Lido', 'Curated', 'Alpha'],
      ['Lido', 'Curated', 'Alpha'],
    ])
  })
})
