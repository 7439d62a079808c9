// Probe and index against a real EVM over JSON-RPC: a scripted history with known results.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, getContractAddress, type Hex } from 'viem'
import { systemClock } from '#runtime/clock.ts'
import { coverageOf } from '#storage/coverage.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { compile, evmChainId, evmMissing, openEvm, type RealEvm } from '#test/real-evm.ts'
import { fundedBy } from '../endpoints/funded-by.ts'
import { requireNode } from '../nodes.ts'
import { findFunding } from './fundings.ts'
import { catchUpIndex } from './index/index-chain.ts'
import { getIndexProblems } from './index/problems.ts'
import { logsStream } from './index/transfer-logs.ts'
import { findUnfinalizedFunding } from './index/unfinalized.ts'

const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;
contract Child { constructor() payable {} }
contract Brief { constructor(address payable to) payable { selfdestruct(to); } }
contract Keep { uint256 public seen; receive() external payable { seen += msg.value; } }
contract Box {
  constructor() payable {}
  receive() external payable {}
  function pay(address payable to) external payable { (bool ok,) = to.call{value: msg.value}(""); require(ok); }
  function payTwo(address payable a, address payable b) external payable {
    (bool ok,) = a.call{value: msg.value / 2}(""); require(ok);
    (ok,) = b.call{value: msg.value / 2}(""); require(ok);
  }
  function tryPay(address payable to) external payable { try this.payThenFail{value: msg.value}(to) {} catch {} }
  function payThenFail(address payable to) external payable {
    (bool ok,) = to.call{value: msg.value}(""); require(ok);
    revert("no");
  }
  function make() external payable returns (address) { return address(new Child{value: msg.value}()); }
  function brief(address payable to) external payable { new Brief{value: msg.value}(to); }
  function end(address payable to) external { selfdestruct(to); }
  function endToItself() external { selfdestruct(payable(address(this))); }
  function payAndEndToItself(address to) external payable {
    assembly { pop(call(gas(), to, callvalue(), 0, 0, 0, 0)) selfdestruct(address()) }
  }
}`

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: ${missing}\n`)

interface Truth {
  readonly block: number
  readonly tx: Hex
  readonly funder: string
  readonly value: bigint
}

const keeperName = 'contract that keeps what it gets, paid long after its creation'
const listedTwiceName = 'paid by a contract that destroys itself to itself'
/** Contracts, and an account that was delegated before it was funded. */
const hasCode = /^contract |^created by a contract|^delegated before/
let nextKey = 1n
const freshKey = (): Hex => `0x${(0xabcdef00000n + nextKey++).toString(16).padStart(64, '0')}`

