// `tetrad trail <address>`: who funded an address, who funded that one, and so on. Works from the store and the
// configured nodes, beside a running server or without one; no key is needed.
import { type Command, InvalidArgumentError } from 'commander'
import type { AddressLabel, Trail, TrailHop } from '#api/wire/trail.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { confidenceText } from './confidence-text.ts'
import { withState } from './data.ts'
import { CommandFailure, exitPartly } from './failure.ts'
import { oneChain } from './labels-options.ts'
import { bold, minuteText, note, print, printJson } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { whichChain } from './which-chain.ts'

interface TrailOptions extends CommonOptions {
  readonly chain?: string
  readonly depth: number
  readonly timeout: number
}

/** Deeper hops are not moved further to the right. */
const indentMax = 20

export function addTrail(program: Command): void {
  program
    .command('trail')
    .description('Follow first fundings from an address back to a named one.')
    .argument('<address>', 'where to start; 0x and 40 hexadecimal digits')
    .option('--chain <id>', 'chain id (default: 1, or the only one that is configured)', oneChain)
    .option('--depth <hops>', 'how far to go, at most 100', parseBetween(1, 100), 20)
    .option('--timeout <seconds>', 'how long to search', parseBetween(1, 3600), 60)
    .action((address: string, _: unknown, command: Command) => printTrail(address, command.optsWithGlobals()))
}

async function printTrail(given: string, options: TrailOptions): Promise<void> {
  const address = given.toLowerCase()
  if (!/^0x[0-9a-f]{40}$/.test(address)) {
    throw new CommandFailure('trail.address', `${given} is no address; it is 0x and 40 hexadecimal digits.`)
  }
  const [{ followTrail }, { createExplorerCaches }, { settings }, { systemClock }, { systemRandom }, { openLog }] =
    await Promise.all([
      import('#explorer/trail/trail.ts'),
      import('#explorer/context.ts'),
      configOf(options),
      import('#runtime/clock.ts'),
      import('#runtime/random.ts'),
      import('#runtime/log.ts'),
    ])
  const chain = whichChain(settings, options.chain, '1')
  const log = openLog('warn', (line) => process.stderr.write(line))
  // What a node tells is kept, so a folder is made for it; without one there is only what was kept before.
  const hasNode = settings.explorer.chains.some(({ id, rpc }) => id === chain && rpc.length > 0)
  const { result, confidence, ...trail } = await withState(options, hasNode ? 'made' : 'found', (state) => {
    const context: ExplorerContext = {
      state,
      settings,
      clock: systemClock,
      random: systemRandom,
      log,
      explorer: createExplorerCaches(),
    }
    const bounds = { depth: options.depth, timeoutMs: options.timeout * 1000 }
    return followTrail(context, chain, address, bounds)
  })
  if (partly.includes(result.end.reason)) process.exitCode = exitPartly
  if (options.json) return printJson({ ...result, ...confidence, ...trail })
  print(treeOf(result))
  const confidenceLine = confidenceText({ ...confidence, ...trail })
  if (confidenceLine) note(confidenceLine)
}

/** Ends that another try, or another node, may get beyond. */
const partly: readonly string[] = ['unknown', 'time']

/** The address, below it each funder, and at the foot why it ends there. */
export function treeOf({ address, label, hops, end }: Trail): string {
  return [
    `${bold(address)}${formatLabel(label)}`,
    ...hops.flatMap((hop, at) => formatHop(hop, '   '.repeat(Math.min(at, indentMax)))),
    `\n${bold(end.reason)}  ${end.message}`,
  ].join('\n')
}

function formatHop(hop: TrailHop, indent: string): string[] {
  const { block, timeStamp, fundingAddress, fundingTxn, value, label } = hop
  const when = minuteText(Number(timeStamp) * 1000)
  return [
    `${indent}└─ ${bold(fundingAddress)}${formatLabel(label)}`,
    `${indent}   paid ${coinText(value)} in block ${block}, ${when}, ${fundingTxn}`,
  ]
}

const formatLabel = (label: AddressLabel | undefined): string =>
  label ? `  ${label.name} (${[label.entity, label.source, `${label.confidence} %`].filter(Boolean).join(', ')})` : ''

/** Wei as the chain's coin, every digit of it. */
export function coinText(wei: string): string {
  const digits = wei.padStart(19, '0')
  const fraction = digits.slice(-18).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, -18) : `${digits.slice(0, -18)}.${fraction}`
}

const parseBetween = (min: number, max: number) => (text: string) => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new InvalidArgumentError(`It must be ${min} to ${max}.`)
  }
  return value
}
