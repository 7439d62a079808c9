// The work of a request ends with its caller: after the caller has left, and after the time limit, at most one more unit of
// work begins, and none once the response is settled (behaviour/http.md#when-a-request-ends). For every endpoint: one without a
// call in endpoint-calls.ts does not compile. Other paths: extra-work-ends.test.ts.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { type Client, createClient } from '#api/client/client.ts'
import { allEndpoints } from '#api/contract/extensions.ts'
import { toRequest } from '#api/contract/request.ts'
import type { AnyId } from '#api/contract/routes.ts'
import { type ChainNode, openNode } from '#explorer/nodes.ts'
import type { Authorizer } from '#http/authorize.ts'
import type { Caller } from '#http/handler.ts'
import { systemClock } from '#runtime/clock.ts'
import { settingsWith } from './context.ts'
import { checkWorkEnds, openCounted, type SentRequest } from './count-work.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { createCalls, createDemoQuote, withPushSource } from './endpoint-calls.ts'
import { createAmsterdamChain } from './simulator/amsterdam.ts'
import { firstFunding } from './simulator/first-funding.ts'
import { LimitedNode } from './simulator/limited-node.ts'

const chain = createAmsterdamChain({ seed: 'work ends', id: '10', finalLag: 20 })
chain.mine(100)
const node = new LimitedNode(chain)
/** On the chain of the demo's quotes, for signatures and trades. No address has code, every transaction was reverted. */
class QuoteNode extends LimitedNode {
  protected override resultOf(method: string, params: readonly unknown[]): unknown {
    if (method === 'eth_getCode') return '0x'
    if (method === 'eth_call') return `0x${'00'.repeat(32)}`
    return method === 'eth_getTransactionReceipt' ? { status: '0x0', logs: [] } : super.resultOf(method, params)
  }
}
const quoteNode = new QuoteNode(chain)
quoteNode.chainId = '31337'

let world: DemoServer
let client: Client
let lastRequest: SentRequest
let calls: ReturnType<typeof createCalls>
/** The quotes of the calls are theirs. */
let caller: Caller
let nodes: readonly string[]
let chainNode: ChainNode

before(async () => {
  world = await openDemoServer(withPushSource)
  const fetchAndKeep: typeof fetch = (url, init = {}) => {
    const { method = 'GET', headers, body } = init
    lastRequest = {
      url: new URL(String(url)),
      method,
      headers: new Headers(headers),
      body: body == null ? undefined : Buffer.from(String(body)),
    }
    return fetch(url, init)
  }
  const key = await world.keyFor('enterprise', { admin: true })
  caller = { keyId: key.split(':')[1] ?? '', plan: 'enterprise' }
  client = createClient({ baseUrl: world.url, key, fetch: fetchAndKeep })
  calls = createCalls(client, world)
  nodes = [await node.listen(), await quoteNode.listen()]
  const { explorer } = settingsWith({
    explorer: { chains: [{ id: chain.id, name: 'Simulated', rpc: [{ url: nodes[0] }] }] },
  })
  chainNode = openNode(explorer.chains[0] as ChainNode['chain'], { clock: systemClock })
  // Tests of a node serve all callers.
  await chainNode.capabilities()
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
  await quoteNode[Symbol.asyncDispose]()
})

const authorizer = { authorize: () => caller, close: async () => {} } as unknown as Authorizer

/** Its nodes are those above, which the server of the demo does not use. */
async function open() {
  const { context } = world.server
  const { explorer, fx } = context.settings
  const settings = {
    ...context.settings,
    explorer: { ...explorer, chains: [...explorer.chains, chainNode.chain] },
    fx: { ...fx, rpcUrl: nodes[1] as string, rpcHeadMaxAgeMs: 0 },
  }
  const server = await openCounted({ ...context, settings }, authorizer, { nodes })
  server.context.explorer.nodes.set(chain.id, chainNode)
  return server
}

describe('the work of a request ends with its caller', () => {
  for (const id of Object.keys(allEndpoints) as AnyId[])
    test(id, async () => {
      await calls[id]()
      const sent = lastRequest
      await checkWorkEnds(open, async () => sent)
    })

  for (const path of ['/v2/api?module=account&action=fundedby', '/v2/trail?depth=1'])
    test(`${path}, with calls to a node`, async () => {
      // It is not final, so it is not stored, and every request searches it.
      const address = chain.addresses().find((one) => (firstFunding(chain, one)?.block ?? 0) > chain.final)
      const url = new URL(`${path}&chainid=${chain.id}&address=${address}`, world.url)
      const before = node.rounds
      await checkWorkEnds(open, async () => ({ url, method: 'GET', headers: new Headers(), body: undefined }))
      assert.ok(node.rounds > before + 2, 'the node was not called')
    })

  /** The calls above are repeated, so they return what is stored. */
  const signer = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const signQuote = async () => {
    const quote = await createDemoQuote(client)
    return { quoteId: quote.id, address: signer.address, signature: await client.fx.signQuote(quote, signer) }
  }
  const tradeInputs = {
    'fx.createTrade': signQuote,
    'fx.reportTrade': async () => {
      const { id } = await client.fx.createTrade(await signQuote())
      return { id, status: 'failed', settlementTransactionHash: `0x${'a7'.repeat(32)}` }
    },
  }
  for (const [id, nextInput] of Object.entries(tradeInputs))
    test(`${id}, with calls to a node`, async () => {
      const before = quoteNode.rounds
      await checkWorkEnds(open, async () => {
        const { url, method, headers, body } = toRequest(id as AnyId, world.url, await nextInput(), undefined)
        return { url: new URL(url), method, headers: new Headers(headers), body: Buffer.from(body ?? '') }
      })
      assert.ok(quoteNode.rounds > before + 2, 'the node was not called')
    })

  test('checks of signatures call a node', () => assert.ok(quoteNode.rounds > 0))
})
