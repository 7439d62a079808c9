// `tetrad markets …` finds markets and shows what came with them (drift, rejects, vanished ones, feeds); `tetrad ingest
// markets` reads the configured feeds. Both work beside a running server, the second in turn with several (behaviour/operations.md#ingest-commands).
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import type { MarketsContext } from '#markets/context.ts'
import type { PassReport } from '#markets/feeds/read-feed.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { type LeaseOptions, runWithLease, waitOption } from './lease.ts'
import { counted, minuteText, note, print, printJson, table } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'

interface IngestOptions extends CommonOptions, LeaseOptions {
  readonly feed?: string
  readonly full?: boolean
}

interface ListOptions extends CommonOptions {
  readonly max: number
}

const searchMax = 50
const maxOption = ['--max <n>', 'how many, at most', wholeNumber, 100] as const

export function addMarkets(program: Command): void {
  const ingest =
    program.commands.find((command) => command.name() === 'ingest') ??
    program.command('ingest').description('Read a source into the store.')
  ingest
    .command('markets')
    .description('Read the configured market feeds once. Goes on where it was interrupted.')
    .option('--feed <id>', 'only this feed')
    .option('--full', 'everything, not only what changed lately')
    .option(...waitOption)
    .action((_: unknown, command: Command) => readFeeds(command.optsWithGlobals()))

  const markets = program
    .command('markets')
    .description('Markets by words, and what came with them: drift, rejects, vanished, feeds.')
  markets
    .command('search')
    .description('Find markets by words in their question, slug or tags; without words the most traded open ones.')
    .argument('[words...]', 'each must begin a word of the market')
    .option('--max <n>', 'how many, at most 50', wholeNumber, 20)
    .action((words: string[], _: unknown, command: Command) => search(words, command.optsWithGlobals()))
  markets
    .command('drift')
    .description('Fields in which sources differ from the contract: unknown ones, and values of another type.')
    .action((_: unknown, command: Command) => drift(command.optsWithGlobals()))
  markets
    .command('rejects')
    .description('Records of feeds that cannot be stored, because they have no id or no slug, newest first.')
    .option(...maxOption)
    .action((_: unknown, command: Command) => rejects(command.optsWithGlobals()))
  markets
    .command('vanished')
    .description('Markets that no feed shows any more; they are still answered.')
    .option(...maxOption)
    .action((_: unknown, command: Command) => vanished(command.optsWithGlobals()))
  markets
    .command('feeds')
    .description('How far each feed has been read.')
    .action((_: unknown, command: Command) => feeds(command.optsWithGlobals()))
}

async function readFeeds(options: IngestOptions): Promise<void> {
  const { settings } = await configOf(options)
  const wanted = settings.markets.feeds.filter(({ id }) => options.feed === undefined || id === options.feed)
  if (wanted.length === 0) {
    const known = settings.markets.feeds.map(({ id }) => id).join(', ')
    const text = known
      ? `There is no feed ${options.feed}; there is: ${known}.`
      : 'No feed is configured (markets.feeds).'
    throw new CommandFailure('feed.unknown', text)
  }
  const [{ createMarketsCaches }, { systemClock }, { systemRandom }, { openLog }] = await Promise.all([
    import('#markets/context.ts'),
    import('#runtime/clock.ts'),
    import('#runtime/random.ts'),
    import('#runtime/log.ts'),
  ])
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort()).once('SIGTERM', () => stop.abort())
  const reports: Record<string, PassReport> = {}
  await withState(options, 'made', async (state) => {
    const log = openLog('warn', (line) => process.stderr.write(line))
    const world = { settings, clock: systemClock, random: systemRandom, log }
    const context = { state, ...world, markets: createMarketsCaches() }
    const turn = async (own: MarketsContext, signal: AbortSignal) => {
      for (const feed of wanted) reports[feed.id] = await readFeedOnce(own, feed, options, signal)
    }
    await runWithLease(context, options, 'markets', turn, stop.signal)
  })
  if (options.json) return printJson(reports)
  for (const [id, one] of Object.entries(reports)) {
    print(
      `${id}: ${one.pass} pass, ${counted(one.pages, 'page')}, ${counted(one.records, 'record')}: ${one.changed} new or different, ${one.written} answers written, ${one.rejected} rejected, ${one.vanished} vanished`,
    )
    if (one.absent > 0) {
      note(`${id}: the feed left out ${one.absent} markets, too many to mark them as vanished (vanishShareMax).`)
    }
  }
}

