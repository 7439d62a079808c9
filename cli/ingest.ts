// `tetrad ingest evm` reads a chain into the store and follows its head; `tetrad repair` fills the holes of one, or reads epochs of a network
// again (repair-epochs.ts). Beside the one
// server of a data folder both may run: what they write is the same whoever writes it, and however often. Of several servers
// on one PostgreSQL they are one more (behaviour/operations.md#ingest-commands).
import { type Command, InvalidArgumentError, Option } from 'commander'
import { faults } from '#api/faults.ts'
import { networks } from '#api/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import type { IndexProgress as Event } from '#explorer/funding/index/index-chain.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import { epochNumber } from './beacon.ts'
import { withState } from './data.ts'
import { CommandFailure, exitPartly } from './failure.ts'
import { forget } from './forget-blocks.ts'
import { type LeaseOptions, runWithLease, waitOption } from './lease.ts'
import { note, print, printJson } from './print.ts'
import { openProgress } from './progress.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { whichChain } from './which-chain.ts'

interface IngestOptions extends CommonOptions, LeaseOptions {
  readonly chain?: string
  readonly once?: boolean
  readonly from?: number
  readonly until?: number
  readonly forgetFrom?: number
  readonly yes?: boolean
}

/** Failures in a row, without a single block between them, after which a one-time run gives up. */
const failuresMax = 5
const failureWaitMs = 2000

export function addIngest(program: Command): void {
  const ingest = program.command('ingest').description('Read a source into the store.')
  ingest
    .command('evm')
    .description('Read every block of a chain, then follow its head until stopped. Goes on where it was interrupted.')
    .option('--chain <id>', 'which of the configured chains (default: the only one)')
    .option('--once', 'end when the present head is reached')
    .option(...waitOption)
    .action((_: unknown, command: Command) => runIngest(command.optsWithGlobals(), 'follow'))

  program
    .command('repair')
    .description(
      'Read the blocks of a chain that are missing between the first and the newest final one; or, with a range of epochs, read stored ' +
        'epochs of a network again and replace what is stored.',
    )
    .option('--chain <id>', 'which of the configured chains (default: the only one)')
    .option('--from <block>', 'first block to look at', blockNumber)
    .option('--until <block>', 'block to stop before', blockNumber)
    .option(
      '--forget-from <block>',
      'first forget what was read from this block on; in mode probe, nothing is read again',
      blockNumber,
    )
    .option('--yes', 'forget without asking')
    .addOption(new Option('--network <name>', 'which network, for epochs (default: "mainnet")').choices(networks))
    .option('--from-epoch <n>', 'first epoch to read again', epochNumber)
    .option('--until-epoch <n>', 'epoch to stop before', epochNumber)
    .option(...waitOption)
    .addHelpText('after', repairHelp)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals()
      const { isAboutEpochs, repairEpochs } = await import('./repair-epochs.ts')
      await (isAboutEpochs(options) ? repairEpochs(options) : runIngest(options, 'repair'))
    })
}

const repairHelp = `
When a chain has changed below blocks that were final, its nodes are refused. If they are right:
  $ tetrad repair --chain 1 --forget-from 19000000        forget from there on, and read it again

When stored figures of validators are wrong or damaged, for example after a node gave wrong answers:
  $ tetrad repair --network mainnet --from-epoch 450000 --until-epoch 450225
reads these epochs again, with the other stored epochs of the same half days, and replaces what is stored of them. What the
node cannot supply stays as it was.`

interface Sum {
  blocks: number
  rows: number
  head: number
  takenBack: number
}

