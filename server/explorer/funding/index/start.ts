// What runs while the server runs: every node is asked what it can do, indexed chains are followed. And what /readyz says
// about it.

import type { ExplorerContext } from '#explorer/context.ts'
import { type ChainNode, findNode } from '#explorer/nodes.ts'
import type { Finding } from '#http/health.ts'
import { poll } from '#ingest/poll.ts'
import { headerCall } from '#sources/evm/blocks.ts'
import { capabilityNames, costs } from '#sources/evm/capabilities.ts'
import { ChainContradiction, verifyContinuity } from './continuity.ts'
import { catchUpIndex, type IndexProgress, type OnIndexProgress } from './index-chain.ts'
import { getIndexProblems } from './problems.ts'

/** A first catch-up may take days; it is bounded per range, not as a whole. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000
const capabilitiesEveryMs = 3_600_000

const configuredNodes = (context: ExplorerContext): ChainNode[] =>
  context.settings.groups.explorer.on
    ? context.settings.explorer.chains.flatMap(({ id }) => findNode(context, id) ?? [])
    : []

/** Resolves when the signal has ended all loops. */
export async function startChains(
  context: ExplorerContext,
  signal: AbortSignal,
  onProgress: (chain: string) => OnIndexProgress = () => () => {},
): Promise<void> {
  await Promise.all(
    configuredNodes(context).flatMap((node) => {
      const { id, mode } = node.chain
      return [
        reportCapabilities(context, node, signal),
        ...(mode === 'probe' ? [] : [followChain(context, node, signal, onProgress(id))]),
      ]
    }),
  )
}

/** Follows the chain until the signal aborts. */
export function followChain(
  context: ExplorerContext,
  node: ChainNode,
  signal: AbortSignal,
  onProgress: OnIndexProgress,
): Promise<void> {
  const chain = node.chain.id
  return poll(
    context,
    {
      everyMs: context.settings.explorer.index.everyMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      work: (stop) =>
        catchUpIndex(
          context,
          node,
          (progress) => {
            logProgress(context, chain, progress)
            onProgress(progress)
          },
          stop,
        ),
      report: (outcome) => {
        const problems = getIndexProblems(context, chain)
        const isStopped = outcome.is === 'failed' && outcome.error instanceof ChainContradiction
        // Another failure tells nothing about the contradiction.
        if (isStopped) problems.stopped = outcome.error.message
        else if (outcome.is === 'done') problems.stopped = undefined
        if (outcome.is === 'failed') {
          context.log.warn(
            { chain, failures: outcome.failures, reason: errorMessage(outcome.error) },
            isStopped ? 'the index of the chain has stopped' : 'the chain could not be read',
          )
        } else if (outcome.failuresBefore > 0) {
          context.log.info({ chain, failures: outcome.failuresBefore }, 'the chain can be read again')
        }
      },
    },
    signal,
  )
}

function logProgress(context: ExplorerContext, chain: string, progress: IndexProgress): void {
  if (progress.is === 'plan' && progress.blocks > context.settings.explorer.index.rangeBlocks) {
    context.log.info({ chain, blocks: progress.blocks }, 'blocks to read')
  }
  if (progress.is === 'unreadable') {
    const { block, reason } = progress
    context.log.warn({ chain, block, reason }, 'a block cannot be read and is left out of the index')
  }
  if (progress.is === 'near' && progress.revertedBlocks > 0) {
    context.log.info({ chain, blocks: progress.revertedBlocks }, 'blocks taken back by a reorganisation')
  }
}

