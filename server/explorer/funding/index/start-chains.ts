// Background work of the explorer: tests the capabilities of every node and keeps indexed chains up to date. Also
// reports their health for /readyz and the doctor.

import { errorMessage } from '#core/error-message.ts'
import { type NodeFork, readNodeForks } from '#explorer/chain-forks.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { type ChainNode, findNode, isAwaitingFinality, nodeHealth } from '#explorer/nodes.ts'
import type { Finding } from '#http/health.ts'
import { logOutcome, poll } from '#ingest/poll.ts'
import { recordStep, type StreamContext } from '#ingest/stream-progress.ts'
import { headerCall } from '#sources/evm/blocks.ts'
import { capabilityNames, describeLimitations } from '#sources/evm/capabilities.ts'
import { chainStream, findStaleHead, getChainCoverage } from '../chain-coverage.ts'
import { readDistrustedNodes } from '../grounds.ts'
import { describeDistrust } from '../probe/search-account.ts'
import { NodesDisagree } from './compare-nodes.ts'
import { ChainContradiction, verifyContinuity } from './continuity.ts'
import { catchUpIndex, type IndexProgress, type OnIndexProgress } from './index-chain.ts'
import {
  describeContradictedLogs,
  describeFailedPasses,
  describeUnreadable,
  describeUnverifiedHeaders,
  getIndexProblems,
  recordFailedPass,
} from './problems.ts'

/** A first pass may take days. Each range has its own time limits. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000
const capabilitiesEveryMs = 3_600_000
const forksEveryMs = 3_600_000

const configuredNodes = (context: ExplorerContext): ChainNode[] =>
  context.settings.groups.explorer.enabled
    ? context.settings.explorer.chains.flatMap(({ id }) => findNode(context, id) ?? [])
    : []

export interface ChainReports {
  /** Called once for each chain. The result is called after each step of its index. */
  readonly onProgress: (chain: string) => OnIndexProgress
  /** The problem of each node, whenever one may have changed. */
  readonly onTroubles: (chain: string, troubles: readonly (string | undefined)[]) => void
  /** The next fork of each node, every hour. */
  readonly onForks: (chain: string, forks: readonly NodeFork[]) => Promise<void>
}

/** Runs until the signal aborts. */
export async function startChains(
  context: ExplorerContext & StreamContext,
  signal: AbortSignal,
  reports: ChainReports = { onProgress: () => () => {}, onTroubles: () => {}, onForks: async () => {} },
): Promise<void> {
  await Promise.all(
    configuredNodes(context).flatMap((node) => {
      const { id, mode } = node.chain
      const onAttempt = () =>
        reports.onTroubles(
          id,
          node.rpc.health().map(({ trouble }) => trouble),
        )
      const onProgress = mode === 'probe' ? undefined : recordSteps(context, id, reports.onProgress(id))
      return [
        reportCapabilities(context, node, signal, onAttempt),
        followForks(context, node, signal, (forks) => reports.onForks(id, forks)),
        ...(onProgress ? [followChain(context, node, signal, onProgress, onAttempt)] : []),
      ]
    }),
  )
}

export function recordSteps(context: StreamContext, chain: string, onProgress: OnIndexProgress): OnIndexProgress {
  recordStep(context, chainStream(chain))
  return (progress) => {
    if (progress.is === 'written' || progress.is === 'unfinalized') recordStep(context, chainStream(chain))
    onProgress(progress)
  }
}

