// `tetrad markets …` searches markets and lists drift, rejects, vanished markets and feeds. `tetrad ingest markets` reads
// the configured feeds. Both work while a server runs; the second needs the lease (behaviour/operations.md#ingest-commands).
import type { Command } from 'commander'
import { errorMessage } from '#core/error-message.ts'
import type { MarketsContext } from '#markets/context.ts'
import type { PassReport } from '#markets/feeds/read-feed.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { type LeaseOptions, runWithLease, waitOption } from './lease.ts'
import { integerBetween } from './parse-integer.ts'
import { counted, minuteText, note, print, printJson, table } from './print.ts'
import { redrawLine } from './progress.ts'
import { clock, log, random } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'

interface IngestOptions extends CommonOptions, LeaseOptions {
  readonly feed?: string
  readonly full?: boolean
}

interface ListOptions extends CommonOptions {
  readonly max: number
}

const searchMax = 50
const parseCount = integerBetween(1, 999_999, 'It must be an integer above 0.')
const maxOption = ['--max <n>', 'maximum number of rows', parseCount, 100] as const

export function addMarkets(program: Command, ingest: Command): void {
  ingest
    .command('markets')
    .description('Read the configured market feeds once. Continues an interrupted pass.')
    .option('--feed <id>', 'only this feed')
    .option('--full', 'read everything, not only recent changes')
    .option(...waitOption)
    .action((_: unknown, command: Command) => readFeeds(command.optsWithGlobals()))

  const markets = program
    .command('markets')
    .description('Search markets; list drift, rejects, vanished markets and feeds.')
  markets
    .command('search')
    .description('Find markets by words in their question, slug or tags. Without words: the most traded open markets.')
    .argument('[words...]', 'each matches the start of a word')
    .option('--max <n>', `maximum number of markets, up to ${searchMax}`, parseCount, 20)
    .action((words: string[], _: unknown, command: Command) => search(words, command.optsWithGlobals()))
  markets
    .command('drift')
    .description('List fields in which sources differ from the contract: unknown fields and values of a wrong type.')
    .action((_: unknown, command: Command) => drift(command.optsWithGlobals()))
  markets
    .command('rejects')
    .description('List records of feeds that cannot be stored because they have no id or no slug, newest first.')
    .option(...maxOption)
    .action((_: unknown, command: Command) => rejects(command.optsWithGlobals()))
  markets
    .command('vanished')
    .description('List markets that no feed lists any more. They are still served.')
    .option(...maxOption)
    .action((_: unknown, command: Command) => vanished(command.optsWithGlobals()))
  markets
    .command('feeds')
    .description('Show how far each feed has been read.')
    .action((_: unknown, command: Command) => feeds(command.optsWithGlobals()))
}

async function readFeeds(options: IngestOptions): Promise<void> {
  const { settings } = await configOf(options)
  const selected = settings.markets.feeds.filter(({ id }) => options.feed === undefined || id === options.feed)
  if (selected.length === 0) throw unknownFeed(options.feed, settings.markets.feeds)
  const { createMarketsCaches } = await import('#markets/context.ts')
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort()).once('SIGTERM', () => stop.abort())
  const reports: Record<string, PassReport> = {}
  await withState(options, 'made', async (state) => {
    const world = { settings, clock, random, log }
    const context = { state, ...world, markets: createMarketsCaches() }
    const readSelected = async (leased: MarketsContext, signal: AbortSignal) => {
      for (const feed of selected) reports[feed.id] = await readFeedOnce(leased, feed, options, signal)
    }
    await runWithLease(context, options, 'markets', readSelected, stop.signal)
  })
  if (options.json) return printJson(reports)
  for (const [id, report] of Object.entries(reports)) {
    print(
      `${id}: ${report.pass} pass, ${counted(report.pages, 'page')}, ${counted(report.records, 'record')}: ${report.changed} new or changed, ${counted(report.written, 'document')} written, ${report.rejected} rejected, ${report.vanished} vanished`,
    )
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
  const { readFeed, FeedLocked } = await import('#markets/feeds/read-feed.ts')
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

async function search(words: readonly string[], options: ListOptions): Promise<void> {
  const { searchMarkets } = await import('#markets/search/search.ts')
  const markets = await withState(options, 'found', (state) =>
    searchMarkets(state, words.join(' '), Math.min(options.max, searchMax)),
  )
  if (options.json) return printJson(markets)
  if (markets.length === 0) return note('No matches. Each word must match the start of a word of the market.')
  const cells = markets.map(({ slug, question = '', open, volumeNum }) => [
    ...[open ? 'open' : 'closed', volumeNum === undefined ? '-' : String(Math.round(volumeNum)), slug, question],
  ])
  print(table(['state', 'volume', 'slug', 'question'], cells))
}

async function drift(options: CommonOptions): Promise<void> {
  const { listDrift } = await import('#markets/records/drift.ts')
  const rows = await withState(options, 'found', listDrift)
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
  const { listRejects } = await import('#markets/records/rejects.ts')
  const rows = await withState(options, 'found', (state) => listRejects(state, options.max))
  if (options.json)
    return printJson(rows.map(({ firstMs, lastMs, ...row }) => ({ ...row, ...formatTimes(firstMs, lastMs) })))
  if (rows.length === 0) return note('No rejects: all records of the feeds are stored.')
  const head = ['source', 'kind', 'id', 'slug', 'field', 'reason', 'times', 'last seen', 'location']
  const cells = rows.map(({ source, kind, id, slug, field, reason, times: count, lastMs, location }) => [
    ...[source, kind, id, slug, field, reason, String(count), minuteText(lastMs), location],
  ])
  print(table(head, cells))
}

async function vanished(options: ListOptions): Promise<void> {
  const { listVanished } = await import('#markets/feeds/feed-presence.ts')
  const rows = await withState(options, 'found', (state) => listVanished(state, options.max))
  if (options.json) return printJson(rows.map(({ id, slug, vanishedMs }) => ({ id, slug, lastSeen: iso(vanishedMs) })))
  if (rows.length === 0) return note('No market has vanished.')
  print(
    table(
      ['id', 'slug', 'last seen'],
      rows.map(({ id, slug, vanishedMs }) => [id, slug, minuteText(vanishedMs)]),
    ),
  )
}

async function feeds(options: CommonOptions): Promise<void> {
  const { readFeedStates } = await import('#markets/feeds/feed-state.ts')
  const rows = await withState(options, 'found', readFeedStates)
  if (options.json) {
    const shown = rows.map(({ source, pass, page, fullPass, fullAtMs, doneAtMs }) => ({
      feed: source,
      pass,
      pagesRead: page,
      fullPasses: fullPass,
      lastFull: fullAtMs === null ? null : iso(fullAtMs),
      lastPass: doneAtMs === null ? null : iso(doneAtMs),
    }))
    return printJson(shown)
  }
  if (rows.length === 0) return note('No feed has been read yet.')
  const cells = rows.map(({ source, pass, page, fullPass, fullAtMs, doneAtMs }) => [
    ...[source, page === 0 ? 'waiting' : `${pass}, page ${page}`, String(fullPass)],
    ...[minuteText(fullAtMs ?? undefined), minuteText(doneAtMs ?? undefined)],
  ])
  print(table(['feed', 'now', 'full passes', 'last full pass', 'last pass'], cells))
}

const iso = (atMs: number): string => new Date(atMs).toISOString()
const formatTimes = (firstMs: number, lastMs: number) => ({ firstSeen: iso(firstMs), lastSeen: iso(lastMs) })
