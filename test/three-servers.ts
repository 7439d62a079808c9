// Three server processes on one PostgreSQL and one Redis, with the demo data of explorer and markets, and a small
// network that they read themselves.
//   await using set = await openThreeServers()

import { strict as assert } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { contract } from '#api/contract/contract.ts'
import { pushRate } from '#fx/extensions/push-rate/push-rate.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { createContext } from '#server/context.ts'
import { demoSeed as seed } from '#simulator/demo-seed.ts'
import { openDemoNodes } from '#simulator/nodes.ts'
import { type DemoValidators, startDemoValidators } from '#simulator/validators.ts'
import { createKey } from '#storage/keys.ts'
import { openStores } from '#storage/open.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { settingsWith } from './context.ts'
import type { Target } from './load.ts'
import { loadDemoExplorer, loadDemoMarkets } from './load-demo.ts'
import { noPostgres, type PostgresServer, startPostgres } from './postgres.ts'
import { end, freePort, launch, ownFolder, withParent } from './programs.ts'
import { noRedis, type RedisServer, startRedis } from './redis.ts'
import { launcher } from './run-command.ts'

/** For `skip`: why the servers cannot run here, or false. */
export const skipThreeServers: string | false = noPostgres || noRedis

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
  /** URL of the database. */
  readonly state: string
  readonly key: string
  readonly otherKey: string
  readonly address: string
  readonly slug: string
  /** Settings with which another server reads the same network. */
  readonly settings: object
  /** Lets this many epochs pass on the network. */
  advanceEpochs(epochs: number): void
}

/** Headers with a key and the network. */
export const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' })

export async function openThreeServers(): Promise<ThreeServers> {
  await using resources = new AsyncDisposableStack()
  const dir = await ownFolder('set')
  resources.defer(() => rm(dir, { recursive: true, force: true }))
  const postgres = resources.use(await startPostgres())
  const redis = resources.use(await startRedis())
  // Starts two hours ago, so that epochs can be added.
  const chainClock = { nowMs: Date.now() - 7_200_000, now: () => chainClock.nowMs }
  const validators = await startDemoValidators(seed, await openDemoNodes(seed, chainClock))
  resources.defer(() => validators.close())
  const settings = settingsOf(validators)
  const store = { state: await postgres.schema() }
  const demo = await loadData(join(dir, 'load'), { ...settings, store })
  const config = join(dir, 'tetrad.yaml')
  await writeFile(config, JSON.stringify({ ...settings, store, limits: redis.url }))
  const server = async () => resources.use(await createTestServer(dir, config))
  const servers = [await server(), await server(), await server()] as const
  // The first server gets the lease, because it starts before the others.
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

/** One small network. The public URL makes links equal on all servers. */
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

async function loadData(dir: string, overrides: object & { readonly store: { state: string } }) {
  const stores = await openStores(dir, overrides.store)
  const parts = { settings: settingsWith(overrides), clock: systemClock, random: systemRandom, log: silentLog }
  const context = createContext({ ...stores, duties: dutiesOnThisThread(stores.duties), ...parts })
  await loadDemoExplorer(context, seed)
  const { address = '' } = contract['explorer.fundedBy'].example.input
  const { slug } = await loadDemoMarkets(context, seed)
  await pushRate(context, { pair: 'EUR/USD', rate: '1.25' })
  const keyInput = { name: 'set', plan: 'enterprise' } as const
  const { key } = await createKey(context.state, keyInput, context.clock, context.random)
  const { key: otherKey } = await createKey(context.state, keyInput, context.clock, context.random)
  await stores.close()
  return { address, slug, key, otherKey }
}

async function createTestServer(dir: string, config: string): Promise<TestServer> {
  const port = await freePort()
  const args = ['serve', '--json', '--port', String(port), '--config', config, '--data', join(dir, String(port))]
  const command = [...withParent, process.execPath, launcher, ...args]
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

/** Waits until a day of the network has been read and its validators are known. */
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
