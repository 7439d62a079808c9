// `tetrad serve`: starts the server and runs it until a signal arrives. Without a configuration it loads demo data and
// prints calls to try.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Command } from 'commander'
import { systemClock } from '#runtime/clock.ts'
import { collectGarbage } from '#runtime/collect-garbage.ts'
import type { Flag } from '#runtime/config.ts'
import { type Log, openLog } from '#runtime/log.ts'
import type { RunningServer } from '#server/app.ts'
import type { DemoSamples } from '#simulator/demo.ts'
import type { DemoNodes } from '#simulator/nodes.ts'
import type { Stores } from '#storage/open.ts'
import manifest from '../package.json' with { type: 'json' }
import { linkFor } from './console.ts'
import { refuseDemo } from './data.ts'
import { CommandFailure } from './failure.ts'
import { ownCommand } from './own-command.ts'
import { bold, note, print, printJson } from './print.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'
import { showEpochs } from './show-epochs.ts'
import { untilStopped } from './stop.ts'
import { writeLogLine } from './terminal-log.ts'

/** Days of the demo's validators that are read before the server listens. */
const recentDays = 3

interface ServeOptions extends CommonOptions {
  readonly host?: string
  readonly port?: string
}

export function addServe(program: Command): void {
  program
    .command('serve')
    .description('Run the server. Without a configuration it serves demo data.')
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'port to listen on; 0 picks a free one (default: 8080)')
    .action((_: unknown, command: Command) => serve(command.optsWithGlobals()))
}

async function serve(options: ServeOptions): Promise<void> {
  const stopping = new AbortController()
  let report = note
  // A signal during the start takes effect between its steps, so that what is open is closed.
  const starting = start(options, stopping.signal, (log) => {
    report = (text) => log.warn({}, text)
  })
  const close = async () => {
    stopping.abort()
    await (await starting)?.close()
  }
  const stopped = untilStopped(systemClock, close, { report: (text) => report(text) })
  const started = await starting
  if (started) {
    await greet(options, started)
    // After the greeting, so that the start does not take longer.
    await collectGarbage()
  }
  await stopped
}

interface Started {
  readonly server: RunningServer
  /** Without it, no source of data is configured. */
  readonly demo: (Omit<DemoGreeting, 'share'> & { readonly loadedShare: () => Promise<number> }) | undefined
  readonly close: () => Promise<void>
}

/** Undefined if the signal aborted the start. */
async function start(
  options: ServeOptions,
  signal: AbortSignal,
  reportLog: (log: Log) => void,
): Promise<Started | undefined> {
  const config = await configOf(options, flagsOf(options))
  await refuseUsedPort(config.settings.server)
  // Starts while the code of the server is loaded.
  const nodes = config.configured ? undefined : await openNodes(dataDirOf(options))
  const { startServer } = await import('#server/app.ts')
  const simulator = nodes && (await import('#simulator/demo.ts'))
  const demo = await simulator?.startDemo(nodes)
  const settings = demo ? demo.settingsOver(config.settings) : config.settings
  const log = openLog(settings.log.level, (line) => writeLogLine(line))
  reportLog(log)
  let samples: DemoSamples | undefined
  let demoKey: string | undefined
  const server = await startServer({
    settings,
    dataDir: dataDirOf(options),
    version: manifest.version,
    log,
    signal,
    onUpgrade: note,
    checkData: (stores) => refuseMixedData(stores, options, demo !== undefined),
    beforeStart: async (context) => {
      // The calls that are printed need only mainnet. The server reads hoodi after its start, like any other network.
      // It reads the earlier days of mainnet then too, except for a script, which may request them at once.
      samples = await demo?.load(context, {
        networks: ['mainnet'],
        ...(!options.json && { onEpochs: showEpochs }),
        ...(!options.json && settings.ingest.enabled && { recentDays }),
      })
    },
    ...(simulator && {
      createDemoKey: async (context) => {
        demoKey = await simulator.createDemoKey(context)
        return demoKey
      },
    }),
  }).catch(async (error: unknown) => {
    // Otherwise the demo's feed keeps the process running.
    await demo?.close()
    if (signal.aborted) return undefined
    throw error
  })
  if (!server) return undefined
  const finishing = demo?.finish(server.context, signal).catch((error: unknown) => {
    log.warn({ reason: (error as Error).message }, 'the demo data could not be completed')
  })
  return {
    server,
    demo:
      simulator && samples && demoKey !== undefined
        ? { samples, key: demoKey, loadedShare: () => simulator.loadedShare(server.context) }
        : undefined,
    close: async () => {
      await finishing
      await server.close()
      await demo?.close()
    },
  }
}