/** Indexes the chain and follows its head until the signal aborts. */
export function followChain(
  context: ExplorerContext,
  node: ChainNode,
  signal: AbortSignal,
  onProgress: OnIndexProgress,
  onAttempt: () => void = () => {},
): Promise<void> {
  const chain = node.chain.id
  const problems = getIndexProblems(context, chain)
  // The thread that handles requests gets a copy with each change of the map.
  const shareProblems = () => void context.explorer.indexProblems.set(chain, problems)
  const logAndReport = (progress: IndexProgress) => {
    if (progress.is === 'written') Object.assign(problems, { failed: undefined, isWaiting: false })
    shareProblems()
    logProgress(context, chain, progress)
    onProgress(progress)
  }
  return poll(
    context,
    {
      everyMs: context.settings.explorer.index.everyMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      work: (stop) => {
        problems.failedRange = undefined
        return catchUpIndex(context, node, logAndReport, stop)
      },
      report: (outcome) => {
        const isDisagreement = outcome.is === 'failed' && outcome.error instanceof NodesDisagree
        const isStopped = outcome.is === 'failed' && (isDisagreement || outcome.error instanceof ChainContradiction)
        // Another failure does not prove that the contradiction is resolved.
        if (isStopped) Object.assign(problems, { stopped: errorMessage(outcome.error), isDisagreement })
        else if (outcome.is === 'done') Object.assign(problems, { stopped: undefined, isDisagreement: false })
        problems.isWaiting = outcome.is === 'failed' && isAwaitingFinality(node)
        if (outcome.is === 'done' || problems.isWaiting) problems.failed = undefined
        else recordFailedPass(problems, errorMessage(outcome.error))
        shareProblems()
        onAttempt()
        const failed = isStopped ? 'index stopped' : 'chain could not be read'
        logOutcome(context, outcome, { chain }, { failed, recovered: 'chain is readable again' })
      },
    },
    signal,
  )
}

function logProgress(context: ExplorerContext, chain: string, progress: IndexProgress): void {
  if (progress.is === 'plan' && progress.blocks > context.settings.explorer.index.rangeBlocks) {
    context.log.info({ chain, blocks: progress.blocks }, 'indexing blocks')
  }
  if (progress.is === 'unreadable') {
    const { block, reason } = progress
    context.log.warn({ chain, block, reason }, 'block skipped: it cannot be read')
  }
  if (progress.is === 'unfinalized' && progress.revertedBlocks > 0) {
    context.log.info({ chain, blocks: progress.revertedBlocks }, 'blocks removed by a reorganisation')
  }
}

/** Logs the capabilities of each node, at the start and whenever they change. */
function reportCapabilities(
  context: ExplorerContext,
  node: ChainNode,
  signal: AbortSignal,
  onAttempt: () => void,
): Promise<void> {
  const chain = node.chain.id
  const logged = new Map<string, string>()
  const isNew = (subject: string, text: string) =>
    logged.get(subject) !== text && logged.set(subject, text) !== undefined
  return poll(
    context,
    {
      everyMs: capabilitiesEveryMs,
      timeoutMs: 120_000,
      backoffMaxMs,
      work: async () => ({ nodes: await node.each(), combined: await node.capabilities() }),
      report: (outcome) => {
        const texts = { failed: 'no node is reachable', recovered: 'a node is reachable again' }
        logOutcome(context, outcome, { chain }, texts)
        onAttempt()
        if (outcome.is === 'failed') return
        const { nodes, combined } = outcome.value
        for (const [index, { name, can, trouble }] of nodes.entries()) {
          const capabilities = capabilityNames.filter((capability) => can?.has[capability])
          if (!isNew(`node ${index}`, trouble === undefined ? capabilities.join() : 'unreachable')) continue
          if (trouble === undefined)
            context.log.info({ chain, node: name, head: can?.head, capabilities }, 'node capabilities')
          else context.log.warn({ chain, node: name, reason: trouble }, 'node is not reachable')
        }
        const limitations = describeLimitations(combined, node.chain)
        if (isNew('limitations', limitations.join())) for (const text of limitations) context.log.warn({ chain }, text)
      },
    },
    signal,
  )
}

