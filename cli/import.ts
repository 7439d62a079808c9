// `tetrad import markets FILE…` imports records from files of any size, plain or gzipped, or from standard input. It works
// while a server runs, which serves the new records at once. It needs the lease (behaviour/operations.md#ingest-commands).
// Invalid records are written to a rejects file.
import { type FileHandle, open } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import type { SplitRecord } from '#markets/records/json-splitter.ts'
import type { Reject } from '#markets/write/accept-records.ts'
import type { ImportTotals } from '#markets/write/import-markets.ts'
import { renamePath } from '#runtime/path-error.ts'
import type { State } from '#storage/state.ts'
import { withIngest } from './data.ts'
import { docsPage } from './docs-page.ts'
import { CommandFailure, exitPartly } from './failure.ts'
import { type InputFile, openInput } from './in-file.ts'
import { type LeaseOptions, runWithLease, waitOption } from './lease.ts'
import { unknownFeed } from './markets.ts'
import { counted, note, printResult } from './print.ts'
import { bar, openLine } from './progress.ts'
import { clock, log, random } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { stopSignal } from './stop.ts'

interface ImportOptions extends CommonOptions, LeaseOptions {
  readonly feed?: string
  readonly record: 'market' | 'event'
  readonly lines?: boolean
  readonly rejects?: string
}

const logLineMs = 5000
const rejectsShown = 5

/** Returns the command `import`, to which other files add kinds of records. */
export function addImport(program: Command): Command {
  const importCommand = program.command('import').description('Import records from files.')
  importCommand
    .command('markets')
    .description('Import markets with their nested records: a JSON list, one record per line, or a single record.')
    .argument('<files...>', 'files, plain or gzipped; - for standard input')
    .option('--feed <id>', 'use the rename table and the record kind of this configured feed')
    .addOption(new Option('--record <kind>', 'kind of the records').choices(['market', 'event']).default('market'))
    .option('--lines', 'one record per line, without detecting the format')
    .option('--rejects <file>', 'file for invalid records (default: markets.rejects.ndjson)')
    .option(...waitOption)
    .addHelpText('after', `\nImporting the same file again changes nothing. See ${docsPage('markets')}.`)
    .action((files: string[], _: unknown, command: Command) => importFiles(files, command.optsWithGlobals()))
  return importCommand
}

async function importFiles(files: readonly string[], options: ImportOptions): Promise<void> {
  const { table, record } = await formatOf(options)
  await using rejects = new RejectsFile(options.rejects ?? 'markets.rejects.ndjson', options.json === true)
  const sum = { read: 0, changed: 0, stale: 0, rejected: 0 }
  const startMs = performance.now()
  const stop = stopSignal(clock)
  await withIngest(options, 'made', async (store) => {
    const importAll = async ({ ingest }: { readonly ingest: State }, signal: AbortSignal) => {
      for (const file of files) {
        const totals = await importFile(ingest, file, { ...options, record }, table, rejects, signal)
        for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += totals[name]
        if (signal.aborted) break
      }
    }
    await runWithLease({ ingest: store, clock, random, log }, options, 'markets', importAll, stop)
  })
  const seconds = (performance.now() - startMs) / 1000
  printImportReport(sum, seconds, options, rejects.file)
  if (stop.aborted) {
    throw new CommandFailure(
      'import.stopped',
      'Stopped before the end. Run the command again to finish; stored records do not change.',
    )
  }
  if (sum.rejected > 0) process.exitCode = exitPartly
}

/** The rename table and the kind of records. */
async function formatOf({ feed: feedId, record, ...options }: ImportOptions) {
  if (feedId === undefined) return { table: {}, record }
  const { feeds } = (await configOf(options)).settings.markets
  const feed = feeds.find(({ id }) => id === feedId)
  if (!feed) throw unknownFeed(feedId, feeds)
  return { table: feed.fields, record: feed.record }
}

async function importFile(
  ingest: State,
  file: string,
  options: ImportOptions,
  table: Readonly<Record<string, Readonly<Record<string, string>>>>,
  rejects: RejectsFile,
  signal: AbortSignal,
): Promise<ImportTotals> {
  const [{ importMarkets }, { Renames }] = await Promise.all([
    import('#markets/write/import-markets.ts'),
    import('#markets/records/decompose.ts'),
  ])
  const name = file === '-' ? 'stdin' : file
  const source = await openInput(file)
  const lines = options.lines === true || /\.(ndjson|jsonl)(\.gz)?$/i.test(file)
  const line = openLine(options.json === true, logLineMs)
  const startMs = performance.now()
  const totals = await importMarkets({ ingest, clock }, splitRecords(source.chunks, lines), {
    kind: options.record,
    renames: new Renames(table),
    source: 'import',
    file: name,
    signal,
    onReject: (reject) => rejects.write(reject),
    onBatch: ({ read }) => line.draw(() => formatProgress(name, source, read, performance.now() - startMs)),
  })
  line.end()
  return totals
}

async function* splitRecords(chunks: AsyncIterable<Uint8Array>, lines: boolean): AsyncGenerator<SplitRecord> {
  const { JsonSplitter } = await import('#markets/records/json-splitter.ts')
  const splitter = new JsonSplitter({ lines })
  for await (const chunk of chunks) yield* splitter.push(chunk)
  yield* splitter.end()
}

/** Created with the first reject. */
class RejectsFile implements AsyncDisposable {
  readonly file: string
  readonly #quiet: boolean
  #open: FileHandle | undefined
  #shown = 0

  constructor(file: string, quiet: boolean) {
    this.file = file
    this.#quiet = quiet
  }

  async write({ kind, id, location, problems }: Reject): Promise<void> {
    const [first] = problems
    const field = first?.at.join('.') ?? ''
    if (!this.#quiet && this.#shown < rejectsShown) {
      this.#shown += 1
      note(`${location}: ${kind} ${id || '?'}: ${field ? `${field} ` : ''}${first?.message ?? ''}`)
    }
    const fields = problems.map(({ at, message, value }) => ({ field: at.join('.'), reason: message, value }))
    try {
      this.#open ??= await open(this.file, 'w')
      await this.#open.appendFile(`${JSON.stringify({ location, kind, id, problems: fields })}\n`)
    } catch (error) {
      throw renamePath(error, this.file)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.close()
  }
}

function formatProgress(file: string, { bytes, read }: InputFile, records: number, tookMs: number): string {
  const share = bytes ? Math.min(1, read() / bytes) : undefined
  const cells = share === undefined ? '' : `${bar(share)} ${(share * 100).toFixed(1)} %  `
  const rate = Math.round((records * 1000) / Math.max(1, tookMs))
  return `${cells}${file}  ${(read() / 1e6).toFixed(1)} MB  ${counted(records, 'record')}  ${rate}/s`
}

function printImportReport(sum: ImportTotals, seconds: number, options: ImportOptions, rejectsFile: string): void {
  const rejects = sum.rejected > 0 ? rejectsFile : null
  const perSecond = Math.round(sum.read / Math.max(seconds, 0.001))
  const text = `${counted(sum.read, 'record')} read in ${seconds.toFixed(1)} s (${perSecond}/s): ${counted(sum.changed, 'new version')}, ${sum.stale} older than stored, ${sum.rejected} rejected`
  printResult(options, { ...sum, seconds: Number(seconds.toFixed(3)), rejects }, text)
  if (rejects && !options.json) note(`Rejected records and reasons: ${rejects}`)
}
