// `tetrad export <dataset>`: writes stored data as a table for analysis, with or without a running server.
import { extname } from 'node:path'
import { Argument, type Command, Option } from 'commander'
import type { Dataset, DatasetName, Row } from '#operations/export/dataset.ts'
import type { ExportFormat } from '#operations/export/format.ts'
import { withStores } from './data.ts'
import { docsPage } from './docs-page.ts'
import { CommandFailure, UsageFailure } from './failure.ts'
import { writeOut, writeStandardOutput } from './out-file.ts'
import { parsePastTime } from './parse-time.ts'
import { counted, note, printResult } from './print.ts'
import { openProgress } from './progress.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'
import { stopSignal } from './stop.ts'

interface ExportOptions extends CommonOptions {
  readonly format?: ExportFormat
  readonly from?: string
  readonly until?: string
  readonly out?: string
}

const datasets: readonly DatasetName[] = ['duties', 'fundings', 'labels', 'markets', 'quotes', 'trades']
const formats: readonly ExportFormat[] = ['parquet', 'csv', 'ndjson']
const standardOutput = '-'

const examples = `
--from and --until select duties by UTC day, fundings by block time, quotes and trades by creation, and labels and
markets by their last change.

Examples:
  $ tetrad export duties --from 2026-10-01 --until 2026-11-01 --out october.parquet
  $ tetrad export fundings --out fundings.parquet
  $ tetrad export labels --format csv > labels.csv
  $ tetrad export quotes --from 24h --format ndjson | jq .rate

Columns: ${docsPage('export')}.`

export function addExport(program: Command): void {
  program
    .command('export')
    .description('Write stored data as a Parquet, CSV or NDJSON table. The server may keep running.')
    .addArgument(new Argument('<dataset>', 'what to export').choices(datasets))
    .addOption(new Option('--format <format>', 'default: by the extension of --out, or csv').choices(formats))
    .option('--from <time>', 'start: a day, a time, or a duration before now such as 30d (default: no limit)')
    .option('--until <time>', 'end, exclusive (default: no limit)')
    .option('--out <file>', 'file to write; - for standard output (default: -)')
    .addHelpText('after', examples)
    .action((dataset: DatasetName, _: unknown, command: Command) => exportDataset(dataset, command.optsWithGlobals()))
}

async function exportDataset(name: DatasetName, options: ExportOptions): Promise<void> {
  const out = options.out ?? standardOutput
  const format = options.format ?? formatOf(out)
  if (format === 'parquet' && out === standardOutput) {
    throw new UsageFailure('export.out', 'A Parquet file cannot be written to standard output. Pass --out FILE.')
  }
  const target = { format, out, range: rangeOf(options) }
  const rows = await (out === standardOutput
    ? writeDataset(name, target, options)
    : untilSignal(out, (signal) => writeDataset(name, { ...target, signal }, options)))
  const report = `${counted(rows, 'row')} of ${name} written`
  if (out === standardOutput) note(`${report}.`)
  else printResult(options, { dataset: name, format, file: out, rows }, `${report} to ${out}.`)
}

/** A signal stops the work after the current batch, so that the incomplete file is deleted. */
export async function untilSignal<T>(out: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const signal = stopSignal(clock)
  return work(signal).catch((error: unknown) => {
    throw signal.aborted ? new CommandFailure('export.stopped', `Stopped. ${out} was not written.`) : error
  })
}

interface Target {
  readonly format: ExportFormat
  readonly out: string
  readonly range: { readonly fromMs: number; readonly untilMs: number }
  readonly signal?: AbortSignal
}

/** Returns the number of rows. */
async function writeDataset(
  name: DatasetName,
  { format, out, range, signal }: Target,
  options: ExportOptions,
): Promise<number> {
  const [{ openTable }, { encodeRows }] = await Promise.all([
    import('#operations/export/tables.ts'),
    import('#operations/export/format.ts'),
  ])
  return withStores(options, 'found', async ({ state, ingest }) => {
    await using cleanup = new AsyncDisposableStack()
    const dataset =
      name === 'duties'
        ? cleanup.use(await openStoredDuties(options, range))
        : openTable(name, name === 'quotes' || name === 'trades' ? state : ingest, range)
    // On a terminal, the progress would be between the rows.
    const isQuiet = options.json === true || (out === standardOutput && process.stdout.isTTY)
    const progress = openProgress(isQuiet, dataset.unit)
    cleanup.defer(() => progress.end())
    if (!isQuiet) progress.plan(await dataset.total())
    let rowCount = 0
    const batches = async function* (): AsyncGenerator<readonly Row[]> {
      for await (const { rows, done } of dataset.batches()) {
        signal?.throwIfAborted()
        yield rows
        rowCount += rows.length
        progress.step(done, name)
      }
    }
    const parts = encodeRows(format, dataset.columns, batches())
    await (out === standardOutput ? writeStandardOutput(parts) : writeOut(out, parts))
    return rowCount
  })
}

/** Duties have a database of their own. */
async function openStoredDuties(options: ExportOptions, range: Target['range']): Promise<Dataset & AsyncDisposable> {
  const [{ settings }, { openDutiesTable }, { openDuties }, { dutiesOnThisThread }] = await Promise.all([
    configOf(options),
    import('#operations/export/duties.ts'),
    import('#storage/open.ts'),
    import('#validators/duties/store.ts'),
  ])
  const duties = await openDuties(dataDirOf(options), settings.store)
  return { ...openDutiesTable(dutiesOnThisThread(duties), range), [Symbol.asyncDispose]: () => duties.close() }
}

function formatOf(out: string): ExportFormat {
  if (out === standardOutput) return 'csv'
  const extension = extname(out).slice(1).toLowerCase()
  const format = formats.find((known) => known === extension)
  if (format) return format
  throw new UsageFailure('export.format', `Unknown file extension of ${out}. Pass --format.`)
}

function rangeOf({ from, until }: ExportOptions): Target['range'] {
  const nowMs = clock.now()
  const fromMs = from === undefined ? 0 : parsePastTime(from, nowMs, '--from')
  const untilMs = until === undefined ? Number.MAX_SAFE_INTEGER : parsePastTime(until, nowMs, '--until')
  if (fromMs < untilMs) return { fromMs, untilMs }
  throw new UsageFailure('export.range', `--from ${from} is not before --until ${until}.`)
}
