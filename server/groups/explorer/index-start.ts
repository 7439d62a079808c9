// What runs while the server runs: every node is asked what it can do, indexed chains are followed. And what /readyz says
// about it.
import { poll } from '#ingest/poll.ts'
import { headerCall } from '#io/evm/blocks.ts'
import { abilityNames, costs } from '#io/evm/capabilities.ts'
import type { Finding } from '#serve/health.ts'
import type { ExplorerContext } from './context.ts'
import { catchUp, type Progress, type Tell } from './index-chain.ts'
import { Contradicted, checkSeams } from './index-seams.ts'
import { troubleOf } from './index-trouble.ts'
import { type ChainNode, nodeOf } from './node.ts'

/** A first catch-up may take days; it is bounded per range, not as a whole. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000
const abilitiesEveryMs = 3_600_000

const nodesOf = (context: ExplorerContext): ChainNode[] =>
  context.settings.groups.explorer.on
    ? context.settings.explorer.chains.flatMap(({ id }) => nodeOf(context, id) ?? [])
    : []

/** Resolves when the signal has ended all loops. */
export async function startChains(
  context: ExplorerContext,
  signal: AbortSignal,
  tell: (chain: string) => Tell = () => () => {},
): Promise<void> {
  await Promise.all(
    nodesOf(context).flatMap((node) => {
      const { id, mode } = node.chain
      return [
        tellAbilities(context, node, signal),
        ...(mode === 'probe' ? [] : [follow(context, node, signal, tell(id))]),
      ]
    }),
  )
}

