// `tetrad import entities FILE`: who is behind which validator, from CSV or JSON. Works beside a running server, which
// answers with it at once. What fits nobody goes to a file of rejects.
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { type Network, networks } from '#api/wire/validators.ts'
import { withState } from './data.ts'
import { CommandFailure, exitPartly } from './failure.ts'
import { writeOut } from './out-file.ts'
import { counted, print, printJson } from './print.ts'
import type { CommonOptions } from './settings.ts'

interface EntityOptions extends CommonOptions {
  readonly network: Network
  readonly source?: string
  readonly rejects: string
}

const fileBytesMax = 256 * 1024 * 1024

/** After the command `import` is there. */
export function addEntities(program: Command): void {
  program.commands
    .find((command) => command.name() === 'import')
    ?.command('entities')
    .description('Pools, operators and DVT data of validators, by index, key, deposit or withdrawal address.')
    .argument('<file>', 'CSV with a header line, or a JSON list')
    .addOption(new Option('--network <name>', 'which network').choices(networks).default('mainnet'))
    .option('--source <name>', 'where this is known from (default: the name of the file)')
    .option('--rejects <file>', 'where records go that fit nobody', 'entities.rejects.ndjson')
    .addHelpText('after', '\nThe same file again changes nothing. What is replaced is kept as history.')
    .action((file: string, _: unknown, command: Command) => bring(file, command.optsWithGlobals()))
}

async function bring(file: string, options: EntityOptions): Promise<void> {
  const [{ parseEntityRecords: entityRecords, importEntities }, { systemClock }] = await Promise.all([
    import('#validators/registry/entities.ts'),
    import('#runtime/clock.ts'),
  ])
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) throw new CommandFailure('import.file', `There is no file ${file}.`)
  if (found.size > fileBytesMax) throw new CommandFailure('import.file', `${file} is larger than 256 MiB; split it.`)
  const records = parsed(entityRecords, await readFile(file, 'utf8'), file)
  const source = options.source ?? basename(file)
  const { rejects, ...totals } = await withState(options, 'made', (state) =>
    importEntities(state, options.network, records, source, systemClock.now()),
  )
  if (rejects.length > 0) {
    process.exitCode = exitPartly
    await writeOut(options.rejects, [rejects.map((reject) => `${JSON.stringify(reject)}\n`).join('')])
  }
  if (options.json) return printJson({ ...totals, rejected: rejects.length })
  print(
    `${counted(totals.records, 'record')}, ${counted(totals.validators, 'validator')}, ${totals.changed} changed, ${rejects.length} rejected`,
  )
  if (rejects.length > 0) print(`See ${options.rejects}.`)
}

function parsed<T>(read: (text: string) => T, text: string, file: string): T {
  try {
    return read(text)
  } catch (error) {
    throw new CommandFailure('import.file', `${file}: ${(error as Error).message}`)
  }
}