async function runIngest(options: IngestOptions, task: 'follow' | 'repair'): Promise<void> {
  validateSpan(options)
  const { settings } = await configOf(options)
  const [
    { requireNode: needNode },
    { createExplorerCaches },
    { systemClock },
    { systemRandom },
    { openLog },
    { untilStopped },
  ] = await Promise.all([
    import('#explorer/nodes.ts'),
    import('#explorer/context.ts'),
    import('#runtime/clock.ts'),
    import('#runtime/random.ts'),
    import('#runtime/log.ts'),
    import('./stop.ts'),
  ])
  const stop = new AbortController()
  const sum: Sum = { blocks: 0, rows: 0, head: 0, takenBack: 0 }
  const startMs = systemClock.monotonicMs()
  await withState(options, 'made', async (state) => {
    const log = openLog('warn', (line) => process.stderr.write(line))
    const explorer = createExplorerCaches()
    const context: ExplorerContext = { state, settings, clock: systemClock, random: systemRandom, log, explorer }
    const node = needNode(context, whichChain(settings, options.chain))
    const progress = openProgress(options.json === true, () => systemClock.monotonicMs())
    const share = () => nodeShare(node, systemClock.monotonicMs() - startMs)
    const report = (event: Event) => {
      addEvent(sum, event)
      if (event.is === 'plan') progress.plan(event.blocks)
      // Following the chain logs it.
      if (event.is === 'unreadable' && (task === 'repair' || options.once === true)) {
        note(`tetrad: block ${event.block} cannot be read: ${event.reason}`)
        process.exitCode = exitPartly
      }
      if (event.is === 'range') {
        const text = `node ${Math.round(share() * 100)} % of the time  ${sum.rows} rows`
        progress.step(event.range.until - event.range.from, text)
      }
    }
    const { forgetFrom, yes = false } = options
    const turn = async (own: ExplorerContext, signal: AbortSignal) => {
      // A mistake is told at once; what fails later is waited for.
      await node.capabilities()
      if (forgetFrom !== undefined) await forget(own.state, node, { from: forgetFrom, yes }, signal)
      if (forgetFrom !== undefined && node.chain.mode === 'probe')
        return note(`chain ${node.chain.id}: nothing is read again, because its mode is probe.`)
      await working(own, node, options, task, report, signal)
    }
    const work = runWithLease(context, options, 'chains', turn, stop.signal)
    const stopped = untilStopped(systemClock, async () => stop.abort())
    await Promise.race([work, stopped])
    await work
    progress.end()
    printIngestReport(node.chain.id, options, sum, (systemClock.monotonicMs() - startMs) / 1000, share())
  })
}

/** What cannot be meant is said before anything is opened. */
function validateSpan({ from = 0, until = Infinity, forgetFrom }: IngestOptions): void {
  const problem =
    from >= until
      ? `--from ${from} is not before --until ${until}: there would be nothing to read.`
      : forgetFrom !== undefined && (from > 0 || until < Infinity)
        ? '--forget-from reads all that is missing afterwards: give it without --from and --until.'
        : undefined
  if (problem !== undefined) throw new CommandFailure('repair.options', problem)
}

async function working(
  context: ExplorerContext,
  node: ChainNode,
  { once, from = 0, until = Infinity }: IngestOptions,
  task: 'follow' | 'repair',
  report: (event: Event) => void,
  signal: AbortSignal,
): Promise<void> {
  const [{ catchUpIndex: catchUp, repairIndex: repair }, { ChainContradiction }, { followChain: follow }] =
    await Promise.all([
      import('#explorer/funding/index/index-chain.ts'),
      import('#explorer/funding/index/continuity.ts'),
      import('#explorer/funding/index/start.ts'),
    ])
  if (task === 'follow' && !once) return follow(context, node, signal, report)
  const work = () =>
    task === 'follow' ? catchUp(context, node, report, signal) : repair(context, node, { from, until }, report, signal)
  const isTransient = (error: unknown) =>
    error instanceof Fault && !(error instanceof ChainContradiction) && faults[error.code].retry === 'later'
  await retryTransient(context, work, isTransient, signal)
}

/** Again after what may pass; every block that was read in between counts as a new start. */
async function retryTransient(
  context: ExplorerContext,
  work: () => Promise<void>,
  isTransient: (error: unknown) => boolean,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    const version = context.state.version()
    try {
      return await work()
    } catch (error) {
      failures = context.state.version() === version ? failures + 1 : 1
      if (!isTransient(error) || failures >= failuresMax) throw error
      note(`tetrad: ${(error as Fault).message}; trying again`)
      await context.clock.sleep(failureWaitMs, signal)
    }
  }
}

function addEvent(sum: Sum, event: Event): void {
  if (event.is === 'range') {
    sum.blocks += event.range.until - event.range.from
    sum.rows += event.rows
  }
  if (event.is === 'near') {
    sum.head = event.head
    sum.takenBack += event.revertedBlocks
  }
}

const nodeShare = (node: ChainNode, tookMs: number): number =>
  Math.min(1, node.rpc.counts().waitedMs / Math.max(1, tookMs))

function printIngestReport(chain: string, { json }: IngestOptions, sum: Sum, seconds: number, share: number): void {
  const blocksPerSecond = Math.round(sum.blocks / Math.max(seconds, 0.001))
  if (json) {
    const rounded = { seconds: Number(seconds.toFixed(3)), nodeShare: Number(share.toFixed(3)) }
    printJson({ chain, ...sum, ...rounded, blocksPerSecond })
    return
  }
  print(
    `chain ${chain}: ${sum.blocks} final blocks read, ${sum.rows} first fundings written, ${seconds.toFixed(1)} s (${blocksPerSecond} blocks/s, node ${Math.round(share * 100)} % of the time)`,
  )
}

function blockNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a block number.')
  return Number(text)
}
