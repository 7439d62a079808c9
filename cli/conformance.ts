// `tetrad conform`: puts any server that claims these interfaces to the test, and says where it departs from them.
import { type Command, InvalidArgumentError } from 'commander'
import { CommandFailure } from './failure.ts'
import { print, printJson } from './print.ts'
import { type CommonOptions, httpAddress } from './settings.ts'

interface Options extends CommonOptions {
  readonly baseUrl?: string
  readonly url?: string
  readonly explorerUrl?: string
  readonly explorerMetadataUrl?: string
  readonly fxUrl?: string
  readonly validatorUrl?: string
  readonly marketUrl?: string
  readonly key?: string
  readonly lowKey?: string
  readonly address?: string
  readonly validators?: readonly number[]
  readonly slug?: string
  readonly pair?: { readonly from: string; readonly to: string }
  readonly only?: readonly string[]
  readonly specOnly?: boolean
  readonly slow?: boolean
  readonly guard?: boolean
  readonly timeout: number
}

export function addConform(program: Command): void {
  program
    .command('conform')
    .description(
      'Put a server to the test: every check of the contract, with its section or decision; fails if one does.',
    )
    .option('--base-url <url>', 'where all interfaces are')
    .option('--url <url>', 'the same, as ask has it')
    .option('--explorer-url <url>', 'where account queries are, if elsewhere')
    .option('--explorer-metadata-url <url>', 'where label queries are, if elsewhere')
    .option('--fx-url <url>', 'where quotes are, if elsewhere')
    .option('--validator-url <url>', 'where validator ratings are, if elsewhere')
    .option('--market-url <url>', 'where markets are, if elsewhere')
    .option('--key <key>', 'a key of the highest plan; TETRAD_KEY keeps it out of the list of processes')
    .option('--low-key <key>', 'a key of the lowest plan, to see it refused')
    .option('--address <address>', 'an address that has been funded on chain 1 (default: the example’s)')
    .option('--validators <list>', 'validator indices with duties (default: some that are found)', indexList)
    .option('--slug <slug>', 'a market that is there (default: the example’s)')
    .option('--pair <from/to>', 'currencies that are offered (default: USDC/EURC)', pair)
    .option('--only <list>', 'only checks whose id begins so: explorer.link, fx, markets.record', parseList)
    .option('--spec-only', 'leave out what the specification itself does not say')
    .option('--slow', 'also wait for a download link to expire: five minutes')
    .option('--guard', 'also show many bad keys, which closes this address for half a minute')
    .option('--timeout <ms>', 'how long one answer may take', milliseconds, 30_000)
    .addHelpText(
      'after',
      '\nExample:\n  $ TETRAD_KEY=… tetrad conform --url http://127.0.0.1:8080\n\nExit codes: 0 it conforms, 1 it does not.',
    )
    .action((_: unknown, command: Command) => runConformance(command.optsWithGlobals()))
}

async function runConformance(options: Options): Promise<void> {
  const key = options.key ?? process.env.TETRAD_KEY
  if (!key) throw new CommandFailure('conform.key', 'Give a key with --key or TETRAD_KEY; most checks need one.')
  const [{ conform: runChecks }, { formatResult: lineOf, summaryOf }] = await Promise.all([
    import('#conformance/run-checks.ts'),
    import('#conformance/report.ts'),
  ])
  const { address, validators, slug, pair: offered, only, specOnly, slow, guard, timeout } = options
  const addresses = addressesOf(options)
  for (const one of new Set([addresses.baseUrl, ...Object.values(addresses.baseUrls)]))
    if (one !== undefined) await refuseUnreachable(one, timeout)
  const report = await runChecks(
    {
      ...addresses,
      key,
      lowKey: options.lowKey,
      samples: { address, validators, slug, pair: offered },
      only,
      specOnly: specOnly === true,
      slow: slow === true,
      guard: guard === true,
      timeoutMs: timeout,
    },
    (result) => {
      if (!options.json) print(lineOf(result))
    },
  )
  if (only && report.results.length === 0) {
    throw new CommandFailure('conform.only', `No check begins with ${only.join(' or ')}.`)
  }
  if (options.json) printJson(report)
  else print(`\n${summaryOf(report)}`)
  if (!report.conforms) process.exitCode = 1
}

/** Whatever it answers is for the checks to judge; without an answer each of them would say the same. */
async function refuseUnreachable(address: string, timeoutMs: number): Promise<void> {
  const response = await fetch(httpAddress(address), {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'manual',
  }).catch((error: Error & { cause?: { code?: string } }) => {
    const reason = error.cause?.code ?? error.name
    throw new CommandFailure('conform.silent', `${address} does not answer (${reason}). Is a server running there?`)
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
    throw new CommandFailure('conform.address', 'Say where the server is with --url.')
  }
  return { ...(baseUrl !== undefined && { baseUrl }), baseUrls }
}

function indexList(text: string): number[] {
  const indices = parseList(text).map(Number)
  if (!indices.every((index) => Number.isSafeInteger(index) && index >= 0)) {
    throw new InvalidArgumentError('It must be validator indices with commas between.')
  }
  return indices
}

function pair(text: string): { from: string; to: string } {
  const [from, to, ...rest] = text.split('/')
  if (!from || !to || rest.length > 0) throw new InvalidArgumentError('It must be two currencies: USDC/EURC.')
  return { from, to }
}

const parseList = (text: string): string[] => text.split(',').map((word) => word.trim())

function milliseconds(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 100) throw new InvalidArgumentError('It must be milliseconds, at least 100.')
  return count
}
