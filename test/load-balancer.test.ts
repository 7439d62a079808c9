// Two servers behind the load balancer of ops/haproxy, which asks /readyz. A stale chain or a slow feed must not take a
// server out: it serves all other data as well as its neighbour.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { Finding } from '#http/health.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { noHaproxy, startHaproxy } from './haproxy.ts'
import { inject } from './inject.ts'
import { LimitedNode } from './simulator/limited-node.ts'
import { waitUntil } from './wait-until.ts'

interface DemoSettings {
  readonly explorer: object
  readonly markets: { readonly feeds: readonly object[] }
}

/** A feed that accepts requests and never responds. */
async function openSlowFeed() {
  const server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const readiness = async ({ server }: DemoServer) => {
  const { statusCode, body } = await inject(server, { url: '/readyz' })
  const { checks } = JSON.parse(body) as { checks: Finding[] }
  return { statusCode, failing: checks.filter(({ ok }) => !ok).map(({ name }) => name) }
}

/** Responses of an endpoint. */
const countServed = async ({ server }: DemoServer, endpoint: string): Promise<number> => {
  const { body } = await inject(server, { url: '/metrics' })
  const lines = body
    .split('\n')
    .filter((line) => line.startsWith('tetrad_requests_total{') && line.includes(`"${endpoint}"`))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** Each server has its own database, so the key of the first is copied to the second. */
async function shareKeys({ server: from }: DemoServer, { server: to }: DemoServer): Promise<void> {
  const known = new Set((await to.context.state.all<{ id: string }>('select id from keys')).map(({ id }) => id))
  const rows = await from.context.state.all<Record<string, string | number | null | Uint8Array>>('select * from keys')
  await to.context.state.write((tx) =>
    tx.insertMany(
      'keys',
      Object.keys(rows[0] ?? {}),
      rows.filter(({ id }) => !known.has(String(id))).map((row) => Object.values(row)),
    ),
  )
}

test('with a stale chain on one server and a slow feed on both, both serve quotes and all groups', {
  skip: noHaproxy,
}, async () => {
  const chain = new SimulatedChain({ seed: 'balanced', id: '8453', finalLag: 5 })
  chain.mine(30)
  await using node = new LimitedNode(chain)
  const rpc = [{ url: await node.listen() }]
  await using feed = await openSlowFeed()
  const open = (headMaxAgeMs: number) =>
    openDemoServer((settings) => {
      const { explorer, markets } = settings as DemoSettings
      return {
        explorer: {
          ...explorer,
          chains: [
            { id: '1', name: 'Ethereum' },
            { id: '8453', name: 'Base', rpc, headMaxAgeMs },
          ],
        },
        markets: { ...markets, feeds: markets.feeds.map((one) => ({ ...one, url: feed.url, staleMs: 1000 })) },
      }
    })
  await using stale = await open(300_000)
  await using other = await open(0)
  const servers = [stale, other]
  await waitUntil(async () => (await readiness(stale)).failing.includes('node of chain 8453'))
  for (const server of servers) {
    const { statusCode, failing } = await readiness(server)
    assert.equal(statusCode, 200, String(failing))
    assert.ok(failing.includes('market feed demo'), String(failing))
    assert.equal(failing.includes('node of chain 8453'), server === stale)
  }
  // 4.3 has a limit of two calls per second and key.
  const keys = await Promise.all(Array.from({ length: 4 }, () => stale.keyFor('enterprise')))
  await shareKeys(stale, other)
  await using balancer = await startHaproxy(servers.map(({ url }) => new URL(url).host))
  const { samples } = stale
  const quote = {
    ...{ from: { currency: 'USDC', amount: '1000.00' }, to: { currency: 'EURC' }, tenor: 'instant', type: 'reference' },
  }
  const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' })
  const explorer = (key: string, query: string) => `/v2/api?apikey=${key}&${query}`
  const calls: Record<string, (key: string) => Promise<Response>> = {
    'fx.createQuote': (key) =>
      fetch(`${balancer.url}/v1/exchange/fx/quotes`, {
        method: 'POST',
        headers: { ...headersOf(key), 'content-type': 'application/json' },
        body: JSON.stringify(quote),
      }),
    'explorer.fundedBy': (key) =>
      fetch(
        `${balancer.url}${explorer(key, `chainid=8453&module=account&action=fundedby&address=0x${'7b'.repeat(20)}`)}`,
      ),
    'explorer.labelListV2': (key) =>
      fetch(`${balancer.url}${explorer(key, 'chainid=1&module=nametag&action=getlabelmasterlist')}`),
    'validators.metadata': (key) =>
      fetch(`${balancer.url}/v0/eth/validators/${samples.indices[0]}`, { headers: headersOf(key) }),
    'markets.bySlug': () => fetch(`${balancer.url}/markets/slug/${samples.slug}`),
  }
  for (const [endpoint, call] of Object.entries(calls)) {
    const before = await Promise.all(servers.map((server) => countServed(server, endpoint)))
    const finalities = new Set<string | null>()
    for (let at = 0; at < 8; at++) {
      const response = await call(keys[at % keys.length] ?? '')
      const body = await response.text()
      assert.ok(response.ok && !body.includes('NOTOK'), `${endpoint}: ${response.status} ${body.slice(0, 200)}`)
      finalities.add(response.headers.get('x-tetrad-finality'))
    }
    // /metrics is shared for a second.
    for (const [at, server] of servers.entries())
      await waitUntil(async () => (await countServed(server, endpoint)) > (before[at] ?? 0))
    if (endpoint === 'explorer.fundedBy') assert.deepEqual([...finalities].sort(), ['finalized', 'head'])
  }
})
