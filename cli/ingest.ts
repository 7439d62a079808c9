// `tetrad ingest evm` indexes a chain and follows its head. `tetrad repair` fills the gaps of an index, or repairs epochs
// of a network (repair-epochs.ts). With a data folder both may run next to a server, because repeated writes
// change nothing. With PostgreSQL they take the lease like another server (behaviour/operations.md#ingest-commands).
import type { Command } from 'commander'
import { faults } from '#api/contract/faults.ts'
import { Fault } from '#core/fault.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import type { IndexProgress } from '#explorer/funding/index/index-chain.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import { epochNumber, namedNetworkOption } from './beacon.ts'
import { withIngest } from './data.ts'
import { exitPartly, UsageFailure } from './failure.ts'
import { forget } from './forget-blocks.ts'
import { type LeaseOptions, runWithLease, waitOption } from './lease.ts'
import { integerBetween } from './parse-integer.ts'
import { counted, note, printResult } from './print.ts'
import { openProgress } from './progress.ts'
import { clock, log, random } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { stopSignal } from './stop.ts'
import { whichChain } from './which-chain.ts'

interface IngestOptions extends CommonOptions, LeaseOptions {
  readonly chain?: string
  readonly once?: boolean
  readonly from?: number
  readonly until?: number
  readonly forgetFrom?: number
  readonly yes?: boolean
}

/** Consecutive failures without progress after which a one-time run gives up. */
const failuresMax = 5
const failureWaitMs = 2000
const blockNumber = integerBetween(0, 999_999_999_999_999, 'It must be a block number.')

/** Returns the command `ingest`, to which other files add sources. */
export function addIngest(program: Command): Command {
  const ingest = program.command('ingest').description('Read a source into the store.')
  ingest
    .command('evm')
    .description(
      'Index every block of a chain, then follow its head until stopped. Continues where it was interrupted.',
    )
    .option('--chain <id>', 'chain id (default: the only configured chain)')
    .option('--once', 'stop at the current head')
    .option(...waitOption)
    .action((_: unknown, command: Command) => runIngest(command.optsWithGlobals(), 'follow'))

  program
    .command('repair')
    .description(
      'Index the missing blocks of a chain. With a range of epochs, read these epochs of a network: stored ones are read ' +
        'again and replaced.',
    )
    .option('--chain <id>', 'chain id (default: the only configured chain)')
    .option('--from <block>', 'first block', blockNumber)
    .option('--until <block>', 'block to stop before', blockNumber)
    .option(
      '--forget-from <block>',
      'first remove everything from this block on; in mode probe, nothing is read again',
      blockNumber,
    )
    .option('--yes', 'remove without asking')
    .addOption(namedNetworkOption('network of the epochs (default: "mainnet")'))
    .option('--from-epoch <n>', 'first epoch to read', epochNumber)
    .option('--until-epoch <n>', 'epoch to stop before', epochNumber)
    .option(...waitOption)
    .addHelpText('after', repairHelp)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals()
      const { isAboutEpochs, repairEpochs } = await import('./repair-epochs.ts')
      await (isAboutEpochs(options) ? repairEpochs(options) : runIngest(options, 'repair'))
    })
  return ingest
}

const repairHelp = `
If a chain has changed below its finalized blocks, remove the blocks that differ and index them again:
  $ tetrad repair --chain 1 --forget-from 19000000

If stored figures of validators are wrong or damaged, for example after a node returned wrong data:
  $ tetrad repair --network mainnet --from-epoch 450000 --until-epoch 450225
This reads stored epochs again, with the other stored epochs of the same half days, and replaces the stored data. Data
that the node cannot supply stays. It also reads epochs that were never read, such as days before the first start.`

type Totals = ReturnType<typeof createTotals>

const createTotals = () => ({ blocks: 0, rows: 0, head: 0, revertedBlocks: 0, leftOut: 0 })

