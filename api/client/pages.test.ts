import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientOf, failureOf } from '../../test/scripted-client.ts'
import { type ScriptedServer, serveScript } from '../../test/scripted-server.ts'
import { contract } from '../contract/contract.ts'
import { extensions } from '../contract/extensions.ts'
import { type PagedId, pagedEndpoints } from './pages.ts'

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
    const days = await Array.fromAsync(
      client.call('validators.aggregateEffectiveness', input).records(),
      ({ day }) => day,
    )
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
      const pages = await Array.fromAsync(client.call('validators.aggregateEffectiveness', input).pages())
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
    const days = await Array.fromAsync(client.call('validators.effectiveness', input).records(), ({ day }) => day)
    assert.deepStrictEqual(days, [1, 2])
    assert.equal(server.requests[1]?.url, '/v1/eth/validators/12/effectiveness?limit=1&offset=1')
    const pages = await Array.fromAsync(client.call('validators.effectiveness', input).pages())
    assert.equal(pages.length, 1)
  })

  test('throws for too many pages, a link to the same page and an invalid link', async () => {
    let from = 0
    await using endless = await serveScript(() => ({ body: { data: [], next: `/x?from=${from++}` } }))
    const { client } = clientOf(endless)
    const options = { pagesMax: 3 }
    const all = Array.fromAsync(client.call('validators.aggregateEffectiveness', input).pages(options))
    assert.match((await failureOf(all)).message, /more than 3 pages/)
    assert.equal(endless.requests.length, 3)
    await using stuck = await serveScript({ body: { data: [], next: '/x?from=1' } })
    const same = Array.fromAsync(clientOf(stuck).client.call('validators.aggregateEffectiveness', input).pages())
    assert.match((await failureOf(same)).message, /is one that was read before/)
    await using odd = await serveScript({ body: { data: [] } })
    const unread = Array.fromAsync(clientOf(odd).client.call('validators.aggregateEffectiveness', input).pages())
    assert.match((await failureOf(unread)).message, /is not valid/)
  })

  test('markets: iterates over all pages by `next_cursor`, and throws for a repeated cursor and too many pages', async () => {
    const page = (id: string, next_cursor?: string) => ({ body: { markets: [{ id }], next_cursor } })
    await using server = await serveScript(page('1', 'a'), page('2'), page('1', 'a'), page('1', 'a'), page('1', 'a'))
    const { client } = clientOf(server)
    const ids = await Array.fromAsync(client.call('markets.listKeyset', { order: 'volume' }).records(), ({ id }) => id)
    assert.deepEqual(ids, ['1', '2'])
    const urls = server.requests.map(({ url }) => url)
    assert.deepEqual(urls, ['/markets/keyset?order=volume', '/markets/keyset?order=volume&after_cursor=a'])
    const repeated = Array.fromAsync(client.call('markets.listKeyset', {}).records())
    assert.match((await failureOf(repeated)).message, /is one that was read before/)
    const limited = Array.fromAsync(client.call('markets.listKeyset', {}).records({ pagesMax: 1 }))
    assert.match((await failureOf(limited)).message, /more than 1 pages/)
  })

  test('quotes: the next request has the cursor in `before`, and null ends the list', async () => {
    const page = (id: string, next: string | null) => ({ body: { quotes: [{ id }], next } })
    await using server = await serveScript(page('c', 'c'), page('b', null))
    const quotes = await Array.fromAsync(
      clientOf(server).client.call('fx.quotes', { limit: 1 }).records(),
      ({ id }) => id,
    )
    assert.deepEqual(quotes, ['c', 'b'])
    assert.deepEqual(urlsOf(server), ['/v1/exchange/fx/quotes?limit=1', '/v1/exchange/fx/quotes?limit=1&before=c'])
  })

  test('lists with an offset: it grows by the number of records, from the given one, until a page is empty', async () => {
    await using server = await serveScript({ body: [{ id: '1' }, { id: '2' }] }, { body: [{ id: '3' }] }, { body: [] })
    const { client } = clientOf(server)
    const ids = await Array.fromAsync(client.call('markets.tags', { limit: 2, offset: 4 }).records(), ({ id }) => id)
    assert.deepEqual(ids, ['1', '2', '3'])
    assert.deepEqual(
      urlsOf(server),
      [4, 6, 7].map((offset) => `/tags?limit=2&offset=${offset}`),
    )
  })

  test('search: pages are numbered, until there are no more', async () => {
    const page = (id: string, hasMore: boolean) => ({
      body: { events: [{ id }], tags: [], pagination: { hasMore, totalResults: 2 } },
    })
    await using server = await serveScript(page('1', true), page('2', false))
    const { client } = clientOf(server)
    const ids = await Array.fromAsync(client.call('markets.publicSearch', { q: 'rain' }).records(), ({ id }) => id)
    assert.deepEqual(ids, ['1', '2'])
    assert.deepEqual(urlsOf(server), ['/public-search?q=rain', '/public-search?q=rain&page=2'])
  })

  test('changes: `more: false` ends the list, although there is a cursor', async () => {
    const page = (cursor: string, more: boolean) => ({ body: { changes: [{ cursor }], next: cursor, more } })
    await using server = await serveScript(page('7', true), page('8', false))
    const { client } = clientOf(server)
    const cursors = await Array.fromAsync(client.call('markets.changes', {}).records(), ({ cursor }) => cursor)
    assert.deepEqual(cursors, ['7', '8'])
    assert.deepEqual(urlsOf(server), ['/markets/changes', '/markets/changes?after=7'])
  })

  test('a cycle of links or cursors ends with an error when a page would be read again', async () => {
    const pageAfter = { a: 'b', b: 'c', c: 'a' } as Record<string, string>
    const next = ({ url = '' }: { url?: string | undefined }) => pageAfter[/=([abc])$/.exec(url)?.[1] ?? 'c']
    await using cursors = await serveScript((request) => ({
      body: { markets: [{ id: '1' }], next_cursor: next(request) },
    }))
    const byCursor = Array.fromAsync(clientOf(cursors).client.call('markets.listKeyset', {}).pages())
    assert.match((await failureOf(byCursor)).message, /is one that was read before/)
    assert.equal(cursors.requests.length, 4)
    await using links = await serveScript((request) => ({ body: { data: [], next: `/x?from=${next(request)}` } }))
    const byLink = Array.fromAsync(clientOf(links).client.call('validators.aggregateEffectiveness', input).pages())
    assert.match((await failureOf(byLink)).message, /is one that was read before/)
    assert.equal(links.requests.length, 4)
  })

  test('a server that ignores offset or page repeats its records, which is an error; no records end a search', async () => {
    await using offsets = await serveScript({ body: [{ id: '1' }, { id: '2' }] })
    const byOffset = Array.fromAsync(clientOf(offsets).client.call('markets.tags', {}).records())
    assert.match((await failureOf(byOffset)).message, /records of the one before/)
    const pagination = { hasMore: true, totalResults: 9 }
    await using numbers = await serveScript({ body: { events: [{ id: '1' }], tags: [], pagination } })
    const byNumber = Array.fromAsync(clientOf(numbers).client.call('markets.publicSearch', { q: 'rain' }).records())
    assert.match((await failureOf(byNumber)).message, /records of the one before/)
    await using empty = await serveScript({ body: { events: [], tags: [], pagination } })
    assert.deepEqual(
      await Array.fromAsync(clientOf(empty).client.call('markets.publicSearch', { q: 'rain' }).records()),
      [],
    )
  })

  test('a page without its list of records is an error', async () => {
    await using server = await serveScript({ body: { next: null } })
    const all = Array.fromAsync(clientOf(server).client.call('validators.list', {}).records())
    assert.match((await failureOf(all)).message, /no list of records/)
  })

  test('every endpoint whose input or reply has a position in a list can be iterated, by the right members', () => {
    const positions = ['offset', 'page', 'cursor', 'before', 'after', 'after_cursor']
    const paged: string[] = []
    for (const { id, input, reply, stream } of Object.values({ ...contract, ...extensions }) as AnyEndpoint[]) {
      const members = reply.properties ?? {}
      const hasPosition = positions.some((name) => name in (input.properties ?? {}))
      if (!stream && (hasPosition || 'next' in members || 'next_cursor' in members)) paged.push(id)
    }
    assert.deepEqual(Object.keys(pagedEndpoints).sort(), paged.sort())
    for (const [id, { records, next }] of Object.entries(pagedEndpoints)) {
      const { input, reply } = { ...contract, ...extensions }[id as PagedId] as unknown as AnyEndpoint
      const list = records === null ? reply : reply.properties?.[records]
      assert.equal(list?.type, 'array', id)
      const to = typeof next === 'object' ? next.to : { link: undefined, offset: 'offset', number: 'page' }[next]
      assert.ok(to === undefined || to in (input.properties ?? {}), id)
      if (typeof next === 'object') assert.ok(next.from in (reply.properties ?? {}), id)
    }
  })
})

interface AnySchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, AnySchema>>
}

interface AnyEndpoint {
  readonly id: string
  readonly input: AnySchema
  readonly reply: AnySchema
  readonly stream?: unknown
}

const urlsOf = ({ requests }: ScriptedServer): (string | undefined)[] => requests.map(({ url }) => url)