/** Plays the history. Returns the expected funding of each address; null: never funded. */
async function play(evm: RealEvm): Promise<{ truth: Map<string, Truth | null>; names: Map<string, string> }> {
  const { Box, Keep } = await compile(source)
  assert.ok(Box && Keep)
  const [rich, other] = evm.rich
  const truth = new Map<string, Truth | null>()
  const names = new Map<string, string>()
  const gas = 10_000_000n
  const expect = (name: string, address: string, fact: Truth | null) => {
    names.set(address.toLowerCase(), name)
    if (!truth.has(address.toLowerCase())) truth.set(address.toLowerCase(), fact)
  }
  const next = async () => (await evm.blockNumber()) + 1
  const account = () => evm.wallet(freshKey())
  const someone = (): Address => account().account.address
  const call = (functionName: string, args: readonly unknown[], value = 0n, to = box) =>
    rich.writeContract({ address: to, abi: Box.abi, functionName, args, value, gas } as never)
  const by = (wallet: { account: { address: string } }) => wallet.account.address.toLowerCase()

  // Genesis balances; the third address is paid later, the first one never.
  expect('genesis-funded, never paid', by(rich), null)

  // A contract created with value.
  const nonce = BigInt(await evm.request<string>('eth_getTransactionCount', rich.account.address, 'latest'))
  const box = getContractAddress({ from: rich.account.address, nonce }).toLowerCase() as Address
  let tx = await rich.deployContract({ abi: Box.abi, bytecode: Box.bytecode, value: 700n, gas } as never)
  expect('contract created with value', box, { block: await next(), tx, funder: by(rich), value: 700n })
  await evm.mine()
  // A contract created without value, paid three blocks later.
  const bare = getContractAddress({ from: rich.account.address, nonce: nonce + 1n }).toLowerCase() as Address
  await rich.deployContract({ abi: Box.abi, bytecode: Box.bytecode, gas } as never)
  await evm.mine(3)
  tx = await other.sendTransaction({ to: bare, value: 5n, gas })
  expect('contract paid after its creation', bare, { block: await next(), tx, funder: by(other), value: 5n })
  await evm.mine()

  // Two contracts that are paid long after their creation: one can pass value on, the other keeps it.
  const [idle, keeper] = [nonce + 2n, nonce + 3n].map((at) =>
    getContractAddress({ from: rich.account.address, nonce: at }).toLowerCase(),
  ) as [Address, Address]
  await rich.deployContract({ abi: Box.abi, bytecode: Box.bytecode, gas } as never)
  await rich.deployContract({ abi: Keep.abi, bytecode: Keep.bytecode, gas } as never)
  await evm.mine(150)
  tx = await other.sendTransaction({ to: idle, value: 6n, gas })
  expect('contract paid long after its creation', idle, { block: await next(), tx, funder: by(other), value: 6n })
  tx = await other.sendTransaction({ to: keeper, value: 7n, gas })
  expect(keeperName, keeper, { block: await next(), tx, funder: by(other), value: 7n })
  await evm.mine()

  const plain = account()
  tx = await rich.sendTransaction({ to: plain.account.address, value: 10n ** 18n })
  expect('plain transfer', by(plain), { block: await next(), tx, funder: by(rich), value: 10n ** 18n })
  await evm.mine(5)
  tx = await other.sendTransaction({ to: evm.rich[2].account.address, value: 9n })
  expect('genesis-funded, paid later', by(evm.rich[2]), { block: await next(), tx, funder: by(other), value: 9n })
  await evm.mine()

  const inner = someone()
  tx = await call('pay', [inner], 11n)
  expect('internal call', inner, { block: await next(), tx, funder: box, value: 11n })
  await evm.mine(2)

  const [first, second] = [someone(), someone()]
  tx = await call('payTwo', [first, second], 12n)
  expect('first of two internal calls', first, { block: await next(), tx, funder: box, value: 6n })
  expect('second of two internal calls', second, { block: await next(), tx, funder: box, value: 6n })
  await evm.mine()

  // Several transfers in one block: the internal one of the first transaction wins.
  const many = someone()
  tx = await call('pay', [many], 13n)
  await rich.sendTransaction({ to: many, value: 14n, gas })
  expect('several in the first block', many, { block: await next(), tx, funder: box, value: 13n })
  await evm.mine()

  // A failed call inside a successful transaction, then a failed transaction, then the real transfer.
  const refused = someone()
  await call('tryPay', [refused], 15n)
  await evm.mine()
  await call('payThenFail', [refused], 15n)
  await evm.mine(4)
  tx = await other.sendTransaction({ to: refused, value: 16n, gas })
  expect('after two reverts', refused, { block: await next(), tx, funder: by(other), value: 16n })
  await evm.mine()

  // The contract that `make` creates: its address follows from the box and the box's nonce.
  const child = getContractAddress({ from: box, nonce: 1n })
  tx = await call('make', [], 17n)
  expect('created by a contract, with value', child, { block: await next(), tx, funder: box, value: 17n })
  await evm.mine()

  // Created and destroyed in one transaction: the value passes through. The state never shows the contract itself.
  const heir = someone()
  const briefly = getContractAddress({ from: box, nonce: 2n }).toLowerCase()
  tx = await call('brief', [heir], 18n)
  expect('heir of a brief contract', heir, { block: await next(), tx, funder: briefly, value: 18n })
  await evm.mine()

  const survivor = someone()
  tx = await call('end', [survivor])
  // Its initial value, and the value that the failed call inside `tryPay` left there.
  expect('self-destruct', survivor, { block: await next(), tx, funder: box, value: 700n + 15n })
  await evm.mine(3)

  // Without any effect on the contract. The first trace has neither heir nor value. The second repeats the last transfer.
  await call('endToItself', [])
  const beforeEnd = someone()
  tx = await call('payAndEndToItself', [beforeEnd], 23n)
  expect(listedTwiceName, beforeEnd, { block: await next(), tx, funder: box, value: 23n })
  await evm.mine(3)

  // Funded, then emptied completely.
  const spender = account()
  tx = await rich.sendTransaction({ to: spender.account.address, value: 10n ** 16n, gas })
  expect('emptied later', by(spender), { block: await next(), tx, funder: by(rich), value: 10n ** 16n })
  await evm.mine()
  const price = 10n ** 11n
  await spender.sendTransaction({
    to: by(other) as Hex,
    value: 10n ** 16n - 21_000n * price,
    gas: 21_000n,
    gasPrice: price,
  })
  await evm.mine(2)

  // EIP-7702: the nonce rises while another account pays; the account is funded blocks later.
  const delegated = account()
  const authorization = await rich.signAuthorization({
    account: delegated.account,
    contractAddress: bare,
    nonce: 0,
    chainId: Number(evmChainId),
  })
  await rich.sendTransaction({ to: by(rich) as Hex, authorizationList: [authorization], gas })
  await evm.mine(6)
  // Received and spent within one transaction: no block ends with a balance.
  tx = await call('pay', [by(other)], 19n, delegated.account.address)
  expect('delegated before it was funded', by(delegated), { block: await next(), tx, funder: by(rich), value: 19n })
  await evm.mine(4)
  await rich.sendTransaction({ to: by(delegated) as Hex, value: 20n, gas })
  await evm.mine()

  // EIP-7702: authorizations that leave no code. Only the nonce shows them.
  const noCode: Address = `0x${'0'.repeat(40)}`
  const authorize = async (wallet: ReturnType<typeof account>, contractAddress: Address, nonces: number) => {
    const chainId = Number(evmChainId)
    const signed = await rich.signAuthorization({ account: wallet.account, contractAddress, nonce: nonces, chainId })
    await rich.sendTransaction({ to: by(rich) as Hex, authorizationList: [signed], gas })
  }
  const [cleared, briefDelegate, paidDelegate] = [account(), account(), account()]
  await authorize(cleared, noCode, 0)
  await evm.mine(3)
  tx = await other.sendTransaction({ to: by(cleared) as Hex, value: 31n, gas })
  expect('authorization to address 0', by(cleared), { block: await next(), tx, funder: by(other), value: 31n })
  await evm.mine(2)
  await authorize(briefDelegate, bare, 0)
  await authorize(briefDelegate, noCode, 1)
  await evm.mine(3)
  tx = await other.sendTransaction({ to: by(briefDelegate) as Hex, value: 32n, gas })
  const brief = { block: await next(), tx, funder: by(other), value: 32n }
  expect('delegation that was cleared in the same block', by(briefDelegate), brief)
  await evm.mine(2)
  // Received and passed on between the two authorizations.
  await authorize(paidDelegate, bare, 0)
  tx = await call('pay', [by(other)], 33n, by(paidDelegate) as Address)
  await authorize(paidDelegate, noCode, 1)
  const passed = { block: await next(), tx, funder: by(rich), value: 33n }
  expect('delegation that was paid and cleared in the same block', by(paidDelegate), passed)
  await evm.mine(3)

  // A block reward before the first transfer.
  const miner = someone()
  await evm.request('hardhat_setCoinbase', miner)
  await rich.sendTransaction({ to: by(rich) as Hex, gas, maxPriorityFeePerGas: 10n ** 9n })
  await evm.mine()
  await evm.request('hardhat_setCoinbase', `0x${'c0'.repeat(20)}`)
  await evm.mine(3)
  tx = await rich.sendTransaction({ to: miner, value: 21n, gas })
  expect('block reward before the first transfer', miner, { block: await next(), tx, funder: by(rich), value: 21n })
  await evm.mine()

  expect('never funded', someone(), null)
  await evm.mine(40)
  // In the newest blocks, which are not final.
  const late = someone()
  tx = await rich.sendTransaction({ to: late, value: 22n, gas })
  expect('not final yet', late, { block: await next(), tx, funder: by(rich), value: 22n })
  await evm.mine()
  return { truth, names }
}

