// `tetrad fundings`: the first funding of each address of a file. Calls the running server, or uses the store and the
// configured nodes itself. Needs no key.
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { type Command, Option } from 'commander'
import type { ExplorerContext } from '#explorer/context.ts'
import type { FoundFunding } from '#explorer/extensions/fundings/find-fundings.ts'
import { withIngest } from './data.ts'
import { queryServer } from './data-owner.ts'
import { docsPage } from './docs-page.ts'
import { CommandFailure, exitPartly, UsageFailure } from './failure.ts'
import { type AddressTable, type InputRow, readAddressTable } from './fundings-input.ts'
import {
  type AddedCells,
  forSpreadsheets,
  type Output,
  openOutput,
  type RowFormat,
  rowFormatOf,
} from './fundings-output.ts'
import { readInput } from './in-file.ts'
import { oneChain } from './labels-options.ts'
import { counted, note, printJson } from './print.ts'
import { openProgress } from './progress.ts'
import { clock, log, random } from './runtime.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'
import { stopSignal } from './stop.ts'
import { coinNumber } from './trail.ts'
import { whichChain } from './which-chain.ts'

interface FundingsOptions extends CommonOptions {
  readonly in: string
  readonly out: string
  readonly chain?: string
  readonly format?: 'csv' | 'ndjson'
  readonly forSpreadsheets?: boolean
}

const inputBytesMax = 64 * 1024 * 1024

const examples = `
Run the same command again to continue after an interruption.

Examples:
  $ tetrad fundings --in addresses.csv --out fundings.csv
  $ cut -f1 wallets.tsv | tetrad fundings --chain 137 --format ndjson > fundings.ndjson

Columns: ${docsPage('fundings')}.`

export function addFundings(program: Command): void {
  program
    .command('fundings')
    .description('Write the first funding of each address of a file, in its order. Continues an interrupted output.')
    .option('--in <file>', 'addresses, one for each line, or CSV with a column address; - for standard input', '-')
    .option('--out <file>', 'file to write or to continue; - for standard output', '-')
    .option('--chain <id>', 'chain id (default: 1, or the only configured chain)', oneChain)
    .addOption(new Option('--format <format>', 'default: by the extension of --out, or csv').choices(['csv', 'ndjson']))
    .option('--for-spreadsheets', 'put an apostrophe before texts that a spreadsheet would run as a formula')
    .addHelpText('after', examples)
    .action((_: unknown, command: Command) => writeFundings(command.optsWithGlobals()))
}

/** Finds the fundings of up to `batchMax` different addresses. */
type FindBatch = (addresses: readonly string[]) => Promise<readonly FoundFunding[]>

async function writeFundings(options: FundingsOptions): Promise<void> {
  const { in: file, out } = options
  const format = options.format ?? (/^\.(ndjson|jsonl)$/.test(extname(out).toLowerCase()) ? 'ndjson' : 'csv')
  if (options.forSpreadsheets && format !== 'csv')
    throw new UsageFailure('fundings.options', '--for-spreadsheets needs --format csv.')
  const chain = whichChain((await configOf(options)).settings, options.chain, '1')
  const table = readAddressTable(file, (await readInput(file, inputBytesMax)).text, chain)
  const rows = rowFormatOf(format, table.columns, chain, options.forSpreadsheets ? forSpreadsheets : undefined)
  const counts: Record<string, number> = {}
  const count = (statuses: readonly string[]) => {
    for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  }
  await withFinder(options, chain, async (find) => {
    await using output = await openOutput(out, table, rows)
    count(output.written)
    if (output.written.length > 0 && !options.json)
      note(`${out} has ${output.written.length} of ${counted(table.count, 'address', 'addresses')} already.`)
    await writeRest(options, { table, rows, output, find, count })
  })
  const answered = (counts.funded ?? 0) + (counts.none ?? 0)
  if (answered < table.count) process.exitCode = exitPartly
  if (options.json && out !== '-') return printJson({ file: out, format, chain, rows: table.count, statuses: counts })
  const statuses = Object.entries(counts).map(([status, number]) => `${number} ${status}`)
  if (!options.json) note(`${counted(table.count, 'address', 'addresses')}: ${statuses.join(', ')}.`)
}

interface Run {
  readonly table: AddressTable
  readonly rows: RowFormat
  readonly output: Output
  readonly find: FindBatch
  readonly count: (statuses: readonly string[]) => void
}

