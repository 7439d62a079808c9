// The whole server on a free port with the demo world in it, as `tetrad serve` would start it.
//   await using world = await openWorld()

import { strict as assert } from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { groups, type Plan } from '#api/contract/routes.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { type RunningServer, type StartOptions, startServer } from '#server/app.ts'
import { createDemoKey, type DemoSamples, startDemo } from '#simulator/demo.ts'
import { createKey, type NewKey } from '#storage/keys.ts'
import { settingsWith } from './context.ts'
import { openDemoNodes } from './demo-nodes.ts'
import { inject } from './inject.ts'
import { copyDemo } from './template.ts'

export interface DemoServer extends AsyncDisposable {
  readonly url: string
  /** The server's data folder. */
  readonly dir: string
  readonly server: RunningServer
  readonly samples: DemoSamples
  readonly key: string
  readonly lines: readonly string[]
  keyFor(plan: Plan, more?: Partial<NewKey>): Promise<string>
}

/** `overrides` replace whole sections of the demo's settings, or are made from them. Deletes the data folder at the end. */
export async function openDemoServer(
  overrides: object | ((settings: object) => object) = {},
  clock: Clock = systemClock,
  dataDir?: string,
  extensions: StartOptions['extensions'] = 'all',
): Promise<DemoServer> {
  const dir = dataDir ?? (await mkdtemp(join(tmpdir(), 'tetrad-world-')))
  await copyDemo(dir)
  const lines: string[] = []
  const demo = await startDemo(openDemoNodes())
  const settings = readLessOften(demo.settings as DemoSettings)
  let samples: DemoSamples | undefined
  const server = await startServer({
    settings: settingsWith({
      ...settings,
      server: { port: 0 },
      ...(typeof overrides === 'function' ? overrides(settings) : overrides),
    }),
    dataDir: dir,
    clock,
    extensions,
    log: openLog('info', (line) => lines.push(line)),
    beforeStart: async (context) => {
      samples = await demo.load(context)
    },
    createDemoKey,
  }).catch(async (error: unknown) => {
    // The demo's own servers would keep the process alive.
    await demo.close()
    throw error
  })
  assert(samples, 'the demo world is loaded')
  await untilReady(server)
  const keyFor = async (plan: Plan, more: Partial<NewKey> = {}) => {
    const { context } = server
    const made = await createKey(
      context.state,
      { name: 'test', plan, groups: [...groups], ...more },
      context.clock,
      context.random,
    )
    return made.key
  }
  return {
    url: server.url,
    dir,
    server,
    samples,
    key: await keyFor('enterprise'),
    lines,
    keyFor,
    async [Symbol.asyncDispose]() {
      await server.close()
      await demo.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

interface Source {
  readonly everyMs?: number
}

interface DemoSettings {
  readonly fx: { readonly sources: readonly Source[] }
  readonly markets: { readonly feeds: readonly Source[] }
}

/** Every source is read at the start. To read them as often as the demo does takes most CPU time of an idle server. */
const readLessOften = ({ fx, markets, ...others }: DemoSettings): object => ({
  ...others,
  // Rates expire after a minute.
  fx: { ...fx, sources: fx.sources.map((source) => ({ ...source, everyMs: 15_000 })) },
  markets: { ...markets, feeds: markets.feeds.map((feed) => ({ ...feed, everyMs: 60_000 })) },
})

const readyWithinMs = 120_000

/** Rates arrive a moment after the server starts to listen. */
async function untilReady(server: RunningServer): Promise<void> {
  const giveUpMs = systemClock.monotonicMs() + readyWithinMs
  while (systemClock.monotonicMs() < giveUpMs) {
    if ((await inject(server, { url: '/readyz' })).statusCode === 200) return
    await systemClock.sleep(25)
  }
  throw new Error(`not ready: ${(await inject(server, { url: '/readyz' })).body}`)
}
