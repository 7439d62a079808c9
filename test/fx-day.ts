// The world of fx-day.test.ts: one time for servers, database, node and providers, nine providers of rates, PostgreSQL with
// a standby, and two servers in processes that can be killed.
//   await using day = await openFxDay(startMs)
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemRandom } from '#runtime/random.ts'
import { moveCursor } from '#storage/coverage.ts'
import { createKey } from '#storage/keys.ts'
import { openState } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { signatureHeaders } from '#webhooks/signature.ts'
import { DrivenClock } from './driven-clock.ts'
import { HostProcess } from './host-process.ts'
import { startPostgres } from './postgres.ts'
import { ownFolder } from './programs.ts'
import { ecbDocument, rateProviders } from './rate-providers.ts'
import type { RealEvm } from './real-evm.ts'
import { waitUntil } from './wait-until.ts'

export const market = { week: 'Fri 17:00 - Sun 17:00', timeZone: 'America/New_York' }
/** Providers of markets that never close. */
const alwaysOpen = ['Kraken', 'Binance']
/** What the file contains that the settings of OANDA name. */
export const oandaToken = 'oanda-4f1d2c'
const webhookSecret = `whsec_${'A'.repeat(32)}`
const triesMax = 100

export interface Reply {
  readonly status: number
  readonly text: string
}

interface Server {
  readonly name: string
  host: HostProcess
  url: string
}

export interface DeliveredEvent {
  readonly id: string
  readonly event: string
  readonly trade: { readonly id: string }
}

export type FxDay = Awaited<ReturnType<typeof openFxDay>>