/** Reads the next fork of each node, which may be moved or withdrawn. */
export function followForks(
  context: ExplorerContext,
  node: ChainNode,
  signal: AbortSignal,
  onForks: (forks: readonly NodeFork[]) => Promise<void>,
): Promise<void> {
  const chain = node.chain.id
  return poll(
    context,
    {
      everyMs: forksEveryMs,
      timeoutMs: 120_000,
      backoffMaxMs,
      work: async () => {
        const forks = await readNodeForks(node.rpc, context.clock.monotonicMs() + checkTimeoutMs)
        context.explorer.forks.set(chain, forks)
        await onForks(forks)
      },
      report: (outcome) =>
        logOutcome(
          context,
          outcome,
          { chain },
          { failed: 'forks could not be read', recovered: 'forks are read again' },
        ),
    },
    signal,
  )
}

/** Longest wait for a node that failed before. */
const retryTimeoutMs = 2000

/**
 * Fails for a chain without a reachable node, because addresses that are not stored cannot be looked up. Retries the
 * nodes here: while the server is not ready, no request may reach them.
 */
export async function chainFindings(context: ExplorerContext): Promise<readonly Finding[]> {
  await refreshTips(context)
  const findings = await Promise.all(
    configuredNodes(context).map(async (node): Promise<Finding> => {
      const { chain, rpc } = node
      const troublesOf = (nodes: ReturnType<typeof rpc.health>) => nodes.flatMap(({ trouble }) => trouble ?? [])
      const all = rpc.health().length
      let troubles = troublesOf(nodeHealth(context, node))
      if (troubles.length === all) {
        const untilMs = context.clock.monotonicMs() + retryTimeoutMs
        await rpc.call([{ ...headerCall('latest'), acceptsError: true }], { untilMs })
        troubles = troublesOf(nodeHealth({ explorer: { ...context.explorer, reportedTroubles: new Map() } }, node))
      }
      const name = `node of chain ${chain.id}`
      if (troubles.length === all) return { name, ok: false, message: troubles.join('; ') }
      const problems = await readChainProblems(context, node)
      // Other servers have the same chain, and this one serves everything else.
      if (problems.length > 0) return { name, ok: false, message: problems.join('; '), required: false }
      return { name, ok: true, message: troubles.join('; ') || 'reachable' }
    }),
  )
  return [...findings, ...configuredNodes(context).flatMap((node) => indexFinding(context, node))]
}

/** How old the comparison of the nodes may be. */
const comparedMaxAgeMs = 15_000

/** Compares the nodes of each chain, if that was long ago. */
export async function refreshTips(context: ExplorerContext): Promise<void> {
  const options = { untilMs: context.clock.monotonicMs() + retryTimeoutMs, attemptsMax: 1, skipsBackoff: true }
  await Promise.all(configuredNodes(context).map((node) => node.refreshTip(comparedMaxAgeMs, options)))
}

/** What makes responses about the chain less than final: a stale head, nodes that are behind or distrusted. */
export async function readChainProblems(
  context: Pick<ExplorerContext, 'ingest' | 'settings' | 'clock' | 'explorer'>,
  { chain, rpc, lastTip }: ChainNode,
): Promise<readonly string[]> {
  const { behind, doubt } = lastTip() ?? {}
  const reason = doubt ?? findStaleHead(context, await getChainCoverage(context, chain.id))
  const names = rpc.health().map(({ name }) => name)
  const distrusted = await readDistrustedNodes(context.ingest, chain.id)
  return [
    ...(reason === undefined ? [] : [`${reason}; no search of this chain has a final result`]),
    ...[...(behind ?? [])].map(([index, text]) => `${names[index]} is ${text}`),
    ...distrusted.map((row) => `trace_filter of ${row.node} is not used: ${describeDistrust(row)}`),
  ]
}