async function runIngest(options: IngestOptions, task: 'follow' | 'repair'): Promise<void> {
  validateSpan(options)
  const { settings } = await configOf(options)
  const [{ requireNode }, { createExplorerCaches }] = await Promise.all([
    import('#explorer/nodes.ts'),
    import('#explorer/context.ts'),
  ])
  const signal = stopSignal(clock)
  const totals = createTotals()
  const startMs = clock.monotonicMs()
  await withIngest(options, 'made', async (ingest) => {
    const explorer = createExplorerCaches()
    const context: ExplorerContext = { ingest, settings, clock, random, log, explorer }
    const node = requireNode(context, whichChain(settings, options.chain))
    const progress = openProgress(options.json === true)
    const share = () => nodeShare(node, clock.monotonicMs() - startMs)
    const report = (event: IndexProgress) => {
      addEvent(totals, event)
      if (event.is === 'plan') progress.plan(event.blocks)
      // While following, the log has it.
      if (event.is === 'unreadable' && (task === 'repair' || options.once === true)) {
        note(`tetrad: block ${event.block} cannot be read: ${event.reason}`)
        process.exitCode = exitPartly
      }
      if (event.is === 'written') {
        const text = `waiting for the node ${Math.round(share() * 100)} % of the time  ${totals.rows} rows`
        progress.step(event.blocks, text)
      }
    }
    const { forgetFrom, yes = false } = options
    const run = async (leased: ExplorerContext, signal: AbortSignal) => {
      // A wrong configuration fails here at once; later failures are retried.
      await node.capabilities()
      if (forgetFrom !== undefined) await forget(leased.ingest, node, { from: forgetFrom, yes }, signal)
      if (forgetFrom !== undefined && node.chain.mode === 'probe')
        return note(`chain ${node.chain.id}: nothing is read again, because the mode is probe.`)
      await runTask(leased, node, options, task, report, signal)
    }
    await runWithLease(context, options, 'chains', run, signal)
    progress.end()
    printIngestReport(node.chain.id, options, totals, (clock.monotonicMs() - startMs) / 1000, share())
  })
}

function validateSpan({ from = 0, until = Infinity, forgetFrom }: IngestOptions): void {
  const problem =
    from >= until
      ? `--from ${from} must be less than --until ${until}.`
      : forgetFrom !== undefined && (from > 0 || until < Infinity)
        ? '--forget-from cannot be combined with --from and --until: it reads all missing blocks.'
        : undefined
  if (problem !== undefined) throw new UsageFailure('repair.options', problem)
}

/** Retries temporary failures. */
async function runTask(
  context: ExplorerContext,
  node: ChainNode,
  { once, from = 0, until = Infinity }: IngestOptions,
  task: 'follow' | 'repair',
  report: (event: IndexProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const [{ catchUpIndex, repairIndex }, { ChainContradiction }, { followChain }] = await Promise.all([
    import('#explorer/funding/index/index-chain.ts'),
    import('#explorer/funding/index/continuity.ts'),
    import('#explorer/funding/index/start-chains.ts'),
  ])
  if (task === 'follow' && !once) return followChain(context, node, signal, report)
  const isTransient = (error: unknown) =>
    error instanceof Fault && !(error instanceof ChainContradiction) && faults[error.code].retry === 'later'
  for (let failures = 0; !signal.aborted; ) {
    const version = context.ingest.version()
    try {
      return await (task === 'follow'
        ? catchUpIndex(context, node, report, signal)
        : repairIndex(context, node, { from, until }, report, signal))
    } catch (error) {
      // Every write resets the count of failures.
      failures = context.ingest.version() === version ? failures + 1 : 1
      if (!isTransient(error) || failures >= failuresMax) throw error
      note(`tetrad: ${(error as Fault).message}; retrying`)
      await clock.sleep(failureWaitMs, signal)
    }
  }
}

function addEvent(totals: Totals, event: IndexProgress): void {
  if (event.is === 'unreadable') totals.leftOut += 1
  if (event.is === 'written') {
    totals.blocks += event.blocks
    totals.rows += event.rows
  }
  if (event.is === 'unfinalized') {
    totals.head = event.head
    totals.revertedBlocks += event.revertedBlocks
  }
}

const nodeShare = (node: ChainNode, tookMs: number): number =>
  Math.min(1, node.rpc.counts().waitedMs / Math.max(1, tookMs))

function printIngestReport(
  chain: string,
  options: IngestOptions,
  totals: Totals,
  seconds: number,
  share: number,
): void {
  const blocksPerSecond = Math.round(totals.blocks / Math.max(seconds, 0.001))
  const rounded = { seconds: Number(seconds.toFixed(3)), nodeShare: Number(share.toFixed(3)) }
  const text = `chain ${chain}: ${counted(totals.blocks, 'final block')} indexed, ${counted(totals.rows, 'first funding')} written, ${seconds.toFixed(1)} s (${blocksPerSecond} blocks/s, waiting for the node ${Math.round(share * 100)} % of the time)`
  printResult(options, { chain, ...totals, ...rounded, blocksPerSecond }, text)
  if (totals.leftOut > 0)
    note(
      `tetrad: ${counted(totals.leftOut, 'block')} left out. Add a node that can trace them (explorer.chains[].rpc), then run: tetrad repair --chain ${chain}`,
    )
}