async function writeRest(options: FundingsOptions, { table, rows, output, find, count }: Run): Promise<void> {
  const { batchMax } = await import('#explorer/extensions/fundings/find-fundings.ts')
  const stop = stopSignal(clock)
  const progress = openProgress(options.json === true, 'addresses')
  let done = output.written.length
  progress.plan(table.count - done)
  try {
    for (const batch of batchesOf(table.rows(), done, batchMax)) {
      if (stop.aborted) throw incomplete('Stopped', done, table)
      const found = await findRows(batch, find)
      const gone = nodeFailureOf(found)
      if (gone !== undefined) throw incomplete(`The nodes do not respond (${gone})`, done, table)
      await output.append(batch.map((row, at) => rows.row(row, found[at] as AddedCells)).join(''))
      count(found.map(({ status }) => status))
      done += batch.length
      progress.step(batch.length, '')
    }
  } finally {
    progress.end()
  }
}

const incomplete = (why: string, done: number, { count }: AddressTable): CommandFailure =>
  new CommandFailure(
    'fundings.incomplete',
    `${why}. ${done} of ${counted(count, 'address', 'addresses')} are written. Run the same command again to continue.`,
  )

function* batchesOf(rows: Iterable<InputRow>, skip: number, size: number): Generator<readonly InputRow[]> {
  let batch: InputRow[] = []
  let at = 0
  for (const row of rows) {
    at += 1
    if (at <= skip) continue
    batch.push(row)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

type FoundCells = AddedCells & { readonly code?: string | undefined }

async function findRows(batch: readonly InputRow[], find: FindBatch): Promise<readonly FoundCells[]> {
  const { addressMust, toAddress } = await import('#explorer/chains.ts')
  const addresses = [...new Set(batch.flatMap(({ address }) => toAddress(address) ?? []))]
  const found = new Map<string, FoundFunding>()
  for (const result of addresses.length > 0 ? await find(addresses) : []) found.set(result.address, result)
  return batch.map(({ address }) => {
    const result = found.get(toAddress(address) ?? '')
    return result ? toCells(result) : { status: 'invalid', reason: `An address ${addressMust}.` }
  })
}

function toCells({ status, funding, finality, label, message, code }: FoundFunding): FoundCells {
  return {
    status,
    ...(funding && {
      block: funding.block,
      time: new Date(Number(funding.timeStamp) * 1000).toISOString(),
      funder: funding.fundingAddress,
      tx: funding.fundingTxn,
      value_wei: funding.value,
      value: coinNumber(funding.value),
    }),
    ...(label && { label: label.name, entity: label.entity ?? '' }),
    ...(finality && { finality }),
    ...(message !== undefined && { reason: message }),
    ...(code !== undefined && { code }),
  }
}

/** A few failures may be about the addresses. */
const nodeFailuresMin = 8

/** Set if all addresses of a batch failed because no node responds: the rest would fail as well. */
function nodeFailureOf(found: readonly FoundCells[]): string | undefined {
  if (found.length < nodeFailuresMin || found.some(({ code }) => code !== 'explorer.node_unavailable')) return undefined
  return String(found[0]?.reason)
}

async function withFinder(
  options: FundingsOptions,
  chain: string,
  work: (find: FindBatch) => Promise<void>,
): Promise<void> {
  const askServer = (addresses: readonly string[]) =>
    queryServer<readonly FoundFunding[]>(options, 'fundings', { chain, addresses })
  if (existsSync(dataDirOf(options)) && (await askServer([]))) {
    return work(async (addresses) => {
      const reply = await askServer(addresses)
      if (reply) return reply.result
      throw new CommandFailure('fundings.server', 'The server has stopped. Run the same command again to continue.')
    })
  }
  const [{ findFundings }, { createExplorerCaches }, { settings }] = await Promise.all([
    import('#explorer/extensions/fundings/find-fundings.ts'),
    import('#explorer/context.ts'),
    configOf(options),
  ])
  // Results of searches are stored, so the data folder is created. Without a node it must exist.
  const hasNode = settings.explorer.chains.some(({ id, rpc }) => id === chain && rpc.length > 0)
  await withIngest(options, hasNode ? 'made' : 'found', (ingest) => {
    const context: ExplorerContext = { ingest, settings, clock, random, log, explorer: createExplorerCaches() }
    return work((addresses) => findFundings(context, chain, addresses))
  })
}
