// `tetrad markets …` lists drift and rejects of the feeds. `tetrad ingest markets` reads the configured feeds. Both work
// while a server runs; the second needs the lease (behaviour/operations.md#ingest-commands).
import type { Command } from 'commander'
import { errorMessage } from '#core/error-message.ts'
import type { MarketsContext } from '#markets/context.ts'
import type { PassReport } from '#markets/feeds/read-feed.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { withIngest } from './data.ts'
import { CommandFailure } from './failure.ts'
import { type LeaseOptions, runWithLease, waitOption } from './lease.ts'
import { integerBetween } from './parse-integer.ts'
import { counted, minuteText, note, print, printJson, table } from './print.ts'
import { redrawLine } from './progress.ts'
import { clock, log, random } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { stopSignal } from './stop.ts'

interface IngestOptions extends CommonOptions, LeaseOptions {
  readonly feed?: string
  readonly full?: boolean
}

interface ListOptions extends CommonOptions {
  readonly max: number
}

export function addMarkets(program: Command, ingest: Command): void {
  ingest
    .command('markets')
    .description('Read the configured market feeds once. Continues an interrupted pass.')
    .option('--feed <id>', 'only this feed')
    .option('--full', 'read everything, not only recent changes')
    .option(...waitOption)
    .action((_: unknown, command: Command) => readFeeds(command.optsWithGlobals()))

  const markets = program.command('markets').description('List drift and rejects of market feeds.')
  markets
    .command('drift')
    .description('List fields in which sources differ from the contract: unknown fields and values of a wrong type.')
    .action((_: unknown, command: Command) => drift(command.optsWithGlobals()))
  markets
    .command('rejects')
    .description('List records of feeds that cannot be stored because they have no id or no slug, newest first.')
    .option('--max <n>', 'maximum number of rows', integerBetween(1, 999_999), 100)
    .action((_: unknown, command: Command) => rejects(command.optsWithGlobals()))
}

async function readFeeds(options: IngestOptions): Promise<void> {
  const { settings } = await configOf(options)
  const selected = settings.markets.feeds.filter(({ id }) => options.feed === undefined || id === options.feed)
  if (selected.length === 0) throw unknownFeed(options.feed, settings.markets.feeds)
  const { createMarketsCaches } = await import('#markets/context.ts')
  const reports: Record<string, PassReport> = {}
  await withIngest(options, 'made', async (ingest) => {
    const world = { settings, clock, random, log }
    const context = { ingest, ...world, markets: createMarketsCaches(clock) }
    const readSelected = async (leased: MarketsContext, signal: AbortSignal) => {
      for (const feed of selected) reports[feed.id] = await readFeedOnce(leased, feed, options, signal)
    }
    await runWithLease(context, options, 'markets', readSelected, stopSignal(clock))
  })
  if (options.json) return printJson(reports)
  for (const [id, report] of Object.entries(reports)) {
    print(
      `${id}: ${report.pass} pass, ${counted(report.pages, 'page')}, ${counted(report.records, 'record')}: ${counted(report.changed, 'new version')}, ${report.rejected} rejected, ${report.vanished} vanished`,
    )
    if (report.end === 'page repeats')
      note(`${id}: the pass ended at a page that repeats earlier records and does not count as complete (paging).`)
    if (report.absent > 0) {
      note(`${id}: ${report.absent} markets are missing, too many to mark them as vanished (vanishShareMax).`)
    }
  }
}

export function unknownFeed(id: string | undefined, feeds: readonly MarketFeed[]): CommandFailure {
  const known = feeds.map((feed) => feed.id).join(', ')
  const text = known ? `There is no feed ${id}. Configured feeds: ${known}.` : 'No feed is configured (markets.feeds).'
  return new CommandFailure('feed.unknown', text)
}

async function readFeedOnce(
  context: MarketsContext,
  feed: MarketFeed,
  options: IngestOptions,
  signal: AbortSignal,
): Promise<PassReport> {
  const { FeedLocked } = await import('#markets/feeds/feed-lock.ts')
  const { readFeed } = await import('#markets/feeds/read-feed.ts')
  const draw = (text: string) => (options.json ? undefined : redrawLine(text))
  const onPage = ({ pages, records }: PassReport) => draw(`${feed.id}: page ${pages}, ${counted(records, 'record')}`)
  const work = { holder: context.random.uuid(), full: options.full === true, signal, onPage }
  try {
    return await readFeed(context, feed, work)
  } catch (error) {
    if (signal.aborted) throw new CommandFailure('ingest.stopped', 'Stopped. Run the command again to continue.')
    if (!(error instanceof FeedLocked)) throw new CommandFailure('ingest.failed', `${feed.id}: ${errorMessage(error)}`)
    throw new CommandFailure('feed.locked', `Feed ${feed.id} is being read by another process, such as the server.`)
  } finally {
    draw('')
  }
}

async function drift(options: CommonOptions): Promise<void> {
  const { listDrift } = await import('#markets/write/drift.ts')
  const rows = await withIngest(options, 'found', listDrift)
  if (options.json)
    return printJson(rows.map(({ firstMs, lastMs, ...row }) => ({ ...row, ...formatTimes(firstMs, lastMs) })))
  if (rows.length === 0) return note('No drift: all fields match the contract.')
  const head = ['source', 'kind', 'field', 'problem', 'records', 'first seen', 'last seen', 'example']
  const cells = rows.map(({ source, kind, field, problem, records, firstMs, lastMs, sample }) => [
    ...[source, kind, field, problem, String(records), minuteText(firstMs), minuteText(lastMs), sample.slice(0, 40)],
  ])
  print(table(head, cells))
}

async function rejects(options: ListOptions): Promise<void> {
  const { listRejects } = await import('#markets/read/rejected-records.ts')
  const rows = await withIngest(options, 'found', (ingest) => listRejects(ingest, options.max))
  if (options.json)
    return printJson(rows.map(({ firstMs, lastMs, ...row }) => ({ ...row, ...formatTimes(firstMs, lastMs) })))
  if (rows.length === 0) return note('No rejects: all records of the feeds are stored.')
  const head = ['source', 'kind', 'id', 'slug', 'field', 'reason', 'times', 'last seen', 'location']
  const cells = rows.map(({ source, kind, id, slug, field, reason, times: count, lastMs, location }) => [
    ...[source, kind, id, slug, field, reason, String(count), minuteText(lastMs), location],
  ])
  print(table(head, cells))
}

const iso = (atMs: number): string => new Date(atMs).toISOString()
const formatTimes = (firstMs: number, lastMs: number) => ({ firstSeen: iso(firstMs), lastSeen: iso(lastMs) })