const settings = ({ url }: RealEvm, mode: string) => ({
  explorer: {
    chains: [{ id: evmChainId, name: 'Real', mode, finalityBlocks: 5, rpc: [{ url, batchMax: 20 }] }],
  },
})

test('real EVM: probe and index return the expected funding of every address', {
  skip: missing ?? false,
}, async (context) => {
  await using evm = await openEvm()
  const { truth, names } = await play(evm)
  await using opened = await openContext(settings(evm, 'probe'))
  const probing = { ...opened, clock: systemClock }

  for (const [address, fact] of truth) {
    await context.test(`probe: ${names.get(address)}`, async () => {
      const ask = () => fundedBy.handle({ chainid: evmChainId, address }, probing, testRequestInfo())
      // This node has no trace_filter.
      if (hasCode.test(names.get(address) ?? '')) return assert.rejects(ask, { code: 'explorer.needs_index' })
      // The balance rose by half of what the trace lists, so the search cannot explain it.
      if (names.get(address) === listedTwiceName) return assert.rejects(ask, { code: 'explorer.unexplained_block' })
      const outcome = await ask()
      if (!fact) return assert.equal(outcome.is, 'nothing')
      assert.ok(outcome.is === 'body')
      const { block, fundingAddress, fundingTxn, value } = outcome.body.result
      assert.deepEqual(
        { block, funder: fundingAddress, tx: fundingTxn, value: BigInt(value) },
        { block: fact.block, funder: fact.funder, tx: fact.tx, value: fact.value },
      )
      assert.equal(outcome.confidence?.finality, names.get(address) === 'not final yet' ? 'head' : 'finalized')
    })
  }

  await using indexed = await openContext(settings(evm, 'index'))
  const indexing = { ...indexed, clock: systemClock }
  await catchUpIndex(indexing, requireNode(indexing, evmChainId), () => {})
  await context.test('only the index finds a contract that was created and destroyed in one transaction', async () => {
    const [heir] = [...names].find(([, name]) => name === 'heir of a brief contract') ?? []
    const briefly = truth.get(heir ?? '')?.funder ?? ''
    const row = await findFunding(indexed.ingest, evmChainId, briefly)
    assert.deepEqual([row?.tx, row?.valueWei], [truth.get(heir ?? '')?.tx, 18n])
    // The documented limit of a search: no state is left.
    const outcome = await fundedBy.handle({ chainid: evmChainId, address: briefly }, probing, testRequestInfo())
    assert.equal(outcome.is, 'nothing')
  })
  for (const [address, fact] of truth) {
    await context.test(`index: ${names.get(address)}`, async () => {
      const final = await findFunding(indexed.ingest, evmChainId, address)
      const row = final ?? (await findUnfinalizedFunding(indexed.ingest, evmChainId, address))
      const { block, funder, tx, valueWei: value } = row ?? {}
      assert.deepEqual(row && { block, funder, tx, value }, fact ? { ...fact } : undefined)
    })
  }
})

