// `tetrad import entities FILE`: imports pools and operators of validators from CSV or JSON, as rules that also apply to
// validators that appear later. A running server uses them at once. Invalid records are written to a file.

import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Command } from 'commander'
import type { Network } from '#api/contract/wire/validators.ts'
import { networkOption } from './beacon.ts'
import { withIngest } from './data.ts'
import { CommandFailure, exitPartly } from './failure.ts'
import { writeOut } from './out-file.ts'
import { counted, note, print, printJson } from './print.ts'
import { withActivity } from './progress.ts'
import type { CommonOptions } from './settings.ts'

interface EntityOptions extends CommonOptions {
  readonly network: Network
  readonly source?: string
  readonly replace?: true
  readonly rejects: string
}

const fileBytesMax = 256 * 1024 * 1024

export function addEntities(importCommand: Command): void {
  importCommand
    .command('entities')
    .description(
      'Import pools, operators and DVT data of validators, by index, key, range of indices, deposit or withdrawal address.',
    )
    .argument('<file>', 'CSV with a header line, or a JSON list')
    .addOption(networkOption('network'))
    .option('--source <name>', 'source of the data (default: the name of the file)')
    .option('--replace', 'remove the records of earlier imports with this source that the file does not have')
    .option('--rejects <file>', 'file for rejected records', 'entities.rejects.ndjson')
    .addHelpText('after', '\nImporting the same file again changes nothing.')
    .action((file: string, _: unknown, command: Command) => importFile(file, command.optsWithGlobals()))
}

async function importFile(file: string, options: EntityOptions): Promise<void> {
  const [{ importEntities }, { parseEntityRecords }, { configuredSources }] = await Promise.all([
    import('#validators/entities/import-entities.ts'),
    import('#validators/entities/parse-rules.ts'),
    import('#validators/entities/resolve-rules.ts'),
  ])
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) throw new CommandFailure('import.file', `File ${file} does not exist.`)
  if (found.size > fileBytesMax) throw new CommandFailure('import.file', `${file} is larger than 256 MiB. Split it.`)
  const records = parseFile(parseEntityRecords, await readFile(file, 'utf8'), file)
  const source = options.source ?? basename(file)
  if (configuredSources.some((name) => name === source))
    throw new CommandFailure(
      'input.invalid',
      `The source ${source} is that of the configuration. Choose another --source.`,
    )
  const { rejects, ...totals } = await withIngest(options, 'made', (ingest) =>
    withActivity(
      `Importing ${file}`,
      () => importEntities(ingest, options.network, records, source, { replacesAll: options.replace === true }),
      {
        quiet: options.json,
      },
    ),
  )
  if (rejects.length > 0) {
    process.exitCode = exitPartly
    await writeOut(options.rejects, [rejects.map((reject) => `${JSON.stringify(reject)}\n`).join('')])
  }
  if (options.json) return printJson({ ...totals, rejected: rejects.length })
  print(
    `${counted(totals.records, 'record')}, ${counted(totals.rules, 'rule')} changed, ${counted(totals.changed, 'validator')} changed, ${rejects.length} rejected`,
  )
  if (totals.unmatched > 0)
    note(
      `${counted(totals.unmatched, 'index or key', 'indices or keys')} without a validator yet: applied when it appears.`,
    )
  if (rejects.length > 0) print(`Rejected records and reasons: ${options.rejects}`)
}

function parseFile<T>(read: (text: string) => T, text: string, file: string): T {
  try {
    return read(text)
  } catch (error) {
    throw new CommandFailure('import.file', `${file}: ${(error as Error).message}`)
  }
}