async function readFeedOnce(
  context: MarketsContext,
  feed: MarketFeed,
  options: IngestOptions,
  signal: AbortSignal,
): Promise<PassReport> {
  const { readFeed, FeedLocked } = await import('#markets/feeds/read-feed.ts')
  const line = pageLine(feed.id, options.json === true)
  const work = { holder: context.random.uuid(), full: options.full === true, signal, onPage: line.draw }
  try {
    return await readFeed(context, feed, work)
  } catch (error) {
    if (signal.aborted) throw new CommandFailure('ingest.stopped', 'Stopped; run it again to go on from here.')
    if (!(error instanceof FeedLocked)) throw new CommandFailure('ingest.failed', `${feed.id}: ${errorMessage(error)}`)
    throw new CommandFailure('feed.held', `The feed ${feed.id} is being read by another process, the server perhaps.`)
  } finally {
    line.end()
  }
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function pageLine(feed: string, quiet: boolean) {
  const { stderr } = process
  return {
    draw({ pages, records }: PassReport) {
      if (!quiet && stderr.isTTY) stderr.write(`\r\u001b[2K${feed}: page ${pages}, ${counted(records, 'record')}`)
    },
    end() {
      if (!quiet && stderr.isTTY) stderr.write('\r\u001b[2K')
    },
  }
}

async function search(words: readonly string[], options: ListOptions): Promise<void> {
  const { searchMarkets } = await import('#markets/search/search.ts')
  const found = await withState(options, 'found', (state) =>
    searchMarkets(state, words.join(' '), Math.min(options.max, searchMax)),
  )
  if (options.json) return printJson(found)
  if (found.length === 0) return note('No market has all of these words.')
  const cells = found.map(({ slug, question = '', open, volumeNum }) => [
    ...[open ? 'open' : 'closed', volumeNum === undefined ? '-' : String(Math.round(volumeNum)), slug, question],
  ])
  print(table(['state', 'volume', 'slug', 'question'], cells))
}

async function drift(options: CommonOptions): Promise<void> {
  const { listDrift } = await import('#markets/records/drift.ts')
  const rows = await withState(options, 'found', listDrift)
  if (options.json)
    return printJson(rows.map(({ firstMs, lastMs, ...row }) => ({ ...row, ...formatTimes(firstMs, lastMs) })))
  if (rows.length === 0) return note('No drift: every field is in the contract and has its type.')
  const head = ['source', 'kind', 'field', 'problem', 'records', 'first seen', 'last seen', 'for example']
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
  if (rows.length === 0) return note('No rejects: every record that the feeds show is stored.')
  const head = ['source', 'kind', 'id', 'slug', 'field', 'reason', 'times', 'last seen', 'where']
  const cells = rows.map(({ source, kind, id, slug, field, reason, times: count, lastMs, place }) => [
    ...[source, kind, id, slug, field, reason, String(count), minuteText(lastMs), place],
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
  const { readFeedStates: allStandings } = await import('#markets/feeds/feed-state.ts')
  const rows = await withState(options, 'found', allStandings)
  if (options.json) {
    const shown = rows.map(({ source, pass, page, sweep, fullAtMs, doneAtMs }) => ({
      ...{ feed: source, pass, pagesRead: page, fullPasses: sweep },
      lastFull: fullAtMs === null ? null : iso(fullAtMs),
      lastPass: doneAtMs === null ? null : iso(doneAtMs),
    }))
    return printJson(shown)
  }
  if (rows.length === 0) return note('No feed has been read yet.')
  const cells = rows.map(({ source, pass, page, sweep, fullAtMs, doneAtMs }) => [
    ...[source, page === 0 ? 'waiting' : `${pass}, page ${page}`, String(sweep)],
    ...[minuteText(fullAtMs ?? undefined), minuteText(doneAtMs ?? undefined)],
  ])
  print(table(['feed', 'now', 'full passes', 'last full pass', 'last pass'], cells))
}

const iso = (atMs: number): string => new Date(atMs).toISOString()
const formatTimes = (firstMs: number, lastMs: number) => ({ firstSeen: iso(firstMs), lastSeen: iso(lastMs) })

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.')
  return Number(text)
}
