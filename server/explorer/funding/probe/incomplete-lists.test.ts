// Nodes whose trace_filter leaves out transfers (behaviour/explorer.md#incomplete-lists).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createExplorerCaches } from '#explorer/context.ts'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { isReady } from '#http/health.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { testRequestInfo } from '#test/context.ts'
import { blockOf, openProbeChain, unknownAddress } from '#test/probe-chain.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import { findFunding } from '../fundings.ts'
import { readDistrustedNodes } from '../grounds.ts'
import { chainFindings } from '../index/start-chains.ts'
import { searchWrites } from '../search-writes.ts'
import { isDelegation } from './account-search.ts'

const complete = { traces: ['trace_block'], filterBlocks: 1000 } as const

/** A chain with a contract whose first funding trace_filter leaves out, and other addresses that need trace_filter. */
async function openScenario(more: Parameters<typeof openProbeChain>[4] = []) {
  const at = await openProbeChain(complete, {}, {}, { destroyedMaySend: false }, more)
  const stateOf = (address: string) => at.chain.accountAt(address, at.chain.head.number)
  const fundingOf = (address: string) => firstFunding(at.chain, address)
  const isFinal = (address: string) => (fundingOf(address)?.block ?? Number.POSITIVE_INFINITY) <= at.chain.final
  const contracts = at.steady.filter(
    (address) => !isDelegation(stateOf(address).code) && stateOf(address).code !== '0x' && isFinal(address),
  )
  // It keeps what it gets, so the balance shows what the list leaves out.
  const broken = contracts.find((address) => {
    const { block = 0 } = fundingOf(address) ?? {}
    const change = at.chain.accountAt(address, block).balance - at.chain.accountAt(address, block - 1).balance
    return change > 0n && at.chain.accountAt(address, block - 1).code !== '0x' && !isSampled(block)
  })
  assert.ok(broken, 'no such contract')
  const brokenBlock = fundingOf(broken)?.block ?? 0
  const leaveOut = () => {
    at.simulated.capabilities = { ...complete, filterLacks: (block) => block === brokenBlock }
  }
  const isEmpty = (address: string) => stateOf(address).nonce === 0n && stateOf(address).balance === 0n
  const destroyed = [...at.chain.destroyed].filter((address) => isEmpty(address) && isFinal(address))
  const accounts = at.steady.filter((address) => stateOf(address).code === '0x' && isFinal(address))
  const unsent = accounts.filter((address) => stateOf(address).nonce === 0n)
  const sent = accounts.filter((address) => stateOf(address).nonce > 0n)
  assert.ok(destroyed.length > 0 && unsent.length > 1 && sent.length > 0 && contracts.length > 1)
  return { at, broken, brokenBlock, leaveOut, contracts, destroyed, unsent, sent, fundingOf }
}

/** Blocks in which the capability test looks for a transaction. */
const isSampled = (block: number) => [1 / 8, 1 / 2, 7 / 8].some((share) => block === Math.floor(201 * share))

/** Another process on the same database. */
function openProcess({ context }: Awaited<ReturnType<typeof openProbeChain>>, clock: Clock = systemClock) {
  const own = { ...context, clock, explorer: createExplorerCaches() }
  return {
    context: own,
    ask: (address: string) => fundedBy.handle({ chainid: '1', address }, own, testRequestInfo()),
    stored: (address: string) => findFunding(own.ingest, '1', address),
    distrusted: () => readDistrustedNodes(own.ingest, '1'),
  }
}

const finalityOf = (outcome: Awaited<ReturnType<ReturnType<typeof openProcess>['ask']>>) =>
  'confidence' in outcome ? outcome.confidence?.finality : undefined

test('a missing entry makes no other result wrong: what needs trace_filter fails, or has finality head and is not stored', async () => {
  const { at, broken, leaveOut, contracts, destroyed, unsent, sent, fundingOf } = await openScenario()
  await using _ = at
  const [provenBefore = '', unsentLater = ''] = unsent
  const [one, other] = [openProcess(at), openProcess(at)]
  assert.equal(finalityOf(await one.ask(provenBefore)), 'finalized')
  assert.equal((await one.stored(provenBefore))?.isProven, true)
  leaveOut()
  await assert.rejects(one.ask(broken), /does not list all transfers of this address up to block/)
  // What was proven with these lists is not proven any more.
  assert.deepEqual(
    [(await one.stored(provenBefore))?.block, (await one.stored(provenBefore))?.isProven],
    [fundingOf(provenBefore)?.block, undefined],
  )
  // Also in another process, and after a restart.
  for (const { ask, stored, context } of [one, other, openProcess(at)]) {
    for (const address of contracts.filter((address) => address !== broken).slice(0, 2))
      await assert.rejects(
        ask(address),
        /trace_filter of a node is not used: it did not list all transfers of 0x\w+\. Use a node/,
      )
    for (const address of [...destroyed, unknownAddress]) {
      const outcome = await ask(address)
      assert.deepEqual([finalityOf(outcome), (await stored(address))?.isProven], ['head', undefined])
    }
    const outcome = await ask(unsentLater)
    assert.deepEqual([blockOf(outcome), finalityOf(outcome)], [fundingOf(unsentLater)?.block, 'head'])
    assert.equal(await stored(unsentLater), undefined)
    const [finding = assert.fail()] = await chainFindings(context)
    assert.match(finding.message, /trace_filter of \S+ is not used/)
    assert.equal(isReady([finding]), true)
  }
  // An address that has sent a transaction was never a contract.
  const [sender = ''] = sent
  assert.equal(finalityOf(await one.ask(sender)), 'finalized')
  assert.equal((await one.stored(sender))?.isProven, true)
  const grounds = await at.context.ingest.all('select method, lists, is_void from funding_grounds order by ground')
  assert.deepEqual(grounds, [
    { method: 'state', lists: 'asked', is_void: 1 },
    { method: 'state', lists: 'not needed', is_void: 0 },
  ])
})