async function greet(options: ServeOptions, { server, demo }: Started): Promise<void> {
  const { console: pages, server: serverUrl } = server.context.settings
  // Print a sign-in link only on a terminal, so that it does not end up in a log file.
  const canSignIn = pages.enabled && process.stdout.isTTY && !options.json
  const signIn = canSignIn ? await linkFor(server.context, serverUrl.publicUrl || server.url) : undefined
  const greeting = demo && { ...demo, share: await demo.loadedShare() }
  if (options.json) printJson({ url: server.url, ...(greeting && { key: greeting.key }) })
  else await printGreeting({ url: server.url, demo: greeting, signIn, hasPages: pages.enabled })
  if (!options.json && !demo) await printReading(server.context)
}

const readingShown = 10

/** Which chains and networks are behind. Reading all of a chain takes days, so the server starts without it. */
async function printReading(context: RunningServer['context']): Promise<void> {
  const [{ coverageReport }, { progressText }] = await Promise.all([
    import('#operations/coverage.ts'),
    import('#operations/progress-text.ts'),
  ])
  const { streams } = await coverageReport(context)
  const behind = streams.filter(({ from, status }) => from !== null && behindStatuses.has(status))
  if (behind.length === 0) return
  for (const stream of behind.slice(0, readingShown))
    print(`Reading ${[stream.name, progressText(stream)].filter(Boolean).join(': ')}`)
  if (behind.length > readingShown) print(`… and ${behind.length - readingShown} more`)
  print(`To see how far it is, run: ${ownCommand()} coverage`)
}

const behindStatuses: ReadonlySet<string> = new Set(['catching up', 'stale', 'gaps'])

async function openNodes(dataDir: string): Promise<DemoNodes> {
  const [{ openNodesThread }, { demoSeed }] = await Promise.all([
    import('#simulator/open-nodes-thread.ts'),
    import('#simulator/demo-seed.ts'),
  ])
  return openNodesThread(demoSeed, !existsSync(dataDir))
}

/** Fails early, before demo data is created or tables are migrated. */
async function refuseUsedPort({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const probe = createServer().listen({ host, port })
  await once(probe, 'listening')
  probe.close()
  await once(probe, 'close')
}

/** Never add demo data to real data. The opposite case is refused in data.ts. */
async function refuseMixedData(
  stores: Pick<Stores, 'state' | 'ingest'>,
  options: ServeOptions,
  isDemo: boolean,
): Promise<void> {
  const contents = await refuseDemo(options, stores)
  if (isDemo && contents === 'own') {
    throw new CommandFailure(
      'data.own',
      `${dataDirOf(options)} contains data, but no source of data is configured. Pass a configuration with --config, or use --data for another folder to run the demo.`,
    )
  }
  if (isDemo && contents === 'nothing' && !options.json) showEpochs(0, 1)
}

const flagsOf = ({ host, port }: ServeOptions): Flag[] => [
  ...(host === undefined ? [] : [{ name: '--host', path: 'server.host', text: host }]),
  ...(port === undefined ? [] : [{ name: '--port', path: 'server.port', text: port }]),
]

interface DemoGreeting {
  readonly key: string
  /** How much of the demo data is stored, from 0 to 1. */
  readonly share: number
  readonly samples: DemoSamples
}

interface Greeting {
  readonly url: string
  readonly demo: DemoGreeting | undefined
  readonly signIn: string | undefined
  /** Whether the server delivers the console and the documentation. */
  readonly hasPages: boolean
}

async function printGreeting({ url, demo, signIn, hasPages }: Greeting): Promise<void> {
  print(`${bold('Tetrad')} listens on ${url}${demo ? ' with demo data, because no source of data is configured' : ''}`)
  if (signIn) print(`Open the console, signed in as the operator (works once, within 15 minutes):\n${bold(signIn)}`)
  else if (demo) print(`To open the console as the operator, run: ${ownCommand()} console link`)
  if (hasPages) print(`Documentation: ${url}/docs/`)
  if (demo && demo.share < 1) {
    const percent = Math.floor(100 * demo.share)
    print(`Demo data is still being loaded: ${percent} %. The earlier days of validators follow within seconds.`)
  }
  if (demo) await printCalls(url, demo)
}

async function printCalls(url: string, { key, samples }: DemoGreeting): Promise<void> {
  const { demoCalls } = await import('./demo-calls.ts')
  print(`\nOne call for each endpoint, with the demo key, which is new at each start:\nexport TETRAD_KEY='${key}'`)
  for (const { title, command } of demoCalls(url, samples)) print(`# ${title}\n${command}`)
  print(`\nTo use your own data, run: ${ownCommand()} init`)
  print('Stop with Ctrl-C.')
}