test('real EVM after the Amsterdam fork: logs and traces give the same, expected rows', {
  skip: missing ?? false,
}, async () => {
  await using evm = await openEvm(Number(evmChainId), 'amsterdam')
  const { truth, names } = await play(evm)
  const rowsOf = async (isByLogs: boolean) => {
    await using indexed = await openContext(settings(evm, 'index'))
    const indexing = { ...indexed, clock: systemClock }
    const node = requireNode(indexing, evmChainId)
    const { logs, has } = await node.capabilities()
    assert.deepEqual([logs, has['header hash']], ['eth_getTransactionReceipt', true])
    if (!isByLogs) node.distrustLogs()
    await catchUpIndex(indexing, node, () => {})
    const { contradictedLogs, unverifiedHeaders } = getIndexProblems(indexing, evmChainId)
    assert.deepEqual([contradictedLogs, unverifiedHeaders], [undefined, undefined])
    const logged = await coverageOf(indexed.ingest, logsStream(evmChainId))
    assert.equal(logged.length, isByLogs ? 1 : 0)
    for (const [address, fact] of truth) {
      const final = await findFunding(indexed.ingest, evmChainId, address)
      const row = final ?? (await findUnfinalizedFunding(indexed.ingest, evmChainId, address))
      const { block, funder, tx, valueWei: value } = row ?? {}
      assert.deepEqual(
        row && { block, funder, tx, value },
        fact ? { ...fact } : undefined,
        names.get(address) ?? address,
      )
    }
    return indexed.ingest.all('select * from fundings order by address')
  }
  const byLogs = await rowsOf(true)
  assert.ok(byLogs.length > 0)
  assert.deepEqual(byLogs, await rowsOf(false))
})
