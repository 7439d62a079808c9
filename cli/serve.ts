// `tetrad serve`: settings → server → until a signal. With nothing configured the demo world is loaded, and calls that
// work when pasted are printed.
import type { Command } from 'commander'
import type { EndpointId } from '#api/routes.ts'
import type { Flag } from '#io/config.ts'
import type { Desk } from '#serve/answer.ts'
import type { DemoSamples } from '#sim/demo.ts'
import manifest from '../package.json' with { type: 'json' }
import { CommandFailure } from './failure.ts'
import { bold, note, print, printJson } from './print.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

interface ServeOptions extends CommonOptions {
  readonly host?: string
  readonly port?: string
}

export function addServe(program: Command): void {
  program
    .command('serve')
    .description('Run the server until it is told to stop. With nothing configured it shows the demo world.')
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'port to listen on; 0 picks a free one (default: 8080)')
    .action((_: unknown, command: Command) => serve(command.optsWithGlobals()))
}

async function serve(options: ServeOptions): Promise<void> {
  const config = await configOf(options, flagsOf(options))
  const [{ start }, { openLog }, { systemClock }, { untilStopped }] = await Promise.all([
    import('#server/main.ts'),
    import('#io/log.ts'),
    import('#io/clock.ts'),
    import('./stop.ts'),
  ])
  const demo = config.configured ? undefined : await (await import('#sim/demo.ts')).openDemo()
  const settings = demo ? demo.settingsOver(config.settings) : config.settings
  let shown: Shown | undefined
  const server = await start({
    settings,
    dataDir: dataDirOf(options),
    version: manifest.version,
    log: openLog(settings.log.level, (line) => process.stderr.write(line)),
    prepare: async (desk) => {
      await keepApart(desk, demo !== undefined, dataDirOf(options))
      if (demo) shown = { samples: await demo.load(desk), key: await demoKey(desk) }
    },
  }).catch(async (error: unknown) => {
    // The demo's feed would keep the process alive.
    await demo?.close()
    throw error
  })
  const stopped = untilStopped(systemClock, async () => {
    await server.close()
    await demo?.close()
  })
  if (options.json) printJson({ url: server.url, ...(shown && { key: shown.key }) })
  else await greet(server.url, shown)
  await stopped
}

/** Invented data is never served as real, and real data never mixed with invented (decision 0063). */
async function keepApart(desk: Desk, wantsDemo: boolean, folder: string): Promise<void> {
  const { contentsOf } = await import('#sim/demo.ts')
  const contents = await contentsOf(desk.state)
  if (!wantsDemo && contents === 'demo') {
    throw new CommandFailure(
      'data.demo',
      `${folder} holds the demo world, which must not be served as your data; name another folder with --data, or delete this one.`,
    )
  }
  if (wantsDemo && contents === 'own') {
    throw new CommandFailure(
      'data.own',
      `${folder} holds data, but nothing is configured; name the configuration with --config, or another folder with --data for the demo world.`,
    )
  }
  if (wantsDemo && contents === 'nothing') note('Making the demo world; this takes a few seconds the first time.')
}

const flagsOf = ({ host, port }: ServeOptions): Flag[] => [
  ...(host === undefined ? [] : [{ name: '--host', path: 'server.host', text: host }]),
  ...(port === undefined ? [] : [{ name: '--port', path: 'server.port', text: port }]),
]

/** What the greeting shows of the demo world. */
interface Shown {
  readonly key: string
  readonly samples: DemoSamples
}

/** The secret of a key cannot be read back, so each start gives the demo key a new one. */
async function demoKey(desk: Desk): Promise<string> {
  const { rotateKey } = await import('#store/keys.ts')
  const wanted = { id: 'demo', name: 'demo world', plan: 'enterprise' } as const
  return (await rotateKey(desk.state, wanted, desk.clock, desk.random)).key
}

async function greet(url: string, demo: Shown | undefined): Promise<void> {
  print(`${bold('Tetrad')} listens on ${url}`)
  if (!demo) return
  const [{ contract }, { curlOf }] = await Promise.all([import('#api/contract.ts'), import('./curls.ts')])
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
  print(`\nNothing is configured, so this is the demo world. Its key, new at each start:\n  ${demo.key}\n`)
  for (const { id, summary } of Object.values(contract)) {
    print(`# ${id}: ${summary}\n${curlOf(id, url, inputs[id], demo.key)}`)
  }
  print('\nYour own data: copy tetrad.example.yaml to tetrad.yaml. Stop with Ctrl-C.')
}
