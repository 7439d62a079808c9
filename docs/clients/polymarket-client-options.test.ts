// Every option of the lists of @polymarket/client is a filter of the server, or is refused: a list with an option that has
// no effect would be complete and wrong. The options, and their names in requests, come from the client itself.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, mock, test } from 'node:test'
import { createPublicClient, forkEnvironmentConfig } from '@polymarket/client'
import { allRoutes, namesWithoutEffect } from '#api/contract/routes.ts'
import type { MarketRecord } from '#markets/records/normalize.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { settingsWith, testNowMs } from '#test/context.ts'
import { inject } from '#test/inject.ts'
import { copyEmptyStores } from '#test/template.ts'

type Pages = { firstPage?(): Promise<unknown> }
type Lists = Readonly<Record<string, (options: object) => Pages | Promise<unknown>>>

/** Some lists have pages, others are a promise. */
const firstReply = (list: Pages | Promise<unknown> | undefined): unknown =>
  list && 'firstPage' in list ? list.firstPage?.() : list

const gamma = 'http://gamma.test'
/** Values of every type that an option can have. */
const optionValues: readonly unknown[] = [
  ...[true, 1, 'weekly', 'all', 'volume', '2026-01-01T00:00:00Z', '2026-01-01', 'x'],
  ...[['x'], [1], ['1'], [`0x${'1'.repeat(64)}`]],
  // A cursor that the client makes of an offset.
  btoa(JSON.stringify({ offset: 1, pageSize: 1 })),
]

/** The URLs that the client requests. No request leaves this process. */
async function requestsOf(call: () => unknown): Promise<URL[]> {
  const urls: URL[] = []
  const fetching = mock.method(globalThis, 'fetch', async (request: Request | URL | string) => {
    urls.push(new URL(request instanceof Request ? request.url : String(request)))
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  })
  try {
    await call()
  } catch {
    // The client does not accept the reply, or not these options.
  } finally {
    fetching.mock.restore()
  }
  return urls
}

/** The names that the client's lists can send, by path of the server. */
async function collectNames(): Promise<Map<string, Set<string>>> {
  const client = createPublicClient({
    environment: forkEnvironmentConfig({ name: 'test', gamma: { rest: gamma } }),
  }) as unknown as Lists
  const served = new Set(Object.values(allRoutes).map(({ path }) => path))
  const names = new Map<string, Set<string>>()
  for (const method of namesOfMethods(client).filter((name) => /^(list|search)/.test(name))) {
    const list = (options: object) => requestsOf(() => firstReply(client[method]?.(options)))
    const options = new Set<string>()
    const noteOptions: ProxyHandler<object> = {
      get: (target, name) => {
        options.add(String(name))
        return Reflect.get(target, name)
      },
    }
    const [plain] = await list(new Proxy({ q: 'x' }, noteOptions))
    if (plain?.origin !== gamma || !served.has(plain.pathname)) continue
    const found = names.getOrInsertComputed(plain.pathname, () => new Set(plain.searchParams.keys()))
    for (const option of options) {
      let isSent = false
      for (const value of optionValues)
        for (const url of await list({ q: 'x', [option]: value })) {
          isSent = true
          for (const name of url.searchParams.keys()) found.add(name)
        }
      assert.ok(isSent, `${method}: no value fits ${option}`)
    }
  }
  return names
}

function namesOfMethods(client: object): string[] {
  const names: string[] = []
  for (let from = client; from && from !== Object.prototype; from = Object.getPrototypeOf(from))
    names.push(...Object.getOwnPropertyNames(from))
  return names
}

/** Of each kind, records that differ in every field that a list could select by. */
const world: readonly MarketRecord[] = ['1', '2', '3', '4'].flatMap((id, at): MarketRecord[] => {
  const time = (day: number) => `2026-0${at + 1}-0${day}T00:00:00Z`
  const times = { startDate: time(1), endDate: time(2), createdAt: time(3), updatedAt: time(4), closedTime: time(5) }
  const amounts = { volume: 20 - at, liquidity: 20 - at, volume24hr: 20 - at }
  const isFirst = at === 0
  const closed = at === 2
  return [
    {
      kind: 'tag',
      id,
      fields: {
        label: `Rain ${id}`,
        isCarousel: isFirst,
        slug: `tag-${id}`,
        createdAt: `2026-0${4 - at}-03T00:00:00Z`,
      },
    },
    {
      ...{ kind: 'series', id },
      fields: { slug: `series-${id}`, recurrence: isFirst ? 'weekly' : 'daily', closed, ...amounts, ...times },
    },
    {
      ...{ kind: 'event', id, links: { series: [id], tags: isFirst ? ['1', '2'] : [id] } },
      fields: {
        ...{ slug: `event-${id}`, title: `Event ${id}`, closed, ...amounts, ...times, featured: isFirst },
        ...{ startTime: time(6), eventDate: `2026-0${at + 1}-06`, eventWeek: at + 1, parentEvent: `${at + 100}` },
        ...{ live: isFirst, ended: isFirst, cyom: isFirst },
      },
    },
    {
      ...{ kind: 'market', id, links: { events: [id], tags: [id] } },
      fields: {
        ...{
          slug: `market-${id}`,
          question: `Rain ${id}?`,
          closed,
          volumeNum: 20 - at,
          liquidityNum: 20 - at,
          ...times,
        },
        ...{ conditionId: `0xc${id}`, clobTokenIds: `["${id}1","${id}2"]`, questionID: `0xq${id}` },
        ...{ marketMakerAddress: `0xm${id}`, gameId: `g${id}`, sportsMarketType: `type-${id}` },
        ...{ oracleResolutionStatus: `status-${id}`, rfqEnabled: isFirst, featured: isFirst },
      },
    },
  ]
})

