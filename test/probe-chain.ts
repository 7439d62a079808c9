// A simulated chain of 200 blocks with a node, and a context whose endpoint 4.3 searches it.
import assert from 'node:assert/strict'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import type { HandlerResult } from '#http/handler.ts'
import { systemClock } from '#runtime/clock.ts'
import type { SimulatedChainOptions, TrueTransfer } from '#simulator/evm/chain.ts'
import { spendingCode } from '#simulator/evm/execute.ts'
import { openContext, testRequestInfo } from './context.ts'
import { createAmsterdamChain } from './simulator/amsterdam.ts'
import { FaultyNode } from './simulator/faulty-node.ts'
import { firstFunding } from './simulator/first-funding.ts'
import type { SimulatedCapabilities } from './simulator/limited-node.ts'

export async function openProbeChain(
  capabilities: SimulatedCapabilities = { traces: ['trace_block'] },
  settings: object = {},
  chainSettings: object = {},
  kind: Partial<SimulatedChainOptions> = {},
  /** Further nodes of the same chain. */
  more: readonly SimulatedCapabilities[] = [],
) {
  const chain = createAmsterdamChain({ seed: 'probe', finalLag: 10, ...kind })
  chain.mine(200)
  const simulated = new FaultyNode(chain, capabilities, 2000)
  const others = more.map((one) => new FaultyNode(chain, one, 2000))
  const rpc = await Promise.all([simulated, ...others].map(async (node) => ({ url: await node.listen() })))
  const context = await openContext({
    explorer: { chains: [{ id: '1', name: 'Simulated', rpc, ...chainSettings }], ...settings },
  })
  const real = { ...context, clock: systemClock }
  const steady = chain.addresses().filter((address) => !chain.destroyed.has(address))
  return {
    ...{ chain, simulated, others, context: real, steady },
    /** An account whose first funding matches. Fails if the seed has none. */
    someone(fits: (funding: TrueTransfer) => boolean): string {
      const account = steady.find((address) => {
        const funding = firstFunding(chain, address)
        return funding !== undefined && chain.accountAt(address, chain.head.number).code === '0x' && fits(funding)
      })
      assert.ok(account, 'no such address in this chain')
      return account
    },
    contract(fits: (address: string) => boolean): string {
      const contract = steady.find(
        (address) => chain.accountAt(address, chain.head.number).code === spendingCode && fits(address),
      )
      assert.ok(contract, 'no such contract in this chain')
      return contract
    },
    ask: (address: string) => fundedBy.handle({ chainid: '1', address }, real, testRequestInfo()),
    async [Symbol.asyncDispose]() {
      for (const node of [simulated, ...others]) await node[Symbol.asyncDispose]()
      await context[Symbol.asyncDispose]()
    },
  }
}

export const blockOf = (outcome: HandlerResult<{ result: { block: number } }>) =>
  outcome.is === 'body' ? outcome.body.result.block : undefined

export const unknownAddress = `0x${'99'.repeat(20)}`
