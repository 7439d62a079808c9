// `tetrad labels import | export`: imports and exports the label registry (behaviour/explorer.md#label-imports).
import { open, rm, stat, writeFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ExportPart } from '#explorer/labels/export-registry.ts'
import type { ImportFormat, ImportReport } from '#explorer/labels/import/import-labels.ts'
import type { Counts } from '#explorer/labels/write-rows.ts'
import { withIngest } from './data.ts'
import { docsPage } from './docs-page.ts'
import { CommandFailure, exitPartly, UsageFailure } from './failure.ts'
import { readInput } from './in-file.ts'
import { authorOf, chainOption, oneChain, parsePercent, warnUnservedChains } from './labels-options.ts'
import { writeOut, writeStandardOutput } from './out-file.ts'
import { counted, note, print, printJson } from './print.ts'
import { openProgress, redrawLine, withActivity } from './progress.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { whichChain } from './which-chain.ts'

interface ImportOptions extends CommonOptions {
  readonly format?: ImportFormat
  readonly chain?: readonly string[]
  readonly source?: string
  readonly confidence?: number
  readonly columns?: ReadonlyMap<string, string>
  readonly name?: string
  readonly entity?: string
  readonly createEntities?: true
  readonly rejects?: string
  readonly by?: string
}

interface ExportOptions extends CommonOptions {
  readonly format?: 'csv' | 'json'
  readonly what?: ExportPart
  readonly chain?: string
  readonly out?: string
  readonly forSpreadsheets?: boolean
}

const formats = ['csv', 'json', 'oli', 'addresses'] as const satisfies readonly ImportFormat[]
const fileBytesMax = 256 * 1024 * 1024

export function addLabelFiles(labels: Command): void {
  labels
    .command('import')
    .description('Import a file in one transaction. Bad records are written to a rejects file.')
    .argument('<file>', 'CSV, JSON or list of addresses, plain or gzipped; - for standard input, with --format')
    .addOption(new Option('--format <format>', 'default: by the file extension').choices(formats))
    .addOption(chainOption('chains of records without a chain'))
    .option('--source <source>', 'source of records without a source (default: import, or oli)')
    .option('--confidence <percent>', 'confidence of new addresses without one (default: 50)', parsePercent)
    .option(
      '--columns <list>',
      'columns to read, such as "name=Name Tag,address=Address"; others are ignored',
      columnsOf,
    )
    .option('--name <text>', 'name of addresses without one')
    .option('--entity <slug>', 'entity of addresses without one')
    .option('--create-entities', 'add missing entities of addresses, with their slug as name')
    .option('--rejects <file>', 'file for bad records (default: <file>.rejects.csv; of a pipe, labels.rejects.csv)')
    .option('--by <who>', 'author of the change (default: name of the user)')
    .addHelpText('after', `\nFormats and columns: ${docsPage('labels')}.`)
    .action((file: string, _: unknown, command: Command) => importFile(file, command.optsWithGlobals()))

  labels
    .command('export')
    .description('Export the registry in a format that import can read.')
    .addOption(new Option('--format <format>', 'default: by the extension of --out, or json').choices(['csv', 'json']))
    .addOption(
      new Option('--what <part>', 'default: all, or entities as CSV').choices(['entities', 'addresses', 'all']),
    )
    .option('--chain <id>', 'only of this chain', oneChain)
    .option('--out <file>', 'file to write (default: standard output)')
    .option(
      '--for-spreadsheets',
      'put an apostrophe before texts that a spreadsheet would run as a formula; import does not remove it',
    )
    .action((_: unknown, command: Command) => exportLabels(command.optsWithGlobals()))
}

async function importFile(file: string, options: ImportOptions): Promise<void> {
  const { importLabels } = await import('#explorer/labels/import/import-labels.ts')
  const format = options.format ?? formatOf(file)
  const { json: quiet = false } = options
  const { text, isFile } = await withActivity(`Reading ${file}`, () => readInput(file, fileBytesMax), { quiet })
  const { settings } = await configOf(options)
  const author = await authorOf(options, `tetrad labels import ${basename(file)}`)
  const progress = openProgress(quiet, 'records')
  if (!quiet) redrawLine('Checking the records …')
  const imported = await withIngest(options, 'made', (ingest) =>
    importLabels(ingest, author, text, {
      format,
      source: options.source ?? (format === 'oli' ? 'oli' : 'import'),
      everyChain: settings.explorer.chains.map(({ id }) => id),
      ...(options.chain && { chains: options.chain }),
      ...(options.confidence !== undefined && { confidence: options.confidence }),
      ...(options.columns && { columns: options.columns }),
      ...(options.name !== undefined && { name: options.name }),
      ...(options.entity !== undefined && { entity: options.entity }),
      createsEntities: options.createEntities === true,
      progress: { plan: progress.plan, step: (records) => progress.step(records, '') },
    }),
  ).finally(() => {
    progress.end()
    if (!quiet) redrawLine('')
  })
  const rejectsFile = await writeRejects(imported, options.rejects ?? `${isFile ? file : 'labels'}.rejects.csv`)
  const { entities, addresses, chains, rejects } = imported
  if (options.json) printJson({ entities, addresses, rejected: rejects.length, rejectsFile: rejectsFile ?? null })
  else {
    print(`entities   ${formatCounts(entities)}\naddresses  ${formatCounts(addresses)}`)
    if (rejectsFile !== undefined) note(`${counted(rejects.length, 'record')} rejected. Reasons: ${rejectsFile}`)
  }
  if (rejects.length > 0) process.exitCode = exitPartly
  await warnUnservedChains(options, chains)
}

