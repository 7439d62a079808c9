// Searches on a chain with the Amsterdam fork: contracts that are found by logs, the fork block that the chain
// remembers, and a node that only has the states since the fork.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fault } from '#core/fault.ts'
import { requireNode } from '#explorer/nodes.ts'
import { spendingCode } from '#simulator/evm/execute.ts'
import { blockOf, openProbeChain } from '#test/probe-chain.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import type { SimulatedCapabilities } from '#test/simulator/limited-node.ts'

/** Behind the middle of the chain, where a search begins. */
const fork = 120

/** A payment in the newest block shows that the chain has logs. */
const openForked = (capabilities: Partial<SimulatedCapabilities> = {}) =>
  openProbeChain(
    { traces: ['trace_block'], receipts: true, ...capabilities },
    {},
    {},
    {
      amsterdamFrom: fork,
      payments: [{ block: 200, account: 1, ether: 1 }],
    },
  )

type ForkedChain = Awaited<ReturnType<typeof openForked>>

const wasEmpty = ({ chain }: ForkedChain, address: string, block = fork - 1): boolean => {
  const { nonce, balance, code } = chain.accountAt(address, block)
  return nonce === 0n && balance === 0n && code === '0x'
}

const fundedSince = ({ chain }: ForkedChain, address: string): boolean => {
  const block = firstFunding(chain, address)?.block ?? 0
  return block > fork + 5 && block <= chain.final
}

test('a contract that was empty before the fork is found by logs, and one that was not needs an index', async () => {
  await using at = await openForked()
  const created = at.contract((address) => wasEmpty(at, address) && fundedSince(at, address))
  assert.equal(blockOf(await at.ask(created)), firstFunding(at.chain, created)?.block)
  const older = at.contract((address) => !wasEmpty(at, address))
  await assert.rejects(at.ask(older), ({ code }: Fault) => code === 'explorer.needs_index')
})

test('the fork block is searched once for a chain, verified after that, and searched again if it has moved', async () => {
  await using at = await openForked()
  const [first, second, third] = at.steady.filter(
    (address) =>
      at.chain.accountAt(address, at.chain.head.number).code === spendingCode &&
      wasEmpty(at, address) &&
      fundedSince(at, address),
  )
  assert.ok(first && second && third)
  const { amsterdam } = requireNode(at.context, '1')
  let headers: number[] = []
  at.simulated.meanwhile = (body) => {
    for (const { method, params } of [JSON.parse(body)].flat())
      if (method === 'eth_getBlockByNumber' && params[1] === false && params[0].startsWith('0x'))
        headers.push(Number(params[0]))
  }
  const headersOf = async (address: string) => {
    headers = []
    assert.equal(blockOf(await at.ask(address)), firstFunding(at.chain, address)?.block)
    return headers
  }
  assert.ok((await headersOf(first)).length > 5)
  assert.equal(amsterdam.firstBlock, fork)
  assert.deepEqual(await headersOf(second), [fork, fork - 1])
  amsterdam.firstBlock = fork + 3
  assert.deepEqual((await headersOf(third)).slice(0, 2), [fork + 3, fork + 2])
  assert.equal(amsterdam.firstBlock, fork)
})

test('a node with the states since the fork finds an account that was empty before it, and refuses others', async () => {
  await using at = await openForked({ stateBlocks: 200 - fork + 1 })
  assert.equal((await requireNode(at.context, '1').capabilities()).has['historical balance'], false)
  const someone = (isEmpty: boolean) =>
    at.someone(({ to, block }) => wasEmpty(at, to) === isEmpty && block <= at.chain.final)
  const account = someone(true)
  assert.equal(blockOf(await at.ask(account)), firstFunding(at.chain, account)?.block)
  await assert.rejects(at.ask(someone(false)), ({ code }: Fault) => code === 'explorer.not_archive')
})