/** Follows the chain until the signal aborts. */
export function follow(context: ExplorerContext, node: ChainNode, signal: AbortSignal, tell: Tell): Promise<void> {
  const chain = node.chain.id
  return poll(
    context,
    {
      everyMs: context.settings.explorer.index.everyMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      work: (stop) =>
        catchUp(
          context,
          node,
          (progress) => {
            logProgress(context, chain, progress)
            tell(progress)
          },
          stop,
        ),
      report: (outcome) => {
        const trouble = troubleOf(context, chain)
        const isStopped = outcome.is === 'failed' && outcome.error instanceof Contradicted
        // Another failure tells nothing about the contradiction.
        if (isStopped) trouble.stopped = outcome.error.message
        else if (outcome.is === 'done') trouble.stopped = undefined
        if (outcome.is === 'failed') {
          context.log.warn(
            { chain, failures: outcome.failures, reason: wordsOf(outcome.error) },
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

function logProgress(context: ExplorerContext, chain: string, progress: Progress): void {
  if (progress.is === 'plan' && progress.blocks > context.settings.explorer.index.rangeBlocks) {
    context.log.info({ chain, blocks: progress.blocks }, 'blocks to read')
  }
  if (progress.is === 'unreadable') {
    const { block, reason } = progress
    context.log.warn({ chain, block, reason }, 'a block cannot be read and is left out of the index')
  }
  if (progress.is === 'near' && progress.takenBack > 0) {
    context.log.info({ chain, blocks: progress.takenBack }, 'blocks taken back by a reorganisation')
  }
}

/** Of each node, at start and when it has changed. */
function tellAbilities(context: ExplorerContext, node: ChainNode, signal: AbortSignal): Promise<void> {
  const chain = node.chain.id
  const told = new Map<string, string>()
  /** Whether it is something new. */
  const isNews = (about: string, words: string) => told.get(about) !== words && told.set(about, words) !== undefined
  return poll(
    context,
    {
      everyMs: abilitiesEveryMs,
      timeoutMs: 120_000,
      backoffMaxMs,
      work: async () => ({ all: await node.each(), can: await node.capabilities() }),
      report: (outcome) => {
        if (outcome.is === 'failed') {
          context.log.warn({ chain, failures: outcome.failures, reason: wordsOf(outcome.error) }, 'no node answers')
          return
        }
        const { all, can } = outcome.value
        for (const [place, one] of all.entries()) {
          const is = abilityNames.filter((name) => one.can?.has[name])
          if (!isNews(`node ${place}`, one.trouble === undefined ? is.join() : 'ill')) continue
          if (one.trouble === undefined)
            context.log.info({ chain, node: one.name, head: one.can?.head, can: is }, 'node')
          else context.log.warn({ chain, node: one.name, reason: one.trouble }, 'this node does not answer')
        }
        const lost = costs(can, node.chain)
        if (isNews('costs', lost.join())) for (const cost of lost) context.log.warn({ chain }, cost)
      },
    },
    signal,
  )
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Longest wait for a node that was in trouble. */
const askAgainMs = 2000

/**
 * Red for a chain none of whose nodes answers: what is not in the store yet cannot be answered. A node that was in trouble
 * is asked again here, since nobody else may be asking while the server is red.
 */
export async function chainFindings(context: ExplorerContext): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    nodesOf(context).map(async ({ chain, rpc }) => {
      const ill = () => rpc.health().filter(({ trouble }) => trouble !== undefined)
      const all = rpc.health().length
      if (ill().length === all) {
        const untilMs = context.clock.monotonicMs() + askAgainMs
        await rpc.ask([{ ...headerCall('latest'), errorIsAnswer: true }], { untilMs })
      }
      const says =
        ill().length === 0
          ? 'answers'
          : ill()
              .map(({ trouble }) => trouble)
              .join('; ')
      return { name: `node of chain ${chain.id}`, ok: ill().length < all, says }
    }),
  )
  return [...findings, ...nodesOf(context).flatMap((node) => indexFinding(context, node))]
}

/** Only where there is something to report. What a node said is for the log: anybody may ask here. */
function indexFinding(context: ExplorerContext, { chain }: ChainNode): Finding[] {
  const { stopped, unreadable } = troubleOf(context, chain.id)
  const name = `index of chain ${chain.id}`
  if (stopped !== undefined)
    return [{ name, ok: false, says: 'has stopped: a node contradicts blocks that were final; see the log' }]
  if (unreadable.size === 0) return []
  return [{ name, ok: true, says: `lacks ${unreadable.size} blocks that no node can trace; see the log` }]
}

export interface IndexProblem {
  readonly chain: string
  readonly says: string
  readonly todo: string
}

const unreadableShown = 5

/** Longest wait for the node of each chain. */
const checkMs = 5000

/**
 * What keeps the indexes from being complete, for the doctor. A contradiction is looked for here as well, since the process that
 * reads the chain may be another one.
 */
export async function indexProblems(context: ExplorerContext): Promise<readonly IndexProblem[]> {
  const all = nodesOf(context).filter(({ chain }) => chain.mode !== 'probe')
  const problems = all.map(async (node): Promise<IndexProblem[]> => {
    const chain = node.chain.id
    const { stopped, unreadable } = troubleOf(context, chain)
    const contradiction = stopped ?? (await contradictionOf(context, node))
    const todo = `check the node; if the chain itself has changed: tetrad repair --chain ${chain} --forget-from <block>`
    return [
      ...(contradiction === undefined ? [] : [{ chain, says: `its index has stopped: ${contradiction}`, todo }]),
      ...[...unreadable.values()].slice(0, unreadableShown).map(({ block, reason }) => ({
        chain,
        says: `block ${block} is missing from its index, because no node can trace it: ${reason}`,
        todo: `add a node that can trace the block, then: tetrad repair --chain ${chain} --from ${block} --until ${block + 1}`,
      })),
    ]
  })
  return (await Promise.all(problems)).flat()
}

/** undefined also where the node does not answer: that is another finding. */
async function contradictionOf(context: ExplorerContext, node: ChainNode): Promise<string | undefined> {
  const options = { untilMs: context.clock.monotonicMs() + checkMs }
  try {
    const { head } = await node.tip(options)
    await checkSeams(context.state, node, head.number, options)
    return undefined
  } catch (error) {
    return error instanceof Contradicted ? error.message : undefined
  }
}
