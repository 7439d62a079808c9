// What a caller of the signature check can cause at the node, and what reaches the caller of it.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { checkSignature } from './check-signature.ts'

const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const secret = 'private-host-of-the-operator'

interface Call {
  readonly id: number
  readonly method: string
}

describe('the node of signature checks', () => {
  let context: TestContext
  let respond: (calls: readonly Call[], response: ServerResponse) => void
  const node = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => respond([JSON.parse(Buffer.concat(chunks).toString())].flat(), response))
  })

  before(async () => {
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
    const rpcUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}/${secret}`
    const sources = [{ id: 'a', kind: 'push' }]
    context = await openContext({ fx: { spender: `0x${'33'.repeat(20)}`, sources, rpcUrl } })
    const atMs = context.clock.now()
    await storeRates(context.state, 'a', [{ source: 'a', base: 'EUR', quote: 'USD', rate: '1.08', atMs }], atMs)
  })
  after(async () => {
    node.closeAllConnections()
    await new Promise((resolve) => node.close(resolve))
    await context?.[Symbol.asyncDispose]()
  })

  const callerOf = (keyId: string) => ({ ...testRequestInfo(), caller: { keyId, plan: 'enterprise' as const } })

  async function signedQuote(keyId: string) {
    const input = {
      from: { currency: 'USDC', amount: '100' },
      to: { currency: 'EURC' },
      tenor: 'instant',
      type: 'tradable',
      recipientAddress: `0x${'11'.repeat(20)}`,
    } as const
    const outcome = await createQuote.handle(input, context, callerOf(keyId))
    assert.ok(outcome.is === 'bytes')
    const quote = parseJson(new TextDecoder().decode(outcome.bytes)) as Quote
    return { id: quote.id, signature: await signQuote(quote, taker), signer: taker.address, keyId }
  }
  const check = ({ keyId, ...input }: Awaited<ReturnType<typeof signedQuote>>, signal?: AbortSignal) =>
    checkSignature.handle(input, { ...context, clock: systemClock }, { ...callerOf(keyId), ...(signal && { signal }) })

  const reply = (response: ServerResponse, calls: readonly Call[], of: (call: Call) => object) => {
    const replies = calls.map((call) => ({ jsonrpc: '2.0', id: call.id, ...of(call) }))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(replies.length === 1 ? replies[0] : replies))
  }
  const chainId = { result: '0x1' }
  const word = { result: `0x${'00'.repeat(32)}` }
  const refusal = { error: { code: -32000, message: `upstream http://${secret}:8545/key refused ${secret}` } }

  const failures: Record<string, typeof respond> = {
    'an error of every call': (calls, response) =>
      reply(response, calls, ({ method }) => (method === 'eth_chainId' ? chainId : refusal)),
    'an error of the contract calls': (calls, response) =>
      reply(response, calls, ({ method }) =>
        method === 'eth_chainId' ? chainId : method === 'eth_getCode' ? { result: '0x00' } : refusal,
      ),
    'an error of the last call': (calls, response) =>
      reply(response, calls, ({ id, method }) => {
        if (method === 'eth_chainId') return chainId
        if (id === calls.at(-1)?.id) return refusal
        return method === 'eth_getCode' ? { result: '0x00' } : word
      }),
    'another chain': (calls, response) => reply(response, calls, () => ({ result: '0x5' })),
    'a status': (_, response) => response.writeHead(500).end(secret),
    'a redirect': (_, response) => response.writeHead(302, { location: `http://${secret}/` }).end(),
    'no JSON': (_, response) => response.end(secret),
    'a closed connection': (_, response) => response.destroy(),
  }
  for (const [what, failing] of Object.entries(failures))
    test(`${what} of the node is a finding without its address and without its text`, async () => {
      respond = failing
      const outcome = await check(await signedQuote('key'))
      assert.ok(outcome.is === 'body')
      const text = stringifyJson(outcome.body)
      assert.ok(
        outcome.body.chain.some(({ name, ok }) => (name === 'node' || name === 'signature') && !ok),
        text,
      )
      assert.doesNotMatch(text, /127\.0\.0\.1|private-host|upstream/)
    })

  test('two checks run at a time, one per key; eight wait; the next is refused with retry-after', async () => {
    const held: (() => void)[] = []
    respond = (calls, response) => {
      if (calls.some(({ method }) => method === 'eth_chainId')) return reply(response, calls, () => chainId)
      held.push(() => reply(response, calls, ({ method }) => (method === 'eth_getCode' ? { result: '0x' } : word)))
    }
    const untilHeld = async (count: number) => {
      while (held.length < count) await nextEventLoopTurn()
    }
    const quotes = await Promise.all(
      ['k0', 'k0', ...Array.from({ length: 8 }, (_, at) => `k${at + 1}`)].map(signedQuote),
    )
    const left = await signedQuote('left')
    const running = quotes.map((quote) => check(quote))
    await untilHeld(2)
    await assert.rejects(async () => check(left), { code: 'fx.checks_full', status: 429, retryAfterMs: 5000 })
    for (let done = 0; done < quotes.length; done++) {
      await untilHeld(1)
      assert.ok(held.length <= 2)
      held.shift()?.()
      await running[0]
    }
    await Promise.all(running)
    assert.equal(held.length, 0)
    const fresh = check(left)
    await untilHeld(1)
    held.shift()?.()
    assert.equal((await fresh).is, 'body')
  })
})