/** The servers of a database share its index, so this one stays ready. */
function indexFinding(context: ExplorerContext, { chain }: ChainNode): Finding[] {
  const problems = getIndexProblems(context, chain.id)
  const { stopped, isDisagreement, notCompared = [], unreadable } = problems
  const name = `index of chain ${chain.id}`
  if (stopped !== undefined) {
    const message = isDisagreement ? `stopped: ${stopped}` : 'stopped: a node contradicts finalized blocks; see the log'
    return [{ name, ok: false, message, required: false }]
  }
  const failed = describeFailedPasses(problems)
  if (failed !== undefined) return [{ name, ok: false, message: `${failed}; ${failedTodo}`, required: false }]
  const [first] = unreadable.values()
  if (first) {
    const left = unreadable.size === 1 ? '1 block is left out' : `${unreadable.size} blocks are left out, the first`
    const message = `${left}: ${describeUnreadable(first)}; add another node (explorer.chains[].rpc)`
    return [{ name, ok: false, message, required: false }]
  }
  const notes = [
    ...(notCompared.length === 0 ? [] : [`nodes not compared: ${notCompared.join('; ')}`]),
    ...[describeContradictedLogs(problems), describeUnverifiedHeaders(problems)].filter((text) => text !== undefined),
  ]
  return notes.length === 0 ? [] : [{ name, ok: true, message: notes.join('; ') }]
}

const failedTodo = 'check the node and its log, or add another node (explorer.chains[].rpc)'

const unreadableShownMax = 5

/** Longest wait for the node of each chain. */
const checkTimeoutMs = 5000

/** For the doctor. Checks for a contradiction as well, because another process may be indexing the chain. */
export async function reportIndexProblems(context: ExplorerContext) {
  const indexed = configuredNodes(context).filter(({ chain }) => chain.mode !== 'probe')
  const reports = indexed.map(async (node) => {
    const chain = node.chain.id
    const problems = getIndexProblems(context, chain)
    const { stopped, notCompared = [], unreadable } = problems
    const contradicted = describeContradictedLogs(problems)
    const unverified = describeUnverifiedHeaders(problems)
    const failed = describeFailedPasses(problems)
    const contradiction = stopped ?? (await findContradiction(context, node))
    const todo = `check the node; if the chain itself has changed, run: tetrad repair --chain ${chain} --forget-from <block>`
    return [
      ...(contradiction === undefined ? [] : [{ chain, message: `index stopped: ${contradiction}`, todo }]),
      ...(failed === undefined || stopped !== undefined ? [] : [{ chain, message: failed, todo: failedTodo }]),
      ...notCompared.map((reason) => ({
        chain,
        message: `a node is not compared with the others: ${reason}`,
        todo: 'check this node; until then the other nodes are used without comparison',
      })),
      ...(contradicted === undefined
        ? []
        : [{ chain, message: contradicted, todo: 'check this block with another node (explorer.chains[].rpc)' }]),
      ...(unverified === undefined
        ? []
        : [{ chain, message: unverified, todo: 'nothing is missing; update Tetrad if the chain had another fork' }]),
      ...[...unreadable.values()].slice(0, unreadableShownMax).map((entry, at) => ({
        chain,
        message: `left out of the index${ordinalOf(at, unreadable.size)}: ${describeUnreadable(entry)}`,
        todo: `add a node that can trace the block (explorer.chains[].rpc), then run: tetrad repair --chain ${chain} --from ${entry.block} --until ${entry.block + 1}`,
      })),
    ]
  })
  return (await Promise.all(reports)).flat()
}

const ordinalOf = (at: number, all: number): string => (all === 1 ? '' : ` (${at + 1} of ${all})`)

/** undefined also if the node is not reachable, which is reported separately. */
async function findContradiction(context: ExplorerContext, node: ChainNode): Promise<string | undefined> {
  const options = { untilMs: context.clock.monotonicMs() + checkTimeoutMs }
  try {
    const { head } = await node.tip(options)
    await verifyContinuity(context.ingest, node, head.number, options)
    return undefined
  } catch (error) {
    return error instanceof ChainContradiction ? error.message : undefined
  }
}
