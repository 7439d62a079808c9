// `tetrad fx …`: where rates come from and how they are doing, rates set by hand and read back, quotes and their receipts,
// and the check of a signature. All of it reads the state store or files, so it works beside a running server.
import { type Command, InvalidArgumentError } from 'commander'
import { formatAgeOf } from '#core/age.ts'
import { Fault } from '#core/fault.ts'
import type { sourcesReport } from '#fx/rates/source-health.ts'
import type { AppContext } from '#server/context.ts'
import { withState } from './data.ts'
import { queryServer } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { addSigned } from './fx-signed.ts'
import { parsePastTime } from './parse-time.ts'
import { note, print, printJson, table } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'

const pairShape = /^[A-Z]{3}\/[A-Z]{3}$/
const rowsMax = 100_000

export function addFx(program: Command): void {
  const fx = program.command('fx').description('FX: sources of rates, rates, quotes, receipts, signatures.')

  fx.command('sources')
    .description('Every source: what it has given, how old that is, whether it is used, and what went wrong.')
    .action((_: unknown, command: Command) => sources(command.optsWithGlobals()))

  const rate = fx.command('rate').description('Rates set by hand.')
  rate
    .command('set')
    .description('Push a rate. The configuration needs a source of kind push; the rate goes stale like any other.')
    .argument('<pair>', 'the currency that is priced first: EUR/USD', pairOf)
    .argument('<rate>', 'price of one unit: 1.0842')
    .option('--source <id>', 'which push source (default: the only one)')
    .option('--at <time>', 'when it held: 30m ago, or 2026-11-15T18:00:00Z (default: now)')
    .addHelpText('after', '\nExample:\n  $ tetrad fx rate set EUR/USD 1.0842')
    .action((pair: string, value: string, _: unknown, command: Command) =>
      setRate(pair, value, command.optsWithGlobals()),
    )

  fx.command('history')
    .description('What sources have said about a pair, newest first.')
    .argument('<pair>', 'as the source names it: EUR/USD', pairOf)
    .option('--source <id>', 'only this one')
    .option('--since <time>', '24h ago, 2026-11-15, or 2026-11-15T18:00:00Z', '24h')
    .option('--until <time>', 'likewise (default: now)')
    .option('--limit <n>', 'at most so many', parseRowCount, 100)
    .action((pair: string, _: unknown, command: Command) => history(pair, command.optsWithGlobals()))

  fx.command('quote')
    .description('A quote as it was answered, expired or not.')
    .argument('<id>', 'its id')
    .action((id: string, _: unknown, command: Command) => quote(id, command.optsWithGlobals()))

  addSigned(fx)
}

type View = Pick<AppContext, 'state' | 'settings' | 'clock'>

async function withView<T>(options: CommonOptions, work: (view: View) => Promise<T>): Promise<T> {
  const [{ settings }, { systemClock }] = await Promise.all([configOf(options), import('#runtime/clock.ts')])
  return withState(options, 'found', (state) => work({ state, settings, clock: systemClock }))
}

type SourcesReport = Awaited<ReturnType<typeof sourcesReport>>

async function sources(options: CommonOptions): Promise<void> {
  const { sourcesReport: report } = await import('#fx/rates/source-health.ts')
  // A running server knows what it asks, the demo's feed included; without one it is what this configuration names.
  const shown = await queryServer<SourcesReport>(options, 'rates')
  const { sources: states, rates } = shown ? shown.result : await withView(options, report)
  if (options.json) {
    return printJson({
      sources: states.map(({ triedMs, goodMs, message, ...state }) => ({
        ...{ ...state, asked: isoTimeOrNull(triedMs), answered: isoTimeOrNull(goodMs), message },
      })),
      rates: rates.map(({ atMs, base, quote: to, ...line }) => ({
        ...line,
        pair: `${base}/${to}`,
        time: isoTimeOrNull(atMs),
      })),
    })
  }
  if (states.length === 0) note('No sources are configured: see docs/fx.md. What is below is what the store holds.')
  const rows = rates.map(({ source, kind, base, quote: to, rate, ageMs, standing, tradable }) => [
    ...[source, kind, `${base}/${to}`, rate, formatAgeOf(ageMs)],
    standing === 'used' && !tradable ? 'used, reference only' : standing,
  ])
  if (rows.length > 0) print(table(['source', 'kind', 'pair', 'rate', 'age', 'standing'], rows))
  const { failedText } = await import('#fx/rates/source-health.ts')
  for (const { source, failures, message } of states) {
    if (message !== null) note(`${source}: ${failures > 0 ? `${failedText(failures)}: ` : ''}${message}`)
  }
}

