// `tetrad fx …`: shows rate sources and the history of rates, sets rates, shows quotes. `fx-signed.ts` adds the commands
// about receipts and signatures, `fx-overrides.ts` those that change pricing, `fx-trades.ts`
// those about trades. They use the state store or files, so they work while a server runs.
import { type Command, InvalidArgumentError } from 'commander'
import { formatAgeOf } from '#core/age.ts'
import type { FxContext, RatesContext } from '#fx/context.ts'
import type { sourcesReport } from '#fx/rates/source-health.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import { withState } from './data.ts'
import { queryServer } from './data-owner.ts'
import { docsPage } from './docs-page.ts'
import { CommandFailure, withOptionNames } from './failure.ts'
import { addOverrides } from './fx-overrides.ts'
import { addSigned, unknownQuote } from './fx-signed.ts'
import { addTrades } from './fx-trades.ts'
import { integerBetween } from './parse-integer.ts'
import { parsePastTime } from './parse-time.ts'
import { note, print, printJson, printResult, table } from './print.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'

const pairPattern = /^[A-Z]{3}\/[A-Z]{3}$/

export function addFx(program: Command): void {
  const fx = program.command('fx').description('FX: rate sources, rates, quotes, receipts and signatures.')

  fx.command('sources')
    .description('List rate sources with their rates, the age and status of each rate, and errors.')
    .action((_: unknown, command: Command) => sources(command.optsWithGlobals()))

  const rate = fx.command('rate').description('Set rates.')
  rate
    .command('set')
    .description('Set a rate. Needs a source of kind push in fx.sources. The rate becomes stale like any other.')
    .argument('<pair>', 'base currency first: EUR/USD', parsePair)
    .argument('<rate>', 'price of one unit of the base currency: 1.0842')
    .option('--source <id>', 'the push source (default: the only one)')
    .option('--at <time>', 'time of the rate: 30m ago, or 2026-11-15T18:00:00Z (default: now)')
    .action((pair: string, value: string, _: unknown, command: Command) =>
      setRate(pair, value, command.optsWithGlobals()),
    )

  fx.command('history')
    .description('List the received rates of a pair, newest first.')
    .argument('<pair>', 'base and quote currency, as the source states them: EUR/USD', parsePair)
    .option('--source <id>', 'only this source')
    .option('--since <time>', '24h ago, 2026-11-15, or 2026-11-15T18:00:00Z', '24h')
    .option('--until <time>', 'same formats (default: now)')
    .option('--limit <n>', 'maximum number of rates', integerBetween(1, 100_000), 100)
    .action((pair: string, _: unknown, command: Command) => history(pair, command.optsWithGlobals()))

  fx.command('quote')
    .description('Print a stored quote, expired or not, byte for byte.')
    .argument('<id>', 'id of the quote')
    .action((id: string, _: unknown, command: Command) => quote(id, command.optsWithGlobals()))

  addOverrides(fx)
  addSigned(fx)
  addTrades(fx)
}

type View = RatesContext & Pick<FxContext, 'provenTime'>

/** No time is proven here: only a server deletes old rates. */
async function withView<T>(options: CommonOptions, work: (view: View) => Promise<T>): Promise<T> {
  const { settings } = await configOf(options)
  return withState(options, 'found', (state) => work({ state, settings, clock, provenTime: new ProvenTime(clock) }))
}

type SourcesReport = Awaited<ReturnType<typeof sourcesReport>>

async function sources(options: CommonOptions): Promise<void> {
  const { failedText, sourcesReport } = await import('#fx/rates/source-health.ts')
  // Only a running server knows the sources of the demo. Without a server, use the configuration.
  const response = await queryServer<SourcesReport>(options, 'rates')
  const { sources: states, rates } = response ? response.result : await withView(options, sourcesReport)
  if (options.json) {
    return printJson({
      sources: states.map(({ triedMs, goodMs, message, ...state }) => ({
        ...state,
        lastAttempt: isoTimeOrNull(triedMs),
        lastSuccess: isoTimeOrNull(goodMs),
        message,
      })),
      rates: rates.map(({ atMs, base, quote: to, ...line }) => ({
        ...line,
        pair: `${base}/${to}`,
        time: isoTimeOrNull(atMs),
      })),
    })
  }
  if (states.length === 0) note(`No rate sources are configured: see ${docsPage('fx')}. The store has these rates:`)
  const rows = rates.map(({ source, kind, base, quote: to, rate, ageMs, status, tradable }) => [
    ...[source, kind, `${base}/${to}`, rate, formatAgeOf(ageMs)],
    status === 'used' && !tradable ? 'used, reference only' : status,
  ])
  if (rows.length > 0) print(table(['source', 'kind', 'pair', 'rate', 'age', 'status'], rows))
  for (const { source, failures, contradictions, message } of states) {
    for (const reason of contradictions) note(`${source} contradicts itself: ${reason}`)
    if (message === null || contradictions.includes(message)) continue
    note(`${source}: ${failures > 0 ? `${failedText(failures)}: ` : ''}${message}`)
  }
}