/** `fx`: tokens, rules and spender. `startMs` must not be before the time of the machine. */
export async function openFxDay(evm: RealEvm, fx: object, startMs: number) {
  await using opening = new AsyncDisposableStack()
  const dir = await ownFolder('fx-day')
  opening.defer(() => rm(dir, { recursive: true, force: true }))
  const clock = new DrivenClock(startMs - Date.now())
  let aheadMs = startMs - Date.now()
  let closedSinceMs: number | undefined

  const listen = async (handle: RequestListener): Promise<string> => {
    const server = createServer(handle).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    opening.defer(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }
  const requests = new Map<string, number>()
  const serve = (name: string, text: () => string) =>
    listen((request, response) => {
      requests.set(name, (requests.get(name) ?? 0) + 1)
      const isAllowed = name !== 'OANDA' || request.headers.authorization === `Bearer ${oandaToken}`
      request.resume()
      response.writeHead(isAllowed ? 200 : 401).end(isAllowed ? text() : '')
    })

  await writeFile(join(dir, 'oanda-token'), `${oandaToken}\n`)
  const sources: object[] = []
  for (const { name, settings, document } of rateProviders) {
    const isOpen = alwaysOpen.includes(name)
    const text = () => JSON.stringify(document(isOpen ? clock.now() : Math.min(clock.now(), closedSinceMs ?? Infinity)))
    const headers = [{ name: 'authorization', prefix: 'Bearer ', file: join(dir, 'oanda-token') }]
    sources.push({
      ...{ id: name.toLowerCase().replaceAll(' ', '-'), kind: 'http-json', url: await serve(name, text), ...settings },
      ...(!isOpen && { closed: market }),
      ...(name === 'OANDA' && { headers }),
    })
  }
  const ecb = await serve('ECB', () => ecbDocument(new Date(startMs).toISOString().slice(0, 10)))
  sources.push({ id: 'ecb', kind: 'ecb', url: ecb })

  const events: DeliveredEvent[] = []
  const webhook = await listen(async (request, response) => {
    const body = await textOf(request)
    const id = String(request.headers['webhook-id'])
    const nowMs = Number(request.headers['webhook-timestamp']) * 1000
    const expected = signatureHeaders(webhookSecret, { id, nowMs, body })['webhook-signature']
    const isSigned = request.headers['webhook-signature'] === expected
    if (isSigned) events.push(JSON.parse(body) as DeliveredEvent)
    response.writeHead(isSigned ? 204 : 400).end()
  })

  const primary = opening.use(await startPostgres({ track_commit_timestamp: 'on' }))
  const schema = /search_path=(\w+)/.exec(decodeURIComponent(await primary.schema()))?.[1] ?? ''
  // The clock of the database is ahead like the others.
  for (const statement of [
    'create schema moved',
    'create table moved.clock (ahead_ms bigint)',
    `insert into moved.clock values (${aheadMs})`,
    `create function moved.clock_timestamp() returns timestamptz language sql volatile as
     'select pg_catalog.clock_timestamp() + (select ahead_ms from moved.clock) * interval ''1 millisecond'''`,
  ])
    await primary.sql(statement)
  const standby = opening.use(await primary.standby())
  // From here on, what is committed is on both.
  await primary.sql("alter system set synchronous_standby_names = '*'")
  await primary.sql('select pg_reload_conf()')
  const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join()
  const options = encodeURIComponent(`-c search_path=${schema},moved,pg_catalog`)
  const location = `postgres://postgres@${hosts}/postgres?options=${options}`
  const state: State = await openState('', { state: location })
  opening.defer(() => state.close())
  const key = (await createKey(state, { name: 'desk', plan: 'enterprise', admin: true }, clock, systemRandom)).key
  // The servers have run for a day, so their clocks are trusted.
  await state.write(async (tx) => {
    for (const [name, at] of Object.entries({ provenMs: startMs, clockMs: startMs, ranMs: 86_400_000 }))
      await moveCursor(tx, `time/${name}`, at)
  })

  const logFile = join(dir, 'log')
  const settings = {
    server: { port: 0 },
    store: { state: location },
    fx: { ...fx, rpcUrl: evm.url, sources, webhooks: [{ id: 'desk', url: webhook, secret: webhookSecret }] },
  }
  const start = async (server: Server): Promise<void> => {
    if (!server.host.isAlive) server.host = new HostProcess()
    await server.host.call('move', { aheadMs, wrongByMs: 0 })
    const input = { name: 'main', settings, dataDir: join(dir, server.name), logFile }
    server.url = (await server.host.call('start', input)).url
  }
  /** Its blocks follow this time from then on. */
  const moveNode = async (ms: number): Promise<void> => {
    await evm.request('evm_setNextBlockTimestamp', Math.ceil(ms / 1000))
    await evm.mine()
  }
  const servers = ['one', 'two'].map((name): Server => ({ name, host: new HostProcess(), url: '' }))
  opening.defer(async () => {
    await Promise.all(servers.map(({ host }) => host.kill()))
  })
  for (const server of servers) await start(server)
  const [one, two] = servers as [Server, Server]

  /** One attempt. Undefined: there was no reply. */
  const send = async (
    { url }: Server,
    path: string,
    body?: object,
    headers: object = {},
  ): Promise<Reply | undefined> => {
    try {
      const sent = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers }
      const response = await fetch(`${url}/v1/exchange/fx/${path}`, {
        headers: sent,
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      })
      return { status: response.status, text: await response.text() }
    } catch {
      return undefined
    }
  }

  const resources = opening.move()
  const day = {
    ...{ one, two, state, clock, key, events, requests, logFile, send },
    isRead: async (server: Server): Promise<boolean> => {
      const bases = [await send(server, 'rates?base=EUR'), await send(server, 'rates?base=JPY')]
      return bases.every((reply) => reply?.status === 200 && !/stale|disputed/.test(reply.text))
    },
    /** The same request, at the servers in turn, until one of them has handled it. */
    async ask(path: string, body?: object, headers: object = {}, first = 0): Promise<Reply> {
      let reply: Reply | undefined
      for (let tries = first; tries < first + triesMax; tries++) {
        reply = await send(tries % 2 === 0 ? one : two, path, body, headers)
        const isOver =
          reply && (reply.status < 500 || /no quotes for this pair now|market of this pair/.test(reply.text))
        if (reply && isOver) return reply
        await sleep(100)
      }
      return assert.fail(`${path} was not handled: ${reply?.text}`)
    },
    /** Moves all clocks, and waits until the rates of that time have been read. */
    async moveTo(ms: number): Promise<void> {
      aheadMs = ms - Date.now()
      clock.moveTo(aheadMs)
      await state.write((tx) => tx.run('update moved.clock set ahead_ms = ?', Math.floor(aheadMs)))
      await moveNode(ms)
      await Promise.all(servers.map(({ host }) => host.isAlive && host.call('move', { aheadMs, wrongByMs: 0 })))
      await day.untilRead()
    },
    /** Until the webhook has all events: after hours without success, the servers give up. */
    untilDelivered: (): Promise<void> =>
      waitUntil(
        async () => (await state.get("select id from fx_deliveries where status = 'pending' limit 1")) === undefined,
      ),
    async untilRead(): Promise<void> {
      for (const server of servers) if (server.host.isAlive) await waitUntil(() => day.isRead(server))
    },
    /** From now on, the documents of the others have this time. */
    close(atMs: number | undefined): void {
      closedSinceMs = atMs
    },
    start,
    /** Kills the primary, and promotes the standby. */
    async failOver(): Promise<void> {
      await primary.kill()
      await standby.promote()
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
  await moveNode(startMs)
  await day.untilRead()
  return day
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