test('what a search has proven with lists of a node that is distrusted before it is stored is not stored', async () => {
  const { at, broken, leaveOut, unsent, fundingOf } = await openScenario()
  await using _ = at
  const [address = ''] = unsent
  const [one, other] = [openProcess(at), openProcess(at)]
  one.context.explorer.writeOnThread = async (name, input) => {
    leaveOut()
    await assert.rejects(other.ask(broken), /does not list all/)
    return searchWrites[name](one.context, input as never)
  }
  const outcome = await one.ask(address)
  assert.deepEqual([blockOf(outcome), finalityOf(outcome)], [fundingOf(address)?.block, 'head'])
  assert.equal(await one.stored(address), undefined)
})

test('distrust ends only when the list that was incomplete is complete', async () => {
  const { at, broken, brokenBlock, leaveOut, unsent, fundingOf } = await openScenario()
  await using _ = at
  leaveOut()
  let laterMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs }
  const before = openProcess(at, clock)
  await assert.rejects(before.ask(broken), /does not list all/)
  const [address = ''] = unsent
  // Hours later, and in a new process, which has tested the capabilities again.
  for (const process of [before, openProcess(at, clock)]) {
    laterMs += 2 * 3_600_000
    assert.equal(finalityOf(await process.ask(address)), 'head')
    assert.equal((await process.distrusted()).length, 1)
  }
  at.simulated.capabilities = complete
  // Not within a minute after the last check.
  assert.equal(finalityOf(await before.ask(unknownAddress)), 'finalized')
  assert.deepEqual(await before.distrusted(), [])
  const outcome = await before.ask(broken)
  assert.deepEqual([blockOf(outcome), finalityOf(outcome)], [brokenBlock, 'finalized'])
  assert.equal(blockOf(await before.ask(address)), fundingOf(address)?.block)
  assert.equal((await before.stored(address))?.isProven, true)
  const [ground] = await at.context.ingest.all<{ nodes: string }>(
    "select nodes from funding_grounds where method = 'trace_filter' and is_void = 0",
  )
  assert.match(ground?.nodes ?? '', /^\["http:\/\/127\.0\.0\.1:\d+/)
})

test('another node with trace_filter is asked at once, and only the first one is distrusted', async () => {
  const { at, broken, brokenBlock, leaveOut, contracts } = await openScenario([complete])
  await using _ = at
  const process = openProcess(at)
  leaveOut()
  const outcome = await process.ask(broken)
  assert.deepEqual([blockOf(outcome), finalityOf(outcome)], [brokenBlock, 'finalized'])
  const [{ rpc } = assert.fail()] = at.context.settings.explorer.chains
  const nodes = rpc.map(({ url }) => new URL(String(url)).host)
  const [row, ...more] = await process.distrusted()
  assert.ok(row?.node.includes(String(nodes[0])) && more.length === 0, String(row?.node))
  for (const address of contracts.slice(0, 3)) assert.equal(finalityOf(await process.ask(address)), 'finalized')
})

test('a node that refuses trace_filter later makes no result final until it is tested again', async () => {
  const { at, destroyed, unsent } = await openScenario()
  await using _ = at
  let laterMs = 0
  const process = openProcess(at, { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs })
  assert.equal(finalityOf(await process.ask(unsent[0] ?? '')), 'finalized')
  at.simulated.capabilities = { traces: ['trace_block'] }
  assert.equal(finalityOf(await process.ask(destroyed[0] ?? '')), 'head')
  laterMs = 61_000
  // The test runs beside this search. After it, the documented limit applies.
  await process.ask(unknownAddress)
  await process.context.explorer.nodes.get('1')?.each()
  assert.equal(finalityOf(await process.ask(unknownAddress)), 'finalized')
})