async function setRate(
  pair: string,
  rate: string,
  options: CommonOptions & { source?: string; at?: string },
): Promise<void> {
  const { pushRate } = await import('#fx/extensions/push-rate/push-rate.ts')
  await requirePushSource(options)
  const stored = await withView(options, (view) => {
    const atMs = options.at === undefined ? undefined : parsePastTime(options.at, view.clock.now(), '--at')
    return pushRate(view, { pair, rate, source: options.source, atMs }).catch((error: unknown) => {
      throw withOptionNames(error, optionNames)
    })
  })
  const result = { source: stored.source, pair, rate: stored.rate, time: isoTimeOrNull(stored.atMs) }
  printResult(options, result, `${result.source} ${pair} ${result.rate} at ${result.time}`)
}

/** Only the demo server knows the sources of the demo, so the error text asks it. */
async function requirePushSource(options: CommonOptions): Promise<void> {
  const { sources: configured } = (await configOf(options)).settings.fx
  if (configured.some(({ kind }) => kind === 'push')) return
  const { noPushSourceText } = await import('#fx/extensions/push-rate/push-rate.ts')
  const response = configured.length === 0 ? await queryServer<SourcesReport>(options, 'rates') : undefined
  const sources = response ? response.result.sources.map(({ source: id, kind }) => ({ id, kind })) : configured
  throw new CommandFailure('fx.no_push_source', `Cannot set a rate: ${noPushSourceText(sources)} (${docsPage('fx')}).`)
}

const optionNames: Readonly<Record<string, string>> = {
  source: '--source',
  pair: 'The pair',
  rate: 'The rate',
  time: '--at',
}

async function history(
  pair: string,
  options: CommonOptions & { source?: string; since: string; until?: string; limit: number },
): Promise<void> {
  const { rateHistory } = await import('#fx/rates/rate-store.ts')
  const nowMs = clock.now()
  const [base = '', to = ''] = pair.split('/')
  const period = {
    fromMs: parsePastTime(options.since, nowMs, '--since'),
    // The clock of a source may be a little ahead.
    untilMs: options.until === undefined ? nowMs + 60_000 : parsePastTime(options.until, nowMs, '--until'),
  }
  const query = { base, quote: to, source: options.source, ...period, rowsMax: options.limit }
  const rates = await withState(options, 'found', (state) => rateHistory(state, query))
  const rows = rates.map(({ source, rate, atMs, receivedMs }) => ({
    source,
    pair,
    rate,
    time: new Date(atMs).toISOString(),
    received: new Date(receivedMs).toISOString(),
  }))
  if (options.json) return printJson(rows)
  if (rows.length === 0)
    return note(`No rates of ${pair} in this time. If the source has the inverse pair, ask for ${to}/${base}.`)
  print(
    table(
      ['time', 'source', 'rate', 'received'],
      rows.map(({ time, source, rate, received }) => [time, source, rate, received]),
    ),
  )
}

async function quote(id: string, options: CommonOptions): Promise<void> {
  const { readQuote } = await import('#fx/pricing/quotes.ts')
  const stored = await withState(options, 'found', (state) => readQuote(state, id))
  if (!stored) throw unknownQuote(id)
  // Byte for byte: the receipt contains its hash.
  print(new TextDecoder().decode(stored.reply))
}

const isoTimeOrNull = (atMs: number | null | undefined): string | null =>
  atMs == null ? null : new Date(atMs).toISOString()

function parsePair(text: string): string {
  if (!pairPattern.test(text)) throw new InvalidArgumentError('It must be two currencies, such as EUR/USD.')
  return text
}