/** Every value in the records, in the forms in which a parameter could need it. */
const worldValues = [
  ...new Set([
    '1,2',
    ...world.flatMap(({ id, fields }) => [id, ...Object.values(fields).map(String)]),
    ...['["11","12"]', '["21","22"]'].flatMap((text) => JSON.parse(text) as string[]),
    ...['true', 'false', '1', 'all', 'active', 'id', 'volume', 'startDate', 'start_date', 'createdAt'],
  ]),
]

let server: RunningServer
const cleanup = new AsyncDisposableStack()
before(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-options-'))
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true }))
  await copyEmptyStores(dataDir)
  const settings = settingsWith({ server: { port: 0, anonymousPerSecond: 0 }, console: { enabled: false } })
  server = await startServer({ settings, dataDir, clock: systemClock, log: silentLog })
  cleanup.defer(() => server.close())
  await server.context.ingest.write((tx) => putMarkets(tx, world, testNowMs))
})
after(() => cleanup.disposeAsync())

test('every option changes the list, is reported as one without effect, or is refused', async () => {
  const get = async (path: string, query: Readonly<Record<string, string>>) => {
    const { statusCode, headers, body } = await inject(server, { url: `${path}?${new URLSearchParams(query)}` })
    return { status: statusCode, headers, body }
  }
  const names = await collectNames()
  assert.deepEqual([...names.keys()].sort(), [
    '/events/keyset',
    '/markets/keyset',
    '/public-search',
    '/series',
    '/tags',
  ])
  const outcomes: Record<string, string[]> = { effective: [], ignored: [], refused: [] }
  for (const [path, sent] of names) {
    const words = path === '/public-search' ? { q: 'rain' } : {}
    const cursor = (await get(path, { ...words, limit: '1' })).body.match(/"next_cursor":"([^"]+)"/)?.[1]
    const candidates = [...worldValues, ...(cursor === undefined ? [] : [cursor])]
    const effective: Record<string, string>[] = [{}]
    const findEffect = async (name: string, others: readonly Record<string, string>[]) => {
      for (const other of others) {
        const plain = await get(path, { ...words, ...other })
        for (const value of candidates) {
          const reply = await get(path, { ...words, ...other, [name]: value })
          if (reply.status === 200 && reply.body !== plain.body) return { ...other, [name]: value }
        }
      }
      return undefined
    }
    const undecided: string[] = []
    for (const name of [...sent].filter((name) => !(name in words))) {
      const { status, headers } = await get(path, { ...words, [name]: 'true' })
      if (headers['x-tetrad-fault'] === 'input.unknown') {
        assert.equal(status, 400)
        outcomes.refused?.push(`${path} ${name}`)
      } else if (namesWithoutEffect.markets.includes(name)) {
        assert.deepEqual([status, headers['x-tetrad-ignored']], [200, name])
        outcomes.ignored?.push(`${path} ${name}`)
      } else {
        const effect = await findEffect(name, [{}])
        if (effect) effective.push(effect)
        else undecided.push(name)
      }
    }
    // Some have an effect only beside another one, as the direction of an order.
    for (const name of undecided) {
      const effect = await findEffect(name, effective)
      assert.ok(effect, `${path} ${name} has no effect, and is not refused`)
      effective.push(effect)
    }
    outcomes.effective?.push(...effective.slice(1).map((effect) => `${path} ${Object.keys(effect).at(-1)}`))
  }
  // As many as the client has options: neither the collection nor the search for an effect has become empty.
  const counts = Object.values(outcomes).map(({ length }) => length)
  assert.ok(
    counts.every((count) => count >= 5) && counts[0] !== undefined && counts[0] >= 40,
    JSON.stringify(outcomes, null, 2),
  )
})
