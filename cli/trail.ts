// `tetrad trail <address>`: follows first fundings back to a labelled address. Uses the store and the configured nodes,
// with or without a running server, and needs no key.
import { type Command, InvalidArgumentError } from 'commander'
import type { AddressLabel, Trail, TrailHop } from '#api/contract/wire/trail.ts'
import { formatDecimal } from '#core/decimal.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { confidenceText } from '#operations/confidence-text.ts'
import { coinOf } from '#shared/chain-names.ts'
import { withIngest } from './data.ts'
import { describeFailure, exitPartly } from './failure.ts'
import { oneChain } from './labels-options.ts'
import { integerBetween } from './parse-integer.ts'
import { bold, minuteText, note, print, printJson } from './print.ts'
import { withActivity } from './progress.ts'
import { clock, log, random } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { whichChain } from './which-chain.ts'

interface TrailOptions extends CommonOptions {
  readonly chain?: string
  readonly depth: number
  readonly timeout: number
}

/** Deeper hops are not indented further. */
const indentMax = 20

export function addTrail(program: Command): void {
  program
    .command('trail')
    .description('Follow first fundings from an address back to a labelled one.')
    .argument('<address>', 'address: 0x and 40 hexadecimal digits', parseAddress)
    .option('--chain <id>', 'chain id (default: 1, or the only configured chain)', oneChain)
    .option('--depth <hops>', 'maximum number of hops, at most 100', integerBetween(1, 100), 20)
    .option('--timeout <seconds>', 'time limit', integerBetween(1, 3600), 60)
    .action((address: string, _: unknown, command: Command) => printTrail(address, command.optsWithGlobals()))
}

function parseAddress(text: string): string {
  const address = text.toLowerCase()
  if (!/^0x[0-9a-f]{40}$/.test(address)) throw new InvalidArgumentError('It must be 0x and 40 hexadecimal digits.')
  return address
}

async function printTrail(address: string, options: TrailOptions): Promise<void> {
  const [{ followTrail }, { createExplorerCaches }, { settings }] = await Promise.all([
    import('#explorer/extensions/trail/follow-trail.ts'),
    import('#explorer/context.ts'),
    configOf(options),
  ])
  const chain = whichChain(settings, options.chain, '1')
  // Results from a node are stored, so the data folder is created. Without a node it must exist.
  const hasNode = settings.explorer.chains.some(({ id, rpc }) => id === chain && rpc.length > 0)
  let cause: string | undefined
  const follow = () =>
    withIngest(options, hasNode ? 'made' : 'found', (ingest) => {
      const context: ExplorerContext = { ingest, settings, clock, random, log, explorer: createExplorerCaches() }
      const bounds = { depth: options.depth, timeoutMs: options.timeout * 1000 }
      return followTrail(context, chain, address, bounds, (fault) => {
        cause = describeFailure(fault).message
      })
    })
  const searching = `Following the fundings of ${address}`
  const { result, confidence, ...trail } = await withActivity(searching, follow, { quiet: options.json })
  if (retryableEnds.includes(result.end.reason)) process.exitCode = exitPartly
  if (options.json) return printJson({ ...result, ...confidence, ...trail, cause })
  print(treeOf(result))
  if (cause !== undefined && cause !== result.end.message) note(`Cause: ${cause}`)
  const confidenceLine = confidenceText({ ...confidence, ...trail })
  if (confidenceLine) note(confidenceLine)
}

/** Reasons that a retry or another node may resolve. */
const retryableEnds: readonly string[] = ['unknown', 'time']

export function treeOf({ chainid, address, label, hops, end }: Trail): string {
  return [
    `${bold(address)}${formatLabel(label)}`,
    ...hops.flatMap((hop, at) => formatHop(chainid, hop, '   '.repeat(Math.min(at, indentMax)))),
    `\n${bold(end.reason)}  ${end.message}`,
  ].join('\n')
}

function formatHop(chain: string, hop: TrailHop, indent: string): string[] {
  const { block, timeStamp, fundingAddress, fundingTxn, value, label } = hop
  const when = minuteText(Number(timeStamp) * 1000)
  return [
    `${indent}└─ ${bold(fundingAddress)}${formatLabel(label)}`,
    `${indent}   paid ${coinText(value, chain)} in block ${block}, ${when}, ${fundingTxn}`,
  ]
}

const formatLabel = (label: AddressLabel | undefined): string =>
  label ? `  ${label.name} (${[label.entity, label.source, `${label.confidence} %`].filter(Boolean).join(', ')})` : ''

/** Converts wei to the chain's coin, exactly. */
export const coinText = (wei: string, chain: string): string => `${coinNumber(wei)} ${coinOf(chain)}`

export const coinNumber = (wei: string): string =>
  formatDecimal({ digits: BigInt(wei), scale: 18 }).replace(/\.?0+$/, '')
