import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientOf, failureOf } from '../test/scripted-client.ts'
import { type ScriptedServer, serveScript } from '../test/scripted-server.ts'

describe('pages', () => {
  /** Two pages of 4.5; `link` creates the link to the second one. */
  const twoPages = (link: (server: () => ScriptedServer) => string) => {
    let server: ScriptedServer | undefined
    const started = serveScript(
      () => ({ body: { data: [{ day: 2 }], next: link(() => server as ScriptedServer), page: {}, total: 2 } }),
      { body: { data: [{ day: 1 }], next: null, page: {}, total: 2 } },
    )
    return started.then((ready) => {
      server = ready
      return ready
    })
  }
  const input = { indices: [1, 2], network: 'holesky' as const }

  test('4.5: iterates over all pages by `next`, with the path of the base URL and the network header', async () => {
    await using server = await twoPages(() => '/v0/eth/validators/effectiveness?indices=1%2C2&size=1&from=1')
    const { client } = clientOf(server, { baseUrl: `${server.url}/under` })
    const days = await Array.fromAsync(client.validators.aggregateEffectivenessAll(input), ({ day }) => day)
    assert.deepStrictEqual(days, [2, 1])
    const [first, second] = server.requests
    assert.equal(first?.url, '/under/v0/eth/validators/effectiveness?indices=1,2')
    assert.equal(second?.url, '/under/v0/eth/validators/effectiveness?indices=1%2C2&size=1&from=1')
    assert.equal(second?.headers['x-validator-network'], 'holesky')
  })

  for (const elsewhere of ['https://elsewhere.invalid/v0/x?from=1', '//elsewhere.invalid/v0/x?from=1']) {
    test(`a link to ${elsewhere} is requested at the base URL of the client (behaviour/http.md#client-pages)`, async () => {
      await using server = await twoPages(() => elsewhere)
      const { client } = clientOf(server)
      const pages = await Array.fromAsync(client.validators.aggregateEffectivenessPages(input))
      assert.equal(pages.length, 2)
      assert.equal(server.requests[1]?.url, '/v0/eth/validators/effectiveness?from=1')
    })
  }

  test('4.6: follows absolute links, also those rewritten by a proxy', async () => {
    const next = 'https://public.invalid/v1/eth/validators/12/effectiveness?limit=1&offset=1'
    await using server = await serveScript(
      { body: { previous: null, next, pages: 2, results: [{ day: 1 }] } },
      { body: { previous: null, next: null, pages: 2, results: [{ day: 2 }] } },
    )
    const { client } = clientOf(server)
    const input = { validator_index_or_pubkey: 12, limit: 1 }
    const days = await Array.fromAsync(client.validators.effectivenessAll(input), ({ day }) => day)
    assert.deepStrictEqual(days, [1, 2])
    assert.equal(server.requests[1]?.url, '/v1/eth/validators/12/effectiveness?limit=1&offset=1')
    const pages = await Array.fromAsync(client.validators.effectivenessPages(input))
    assert.equal(pages.length, 1)
  })

  test('throws for too many pages, a link to the same page and an invalid link', async () => {
    let from = 0
    await using endless = await serveScript(() => ({ body: { data: [], next: `/x?from=${from++}` } }))
    const { client } = clientOf(endless)
    const options = { pagesMax: 3 }
    const all = Array.fromAsync(client.validators.aggregateEffectivenessPages(input, options))
    assert.match((await failureOf(all)).message, /more than 3 pages/)
    assert.equal(endless.requests.length, 3)
    await using stuck = await serveScript({ body: { data: [], next: '/x?from=1' } })
    const same = Array.fromAsync(clientOf(stuck).client.validators.aggregateEffectivenessPages(input))
    assert.match((await failureOf(same)).message, /that of this page/)
    await using odd = await serveScript({ body: { data: [] } })
    const unread = Array.fromAsync(clientOf(odd).client.validators.aggregateEffectivenessPages(input))
    assert.match((await failureOf(unread)).message, /is not valid/)
  })

  test('markets: iterates over all pages by `next_cursor`, and throws for a repeated cursor and too many pages', async () => {
    const page = (id: string, next_cursor?: string) => ({ body: { markets: [{ id }], next_cursor } })
    await using server = await serveScript(page('1', 'a'), page('2'), page('1', 'a'), page('1', 'a'), page('1', 'a'))
    const { client } = clientOf(server)
    const ids = await Array.fromAsync(client.markets.listAll({ order: 'volume' }), ({ id }) => id)
    assert.deepEqual(ids, ['1', '2'])
    const urls = server.requests.map(({ url }) => url)
    assert.deepEqual(urls, ['/markets/keyset?order=volume', '/markets/keyset?order=volume&after_cursor=a'])
    const repeated = Array.fromAsync(client.markets.listAll())
    assert.match((await failureOf(repeated)).message, /cursor of the next page is that of this page/)
    const limited = Array.fromAsync(client.markets.listAll({}, { pagesMax: 1 }))
    assert.match((await failureOf(limited)).message, /more than 1 pages/)
  })
})
