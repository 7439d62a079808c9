// A server in this process that ingests only what the test ingests, with a stopped clock. Tests that use only this
// interface are valid for any database engine.
//   await using server = await openQuietServer({ settings })
//   await new Follower(server.context, 'hoodi', beacon).catchUp(signal)
//   const response = await server.get('/v0/eth/validators/7', 'hoodi')

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Network } from '#api/contract/wire/validators.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { callControl } from '#runtime/control-socket.ts'
import { silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import type { AppContext } from '#server/context.ts'
import { stoppedAt } from '#simulator/stopped-clock.ts'
import { createKey } from '#storage/keys.ts'
import { seededRandom, settingsWith, testNowMs } from './context.ts'
import { inject } from './inject.ts'
import { openMigratedDatabase } from './postgres.ts'
import { copyEmptyStores } from './template.ts'

export interface QuietServerOptions {
  /** As in tetrad.yaml. */
  readonly settings: object
  /** A data folder that stays after the server closes. Default: a temporary one. */
  readonly dir?: string
  readonly clock?: Clock
}

export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface QuietServer extends AsyncDisposable {
  readonly context: AppContext
  readonly dataDir: string
  get(path: string, network: Network): Promise<Response>
  /** Calls the control socket. */
  control(name: 'coverage' | 'doctor', input?: object): Promise<unknown>
}

/** The start of links in responses. */
export const publicUrl = 'http://tetrad.test'

export async function openQuietServer({ settings, dir, clock }: QuietServerOptions): Promise<QuietServer> {
  await using cleanup = new AsyncDisposableStack()
  const dataDir = dir ?? (await mkdtemp(join(tmpdir(), 'tetrad-quiet-')))
  if (dir === undefined) {
    cleanup.defer(() => rm(dataDir, { recursive: true, force: true }))
    await copyEmptyStores(dataDir)
  }
  const postgres = process.env.TETRAD_TEST_STATE
  const database = postgres && dir === undefined ? cleanup.use(await openMigratedDatabase(postgres)) : undefined
  const overrides = {
    server: { port: 0, publicUrl },
    console: { enabled: false },
    ingest: { enabled: false },
    ...(database && { store: { state: database.url } }),
  }
  const server = await startServer({
    settings: settingsWith({ ...settings, ...overrides }),
    dataDir,
    clock: clock ?? stoppedAt(systemClock, testNowMs),
    random: seededRandom('quiet server'),
    log: silentLog,
  })
  cleanup.defer(() => server.close())
  const { context } = server
  const { key } = await createKey(
    context.state,
    { name: 'quiet', plan: 'enterprise', groups: ['validators'] },
    context.clock,
    context.random,
  )
  const resources = cleanup.move()
  return {
    ...{ context, dataDir },
    async get(url, network) {
      const headers = { authorization: `Bearer ${key}`, 'x-validator-network': network }
      const { statusCode, headers: sent, body } = await inject(server, { url, headers })
      return { status: statusCode, headers: sent as Record<string, string>, body }
    },
    async control(name, input) {
      // The socket may open after the start.
      for (let tries = 0; tries < 500; tries++) {
        const reply = await callControl(dataDir, name, input)
        if (reply) return reply.result
        await systemClock.sleep(10)
      }
      throw new Error('the server has no control socket')
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
