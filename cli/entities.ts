// `tetrad import entities FILE`: imports pools and operators of validators from CSV or JSON. A running server uses them
// at once. Invalid records, and those that match no validator, are written to a file.

import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Command } from 'commander'
import type { Network } from '#api/contract/wire/validators.ts'
import { networkOption } from './beacon.ts'
import { withIngest } from './data.ts'
import { CommandFailure, exitPartly } from './failure.ts'
import { writeOut } from './out-file.ts'
import { counted, print, printJson } from './print.ts'
import { withActivity } from './progress.ts'
import type { CommonOptions } from './settings.ts'

interface EntityOptions extends CommonOptions {
  readonly network: Network
  readonly source?: string
  readonly rejects: string
}

const fileBytesMax = 256 * 1024 * 1024

export function addEntities(importCommand: Command): void {
  importCommand
    .command('entities')
    .description('Import pools, operators and DVT data of validators, by index, key, deposit or withdrawal address.')
    .argument('<file>', 'CSV with a header line, or a JSON list')
    .addOption(networkOption('network'))
    .option('--source <name>', 'source of the data (default: the name of the file)')
    .option('--rejects <file>', 'file for rejected records', 'entities.rejects.ndjson')
    .addHelpText('after', '\nImporting the same file again changes nothing.')
    .action((file: string, _: unknown, command: Command) => importFile(file, command.optsWithGlobals()))
}

async function importFile(file: string, options: EntityOptions): Promise<void> {
  const { parseEntityRecords, importEntities } = await import('#validators/entities/import-entities.ts')
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) throw new CommandFailure('import.file', `File ${file} does not exist.`)
  if (found.size > fileBytesMax) throw new CommandFailure('import.file', `${file} is larger than 256 MiB. Split it.`)
  const records = parseFile(parseEntityRecords, await readFile(file, 'utf8'), file)
  const source = options.source ?? basename(file)
  const { rejects, ...totals } = await withIngest(options, 'made', (ingest) =>
    withActivity(`Importing ${file}`, () => importEntities(ingest, options.network, records, source), {
      quiet: options.json,
    }),
  )
  if (rejects.length > 0) {
    process.exitCode = exitPartly
    await writeOut(options.rejects, [rejects.map((reject) => `${JSON.stringify(reject)}\n`).join('')])
  }
  if (options.json) return printJson({ ...totals, rejected: rejects.length })
  print(
    `${counted(totals.records, 'record')}, ${counted(totals.validators, 'validator')}, ${totals.changed} changed, ${rejects.length} rejected`,
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