async function setRate(
  pair: string,
  rate: string,
  options: CommonOptions & { source?: string; at?: string },
): Promise<void> {
  const { pushRate } = await import('#fx/rates/push-rate.ts')
  await wantPushSource(options)
  const kept = await withView(options, (view) => {
    const atMs = options.at === undefined ? undefined : parsePastTime(options.at, view.clock.now(), '--at')
    return pushRate(view, { pair, rate, source: options.source, atMs }).catch((error: unknown) => {
      throw asOptions(error)
    })
  })
  const result = { source: kept.source, pair, rate: kept.rate, time: isoTimeOrNull(kept.atMs) }
  if (options.json) printJson(result)
  else print(`${result.source} ${pair} ${result.rate} at ${result.time}`)
}

/** The demo's sources are known to its server alone. */
async function wantPushSource(options: CommonOptions): Promise<void> {
  const { sources: own } = (await configOf(options)).settings.fx
  if (own.some(({ kind }) => kind === 'push')) return
  const { noPushSourceText: noPushSource } = await import('#fx/rates/push-rate.ts')
  const told = own.length === 0 ? await queryServer<SourcesReport>(options, 'rates') : undefined
  const sources = told ? told.result.sources.map(({ source: id, kind }) => ({ id, kind })) : own
  throw new CommandFailure('fx.no_push_source', `No rate can be set: ${noPushSource(sources)} (docs/fx.md).`)
}

const optionNames: Readonly<Record<string, string>> = {
  source: '--source',
  pair: 'The pair',
  rate: 'The rate',
  time: '--at',
}

/** The members of the call are options here. */
function asOptions(error: unknown): unknown {
  if (!(error instanceof Fault) || error.problems.length === 0) return error
  const message = error.problems.map(
    ({ at, message: problem }) => `${optionNames[at.at(-1) ?? ''] ?? at.join('.')} ${problem}`,
  )
  return new CommandFailure(error.code, `${message.join('; ')}.`)
}

async function history(
  pair: string,
  options: CommonOptions & { source?: string; since: string; until?: string; limit: number },
): Promise<void> {
  const { rateHistory } = await import('#fx/rates/rate-store.ts')
  const found = await withView(options, ({ state, clock }) => {
    const nowMs = clock.now()
    const [base = '', to = ''] = pair.split('/')
    return rateHistory(state, {
      base,
      quote: to,
      ...(options.source !== undefined && { source: options.source }),
      fromMs: parsePastTime(options.since, nowMs, '--since'),
      // Sources may be a little ahead of us.
      untilMs: options.until === undefined ? nowMs + 60_000 : parsePastTime(options.until, nowMs, '--until'),
      rowsMax: options.limit,
    })
  })
  const rows = found.map(({ source, rate, atMs, receivedMs }) => ({
    source,
    pair,
    rate,
    time: isoTimeOrNull(atMs) ?? '',
    received: isoTimeOrNull(receivedMs) ?? '',
  }))
  if (options.json) return printJson(rows)
  if (rows.length === 0) return note(`Nothing about ${pair} in that time; a source may give it the other way round.`)
  print(
    table(
      ['time', 'source', 'rate', 'received'],
      rows.map(({ time, source, rate, received }) => [time, source, rate, received]),
    ),
  )
}

async function quote(id: string, options: CommonOptions): Promise<void> {
  const { readQuote: storedQuote } = await import('#fx/pricing/quotes.ts')
  const found = await withState(options, 'found', (state) => storedQuote(state, id))
  if (!found) throw new CommandFailure('quote.unknown', `There is no quote ${id} in this data folder.`)
  // As it was sent, byte for byte: its hash is in the receipt.
  print(new TextDecoder().decode(found.reply))
}

const isoTimeOrNull = (atMs: number | null | undefined): string | null =>
  atMs == null ? null : new Date(atMs).toISOString()

function pairOf(text: string): string {
  if (!pairShape.test(text)) throw new InvalidArgumentError('It must be two currencies, such as EUR/USD.')
  return text
}

function parseRowCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > rowsMax)
    throw new InvalidArgumentError(`It must be 1 to ${rowsMax}.`)
  return count
}