/** `FIELD=COLUMN`, separated by commas. */
function columnsOf(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(',').map((pair) => {
    const at = pair.indexOf('=')
    const [field, column] = [pair.slice(0, at).trim().toLowerCase(), pair.slice(at + 1).trim()]
    if (at < 1 || column === '') throw new InvalidArgumentError('It must be FIELD=COLUMN, such as address=Address.')
    return [field, column] as const
  })
  return new Map(pairs)
}

const formatCounts = ({ added, changed, unchanged }: Counts): string =>
  `${added} added, ${changed} changed, ${unchanged} unchanged`

/** Without rejects, deletes the rejects file of an earlier import. */
async function writeRejects({ rejects }: ImportReport, file: string): Promise<string | undefined> {
  const { csvRow, spreadsheetRow } = await import('#explorer/labels/lists/csv.ts')
  const head = csvRow(['line', 'column', 'reason', 'record'])
  if (rejects.length === 0) {
    if (await startsWith(file, head)) await rm(file, { force: true })
    return undefined
  }
  const rows = rejects.map(({ line, column, reason, raw }) => spreadsheetRow([line, column, reason, raw]))
  try {
    await writeFile(file, [head, ...rows].join(''))
  } catch (error) {
    const reason = `${file} cannot be written; check the path and its permissions (${(error as Error).message})`
    throw new CommandFailure('labels.rejects', `The good records were imported, but ${reason}.`)
  }
  return file
}

/** Whether the file is a rejects file, which may be deleted. */
async function startsWith(path: string, text: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined)
  if (!stats?.isFile()) return false
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(text.length))
  return buffer.toString('utf8', 0, bytesRead) === text
}

function formatOf(file: string): ImportFormat {
  const [, extension] = /\.(csv|tsv|json)(?:\.gz)?$/.exec(file.toLowerCase()) ?? []
  if (extension !== undefined) return extension === 'json' ? 'json' : 'csv'
  const reason = file === '-' ? 'Standard input has no file extension' : `Unknown file extension of ${file}`
  throw new UsageFailure('labels.format', `${reason}. Pass --format.`)
}

async function exportLabels(options: ExportOptions): Promise<void> {
  const { csvExport, hasLabels, jsonExport } = await import('#explorer/labels/export-registry.ts')
  const format = options.format ?? (extname(options.out ?? '').toLowerCase() === '.csv' ? 'csv' : 'json')
  const part = options.what ?? (format === 'csv' ? 'entities' : 'all')
  if (format === 'csv' && part === 'all') {
    throw new UsageFailure('labels.options', 'A CSV file has one table. Pass --what entities or --what addresses.')
  }
  const { chain, out, forSpreadsheets } = options
  if (forSpreadsheets && format !== 'csv')
    throw new UsageFailure('labels.options', '--for-spreadsheets needs --format csv.')
  await withIngest(options, 'found', async (ingest) => {
    // Labels may be stored for a chain that is not configured. Without any, the id is probably a mistake.
    if (chain !== undefined && !(await hasLabels(ingest, chain))) whichChain((await configOf(options)).settings, chain)
    const chunks =
      format === 'csv' && part !== 'all'
        ? csvExport(ingest, { part, chain }, forSpreadsheets)
        : jsonExport(ingest, { part, chain })
    if (out === undefined) await writeStandardOutput(joinChunks(chunks))
    else await withActivity(`Writing ${out}`, () => writeOut(out, joinChunks(chunks)), { quiet: options.json })
  })
  if (options.out !== undefined && options.json) printJson({ file: options.out, format, what: part })
}

/** Combines small chunks into larger ones. */
async function* joinChunks(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let text = ''
  for await (const chunk of chunks) {
    text += chunk
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}