/** Of each node, at start and when it has changed. */
function reportCapabilities(context: ExplorerContext, node: ChainNode, signal: AbortSignal): Promise<void> {
  const chain = node.chain.id
  const reported = new Map<string, string>()
  /** Whether it is something new. */
  const isNew = (about: string, text: string) => reported.get(about) !== text && reported.set(about, text) !== undefined
  return poll(
    context,
    {
      everyMs: capabilitiesEveryMs,
      timeoutMs: 120_000,
      backoffMaxMs,
      work: async () => ({ all: await node.each(), can: await node.capabilities() }),
      report: (outcome) => {
        if (outcome.is === 'failed') {
          context.log.warn(
            { chain, failures: outcome.failures, reason: errorMessage(outcome.error) },
            'no node answers',
          )
          return
        }
        const { all, can } = outcome.value
        for (const [index, one] of all.entries()) {
          const is = capabilityNames.filter((name) => one.can?.has[name])
          if (!isNew(`node ${index}`, one.trouble === undefined ? is.join() : 'ill')) continue
          if (one.trouble === undefined)
            context.log.info({ chain, node: one.name, head: one.can?.head, can: is }, 'node')
          else context.log.warn({ chain, node: one.name, reason: one.trouble }, 'this node does not answer')
        }
        const lost = costs(can, node.chain)
        if (isNew('costs', lost.join())) for (const cost of lost) context.log.warn({ chain }, cost)
      },
    },
    signal,
  )
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Longest wait for a node that was in trouble. */
const retryTimeoutMs = 2000

/**
 * Red for a chain none of whose nodes answers: what is not in the store yet cannot be answered. A node that was in trouble
 * is asked again here, since nobody else may be asking while the server is red.
 */
export async function chainFindings(context: ExplorerContext): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    configuredNodes(context).map(async ({ chain, rpc }) => {
      const failing = () => rpc.health().filter(({ trouble }) => trouble !== undefined)
      const all = rpc.health().length
      if (failing().length === all) {
        const untilMs = context.clock.monotonicMs() + retryTimeoutMs
        await rpc.call([{ ...headerCall('latest'), acceptsError: true }], { untilMs })
      }
      const message =
        failing().length === 0
          ? 'answers'
          : failing()
              .map(({ trouble }) => trouble)
              .join('; ')
      return { name: `node of chain ${chain.id}`, ok: failing().length < all, message }
    }),
  )
  return [...findings, ...configuredNodes(context).flatMap((node) => indexFinding(context, node))]
}

/** Only where there is something to report. What a node said is for the log: anybody may ask here. */
function indexFinding(context: ExplorerContext, { chain }: ChainNode): Finding[] {
  const { stopped, unreadable } = getIndexProblems(context, chain.id)
  const name = `index of chain ${chain.id}`
  if (stopped !== undefined)
    return [{ name, ok: false, message: 'has stopped: a node contradicts blocks that were final; see the log' }]
  if (unreadable.size === 0) return []
  return [{ name, ok: true, message: `lacks ${unreadable.size} blocks that no node can trace; see the log` }]
}

export interface IndexProblemReport {
  readonly chain: string
  readonly message: string
  readonly todo: string
}

const unreadableShownMax = 5

/** Longest wait for the node of each chain. */
const checkTimeoutMs = 5000

/**
 * What keeps the indexes from being complete, for the doctor. A contradiction is looked for here as well, since the process that
 * reads the chain may be another one.
 */
export async function reportIndexProblems(context: ExplorerContext): Promise<readonly IndexProblemReport[]> {
  const all = configuredNodes(context).filter(({ chain }) => chain.mode !== 'probe')
  const problems = all.map(async (node): Promise<IndexProblemReport[]> => {
    const chain = node.chain.id
    const { stopped, unreadable } = getIndexProblems(context, chain)
    const contradiction = stopped ?? (await findContradiction(context, node))
    const todo = `check the node; if the chain itself has changed: tetrad repair --chain ${chain} --forget-from <block>`
    return [
      ...(contradiction === undefined ? [] : [{ chain, message: `its index has stopped: ${contradiction}`, todo }]),
      ...[...unreadable.values()].slice(0, unreadableShownMax).map(({ block, reason }) => ({
        chain,
        message: `block ${block} is missing from its index, because no node can trace it: ${reason}`,
        todo: `add a node that can trace the block, then: tetrad repair --chain ${chain} --from ${block} --until ${block + 1}`,
      })),
    ]
  })
  return (await Promise.all(problems)).flat()
}

/** undefined also where the node does not answer: that is another finding. */
async function findContradiction(context: ExplorerContext, node: ChainNode): Promise<string | undefined> {
  const options = { untilMs: context.clock.monotonicMs() + checkTimeoutMs }
  try {
    const { head } = await node.tip(options)
    await verifyContinuity(context.state, node, head.number, options)
    return undefined
  } catch (error) {
    return error instanceof ChainContradiction ? error.message : undefined
  }
}
