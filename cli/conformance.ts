// `tetrad conformance`: checks any server that offers these interfaces against the contract.
import { type Command, InvalidArgumentError } from 'commander'
import type { ConformanceOptions, ConformanceReport } from '#conformance/run-checks.ts'
import type { Samples } from '#conformance/server-under-test.ts'
import manifest from '../package.json' with { type: 'json' }
import { CommandFailure, UsageFailure } from './failure.ts'
import { integerBetween } from './parse-integer.ts'
import { paint, print, printJson, type Tone } from './print.ts'
import { type CommonOptions, httpAddress } from './settings.ts'

type CheckOptions = Pick<ConformanceOptions, 'lowKey' | 'only' | 'specOnly' | 'slow' | 'badKeys'>

interface Options extends CommonOptions, Samples, CheckOptions {
  readonly baseUrl?: string
  readonly url?: string
  readonly explorerUrl?: string
  readonly explorerMetadataUrl?: string
  readonly fxUrl?: string
  readonly validatorUrl?: string
  readonly marketUrl?: string
  readonly key?: string
  readonly timeout: number
  readonly report?: readonly string[]
}

export function addConformance(program: Command): void {
  program
    .command('conformance')
    .description('Check a server against the contract. Each check names its rule. Fails if a check fails.')
    .option('--base-url <url>', 'URL of all interfaces')
    .option('--url <url>', 'same as --base-url')
    .option('--explorer-url <url>', 'URL of account queries, if different')
    .option('--explorer-metadata-url <url>', 'URL of label queries, if different')
    .option('--fx-url <url>', 'URL of quotes, if different')
    .option('--validator-url <url>', 'URL of validator ratings, if different')
    .option('--market-url <url>', 'URL of markets, if different')
    .option(
      '--key <key>',
      'a key of the highest plan (better: TETRAD_KEY, which other users of the machine cannot see)',
    )
    .option('--low-key <key>', 'a key of the lowest plan, which must be refused')
    .option('--address <address>', 'an address with a funding on chain 1 (default: that of the contract’s example)')
    .option('--validators <list>', 'validator indices with duties (default: found automatically)', parseIndices)
    .option('--slug <slug>', 'an existing market (default: that of the contract’s example)')
    .option('--pair <from/to>', 'supported currencies (default: USDC/EURC)', parsePair)
    .option('--only <list>', 'run only checks whose id starts with one of these: explorer.link,fx', parseList)
    .option('--report <file>', 'also write a report to publish: FILE.json or FILE.md; may be repeated', addReportFile)
    .option('--spec-only', 'run only checks of rules from the specification')
    .option('--slow', 'also wait until a download link expires (5 minutes)')
    .option('--bad-keys', 'also send many bad keys; the server then blocks your address for 30 seconds')
    .option(
      '--timeout <ms>',
      'timeout of one request',
      integerBetween(100, Number.MAX_SAFE_INTEGER, 'It must be a number of milliseconds, at least 100.'),
      30_000,
    )
    .addHelpText('after', '\nSet TETRAD_KEY to a key of the server.\nExit codes: 0 the server conforms, 1 it does not.')
    .action((_: unknown, command: Command) => runConformance(command.optsWithGlobals()))
}

async function runConformance(options: Options): Promise<void> {
  const key = options.key ?? process.env.TETRAD_KEY
  if (!key) throw new CommandFailure('conformance.key', 'No key. Most checks need one: set TETRAD_KEY or pass --key.')
  const [{ runChecks }, { formatResult, summaryOf }] = await Promise.all([
    import('#conformance/run-checks.ts'),
    import('#conformance/report.ts'),
  ])
  const { address, validators, slug, pair, timeout, ...checkOptions } = options
  const addresses = addressesOf(options)
  for (const url of new Set([addresses.baseUrl, ...Object.values(addresses.baseUrls)]))
    if (url !== undefined) await refuseUnreachable(url, timeout)
  const report = await runChecks(
    { ...checkOptions, ...addresses, key, samples: { address, validators, slug, pair }, timeoutMs: timeout },
    (result) => {
      if (!options.json) print(paintStart(tones[result.outcome], formatResult(result)))
    },
  )
  const { only } = options
  if (only && report.results.length === 0) {
    throw new UsageFailure('conformance.only', `No check id starts with ${only.join(' or ')}.`)
  }
  await writeReports(options, report)
  if (options.json) printJson(report)
  else print(`\n${paintStart(report.conforms ? 'ok' : 'error', summaryOf(report))}`)
  if (!report.conforms) process.exitCode = 1
}

