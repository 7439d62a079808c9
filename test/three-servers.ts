// Three servers as an operator starts them, on one PostgreSQL and one Redis, with the explorer and the markets of the demo and a small
// network that they read themselves.
//   await using set = await openSet()

import { strict as assert } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pushRate } from '#fx/rates/push-rate.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { createContext } from '#server/context.ts'
import { loadExplorer } from '#simulator/explorer.ts'
import { loadMarkets } from '#simulator/markets.ts'
import { type DemoValidators, startDemoValidators } from '#simulator/validators.ts'
import { createKey } from '#storage/keys.ts'
import { openStores } from '#storage/open.ts'
import { dutiesHere } from '#validators/duties/store.ts'
import { settingsWith } from './context.ts'
import type { Target } from './load.ts'
import { noPostgres, type PostgresServer, startPostgres } from './postgres.ts'
import { end, freePort, launch, ownFolder, withParent } from './programs.ts'
import { noRedis, type RedisServer, startRedis } from './redis.ts'
import { launcher } from './run-command.ts'

/** Why tests on the whole set are left out, for `skip`. */
export const skipThreeServers: string | false = noPostgres || noRedis

const seed = 'fire'
const epochMs = 240_000

export interface TestServer extends Target, AsyncDisposable {
  start(): Promise<void>
  kill(): Promise<void>
}

export interface ThreeServers extends AsyncDisposable {
  readonly dir: string
  readonly servers: readonly [TestServer, TestServer, TestServer]
  readonly postgres: PostgresServer
  readonly redis: RedisServer
  /** Where the servers keep their state. */
  readonly state: string
  /** Two keys, and things to ask about. */
  readonly key: string
  readonly otherKey: string
  readonly address: string
  readonly slug: string
  /** What an embedded server would need to read the same network. */
  readonly settings: object
  /** So many epochs pass on the network. */
  advanceEpochs(epochs: number): void
}

/** For calls that need a key; about the network that there is. */
export const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' })

export async function openThreeServers(): Promise<ThreeServers> {
  await using resources = new AsyncDisposableStack()
  const dir = await ownFolder('set')
  resources.defer(() => rm(dir, { recursive: true, force: true }))
  const postgres = resources.use(await startPostgres())
  const redis = resources.use(await startRedis())
  // Two hours behind at first, so that there is something to come.
  const chainClock = { nowMs: Date.now() - 7_200_000, now: () => chainClock.nowMs }
  const validators = await startDemoValidators(seed, chainClock)
  resources.defer(() => validators.close())
  const settings = settingsOf(validators)
  const store = { state: await postgres.schema() }
  const demo = await load(join(dir, 'load'), { ...settings, store })
  const config = join(dir, 'tetrad.yaml')
  await writeFile(config, JSON.stringify({ ...settings, store, limits: redis.url }))
  const server = async () => resources.use(await serverIn(dir, config))
  const servers = [await server(), await server(), await server()] as const
  // The first reads the network, because it starts before the others.
  await servers[0].start()
  await Promise.all([servers[1].start(), servers[2].start()])
  await untilRead(servers[0], demo.key)
  const openResources = resources.move()
  return {
    ...{ dir, servers, postgres, redis, settings, state: store.state, ...demo },
    advanceEpochs(epochs) {
      chainClock.nowMs += epochs * epochMs
    },
    [Symbol.asyncDispose]: () => openResources.disposeAsync(),
  }
}

/** One small network is enough. Links in answers are the same whichever server wrote them. */
function settingsOf({ settings }: DemoValidators): object {
  const { networks } = (settings as { validators: { networks: { hoodi: object } } }).validators
  return {
    validators: { networks: { hoodi: networks.hoodi } },
    server: { port: 0, publicUrl: 'http://tetrad.test' },
    fx: {
      spender: '0x3333333333333333333333333333333333333333',
      sources: [{ id: 'desk', kind: 'push', staleMs: 86_400_000 }],
    },
  }
}

async function load(dir: string, configured: object & { readonly store: { state: string } }) {
  const stores = await openStores(dir, configured.store)
  const parts = { settings: settingsWith(configured), clock: systemClock, random: systemRandom, log: silentLog }
  const context = createContext({ state: stores.state, duties: dutiesHere(stores.duties), ...parts })
  const { address } = await loadExplorer(context, seed)
  const { slug } = await loadMarkets(context, seed)
  await pushRate(context, { pair: 'EUR/USD', rate: '1.25' })
  const wanted = { name: 'set', plan: 'enterprise' } as const
  const { key } = await createKey(context.state, wanted, context.clock, context.random)
  const { key: otherKey } = await createKey(context.state, wanted, context.clock, context.random)
  await stores.close()
  return { address, slug, key, otherKey }
}

async function serverIn(dir: string, config: string): Promise<TestServer> {
  const port = await freePort()
  const words = ['serve', '--json', '--port', String(port), '--config', config, '--data', join(dir, String(port))]
  const command = [...withParent, process.execPath, launcher, ...words]
  let child: ChildProcess | undefined
  const server: TestServer = {
    url: undefined,
    diedMs: 0,
    async start() {
      child = await launch({ cwd: dir, command, ready: port })
      server.url = `http://127.0.0.1:${port}`
    },
    async kill() {
      server.url = undefined
      server.diedMs = performance.now()
      if (child) await end(child)
    },
    [Symbol.asyncDispose]: () => server.kill(),
  }
  return server
}

/** Until a whole day of the network has been read, and its validators are known. */
async function untilRead({ url }: Target, key: string): Promise<void> {
  const epochs = 25
  for (let tries = 0; ; tries++) {
    const { streams } = (await (await fetch(`${url}/coverage`)).json()) as {
      streams: { name: string; until: number }[]
    }
    const { ok } = await fetch(`${url}/v0/eth/validators/7`, { headers: headersOf(key) })
    const stream = streams.find(({ name }) => name.includes('hoodi'))
    if (ok && (stream?.until ?? 0) >= epochs) return
    assert.ok(tries < 300, `not read: ${JSON.stringify(stream)}`)
    await sleep(200)
  }
}
