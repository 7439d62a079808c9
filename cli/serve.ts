// `tetrad serve`: starts the server and runs it until a signal arrives. Without a configuration it loads demo data and
// prints calls to try.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { EndpointId } from '#api/routes.ts'
import { systemClock } from '#runtime/clock.ts'
import type { Flag } from '#runtime/config.ts'
import { openLog } from '#runtime/log.ts'
import type { AppContext } from '#server/context.ts'
import type { DemoSamples } from '#simulator/demo.ts'
import type { State } from '#storage/state.ts'
import manifest from '../package.json' with { type: 'json' }
import { linkFor } from './console.ts'
import { refuseDemo } from './data.ts'
import { CommandFailure } from './failure.ts'
import { bold, note, print, printJson } from './print.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'
import { untilStopped } from './stop.ts'

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
  const config = await configOf(options, flagsOf(options))
  const { startServer } = await import('#server/app.ts')
  await refuseUsedPort(config.settings.server)
  const demo = config.configured ? undefined : await (await import('#simulator/demo.ts')).startDemo()
  const settings = demo ? demo.settingsOver(config.settings) : config.settings
  const log = openLog(settings.log.level, (line) => process.stderr.write(line))
  let greeting: DemoGreeting | undefined
  const server = await startServer({
    settings,
    dataDir: dataDirOf(options),
    version: manifest.version,
    log,
    checkData: (state) => refuseMixedData(state, options, demo !== undefined),
    prepare: async (context) => {
      if (demo) greeting = { samples: await demo.load(context), key: await demoKey(context) }
    },
  }).catch(async (error: unknown) => {
    // Otherwise the demo's feed keeps the process running.
    await demo?.close()
    throw error
  })
  const stopping = new AbortController()
  const close = async () => {
    stopping.abort()
    await server.close()
    await demo?.close()
  }
  const stopped = untilStopped(systemClock, close, { report: (text) => log.warn({}, text) })
  const { console: pages, server: serverUrl } = server.context.settings
  if (pages.enabled && !options.json) await buildPages(stopping.signal)
  if (stopping.signal.aborted) return stopped
  // Print a sign-in link only on a terminal, so that it does not end up in a log file.
  const canSignIn = pages.enabled && process.stdout.isTTY && !options.json
  const signIn = canSignIn ? await linkFor(server.context, serverUrl.publicUrl || server.url) : undefined
  if (options.json) printJson({ url: server.url, ...(greeting && { key: greeting.key }) })
  else await printGreeting(server.url, greeting, signIn)
  await stopped
}

/** Fails early, before demo data is created or tables are migrated. */
async function refuseUsedPort({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const probe = createServer().listen({ host, port })
  await once(probe, 'listening')
  probe.close()
  await once(probe, 'close')
}

/** Never add demo data to real data. The opposite case is refused in data.ts. */
async function refuseMixedData(state: State, options: ServeOptions, isDemo: boolean): Promise<void> {
  const contents = await refuseDemo(options, state)
  if (isDemo && contents === 'own') {
    throw new CommandFailure(
      'data.own',
      `${dataDirOf(options)} contains data, but there is no configuration. Pass it with --config, or use --data for another folder to run the demo.`,
    )
  }
  if (isDemo && contents === 'nothing') note('Creating demo data. This takes a few seconds at the first start.')
}

const flagsOf = ({ host, port }: ServeOptions): Flag[] => [
  ...(host === undefined ? [] : [{ name: '--host', path: 'server.host', text: host }]),
  ...(port === undefined ? [] : [{ name: '--port', path: 'server.port', text: port }]),
]

interface DemoGreeting {
  readonly key: string
  readonly samples: DemoSamples
}

/** Only hashes of keys are stored, so each start creates a new demo key. */
async function demoKey(context: AppContext): Promise<string> {
  const { issueKey } = await import('#storage/keys.ts')
  const input = { id: 'demo', name: 'demo', plan: 'enterprise' } as const
  return (await issueKey(context.state, input, context.clock, context.random)).key
}

async function buildPages(signal: AbortSignal): Promise<void> {
  const [{ buildConsole }, { consoleDir }] = await Promise.all([
    import('./console-build.ts'),
    import('#admin/routes.ts'),
  ])
  await buildConsole(consoleDir, signal)
}

async function printGreeting(url: string, demo: DemoGreeting | undefined, signIn: string | undefined): Promise<void> {
  print(`${bold('Tetrad')} listens on ${url}`)
  if (signIn) print(`Sign in as the operator (works once, within 15 minutes; later: tetrad console link):\n  ${signIn}`)
  else if (demo) print('To sign in as the operator, run: tetrad console link')
  if (!demo) return
  const [{ contract }, { curlOf }] = await Promise.all([import('#api/contract.ts'), import('#api/samples.ts')])
  const [index = 0] = demo.samples.indices
  const inputs: Readonly<Record<EndpointId, Readonly<Record<string, unknown>>>> = {
    'explorer.labelListV2': {},
    'explorer.labelListV1': {},
    'explorer.fundedBy': { address: demo.samples.address },
    'fx.createQuote': contract['fx.createQuote'].example.input,
    'validators.aggregateEffectiveness': { indices: demo.samples.indices, size: 2 },
    'validators.effectiveness': { validator_index_or_pubkey: index, limit: 2 },
    'validators.metadata': { validator_index_or_pubkey: index },
    'markets.bySlug': { slug: demo.samples.slug },
  }
  print(`\nThere is no configuration, so this server has demo data. Its key, new at each start:\n  ${demo.key}\n`)
  for (const { id, summary } of Object.values(contract)) {
    print(`# ${id}: ${summary}\n${curlOf(id, url, inputs[id], demo.key)}`)
  }
  const example = join(import.meta.dirname, '../tetrad.example.yaml')
  print(`\nTo use your own data, copy ${example} to tetrad.yaml, edit it, and start with a new --data folder.`)
  print('Stop with Ctrl-C.')
}