async function writeReports(options: Options, report: ConformanceReport): Promise<void> {
  if (!options.report) return
  const [{ formatReportJson, formatReportMarkdown }, { writeOut }] = await Promise.all([
    import('#conformance/report.ts'),
    import('./out-file.ts'),
  ])
  const { baseUrl, baseUrls } = addressesOf(options)
  const { only, specOnly, slow, badKeys, lowKey } = options
  const context = {
    version: manifest.version,
    addresses: { ...(baseUrl !== undefined && { all: baseUrl }), ...baseUrls },
    options: [
      ...(only ? [`--only ${only.join()}`] : []),
      ...(specOnly ? ['--spec-only'] : []),
      ...(slow ? ['--slow'] : []),
      ...(badKeys ? ['--bad-keys'] : []),
      ...(lowKey ? ['--low-key'] : []),
    ],
  }
  for (const file of options.report)
    await writeOut(file, [(file.endsWith('.json') ? formatReportJson : formatReportMarkdown)(report, context)])
}

function addReportFile(file: string, files: readonly string[] = []): string[] {
  if (!/\.(json|md)$/.test(file)) throw new InvalidArgumentError('It must end in .json or .md.')
  return [...files, file]
}

const tones = { passed: 'ok', failed: 'error', skipped: 'warning' } as const

/** Paints the text before the first colon or gap: `FAIL`, `Does not conform`. */
const paintStart = (tone: Tone, text: string): string =>
  text.replace(/^\w+( \w+)*(?=:| {2})/, (start) => paint(tone, start))

/** Without a reachable server, every check would fail with the same error. */
async function refuseUnreachable(address: string, timeoutMs: number): Promise<void> {
  const response = await fetch(httpAddress(address), {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'manual',
  }).catch((error: Error & { cause?: { code?: string } }) => {
    const reason = error.cause?.code ?? error.name
    throw new CommandFailure(
      'conformance.unreachable',
      `Cannot reach ${address} (${reason}). Check the URL and whether the server is running.`,
    )
  })
  await response.body?.cancel()
}

function addressesOf(options: Options) {
  const { baseUrl = options.url, explorerUrl, explorerMetadataUrl, fxUrl, validatorUrl, marketUrl } = options
  const baseUrls = {
    ...(explorerUrl && { explorer: explorerUrl }),
    ...(explorerMetadataUrl && { explorerMetadata: explorerMetadataUrl }),
    ...(fxUrl && { fx: fxUrl }),
    ...(validatorUrl && { validators: validatorUrl }),
    ...(marketUrl && { markets: marketUrl }),
  }
  const isComplete = ['explorer', 'fx', 'validators', 'markets'].every((group) => group in baseUrls)
  if (baseUrl === undefined && !isComplete) {
    throw new UsageFailure('conformance.address', 'No server. Pass its URL with --url.')
  }
  return { ...(baseUrl !== undefined && { baseUrl }), baseUrls }
}

function parseIndices(text: string): number[] {
  const indices = parseList(text).map(Number)
  if (!indices.every((index) => Number.isSafeInteger(index) && index >= 0)) {
    throw new InvalidArgumentError('It must be comma-separated validator indices.')
  }
  return indices
}

function parsePair(text: string): { from: string; to: string } {
  const [from, to, ...rest] = text.split('/')
  if (!from || !to || rest.length > 0) throw new InvalidArgumentError('It must be two currencies: USDC/EURC.')
  return { from, to }
}

const parseList = (text: string): string[] => text.split(',').map((item) => item.trim())
