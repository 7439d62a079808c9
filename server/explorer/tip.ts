// The newest block of a chain and the newest final one, from all of its nodes at the same moment
// (behaviour/explorer.md#nodes-that-are-behind). Only this file decides which node is behind and which head is stale:
// searches, the index, /readyz, coverage and doctor use its result.
//
// 1. A node that is clearly behind the best one is not asked for the head.
// 2. Where two nodes report final blocks, a block is final if two of them have it among theirs. So a node that claims to be
//    ahead cannot make a block final. A node that is behind takes part, unless the clock shows that its head is stale.
// 3. A head that is older than `headMaxAgeMs`, or final blocks that differ, support no final result (`doubt`).
import { formatAgeOf } from '#core/age.ts'
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import { type ChainSettings, headMaxAgeMs } from '#runtime/settings/explorer.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import { headerCall, toHeader } from '#sources/evm/blocks.ts'
import { CallFault, type Rpc, type RpcCall, type RpcCallOptions } from '#sources/evm/rpc.ts'
import type { Header } from '#sources/evm/types.ts'
import { waitForFirst } from '#sources/evm/wait-for-first.ts'

export interface Tip {
  /** The newest block of every node that is not behind. */
  readonly head: Header
  /** The newest final block; undefined: no node reports one, or the nodes differ. */
  readonly final: Header | undefined
  /** Why nothing that rests on this head is final; undefined: it may be. */
  readonly doubt: string | undefined
  /** The index of the node that is asked first: one that is not behind. */
  readonly first: number | undefined
  /** The index of another node, which is asked when the first one finds nothing. */
  readonly second: number | undefined
  /** Of each of several nodes that answered, by index: its newest block. */
  readonly heads: ReadonlyMap<number, Header>
  /** Of each node that is behind, by index: how far. */
  readonly behind: ReadonlyMap<number, string>
}

interface NodeTip {
  readonly index: number
  readonly head: Header
  readonly final: Header | undefined
}

/** Time for the other nodes after the first has answered. */
const graceMs = 2000

/** A node is behind if both are exceeded: blocks may be far apart in time, or close together. */
const behindBlocksMax = 3
const behindSecondsMax = 60

export async function readTip(
  rpc: Rpc,
  chain: ChainSettings,
  clock: Clock,
  options: RpcCallOptions = {},
): Promise<Tip> {
  const names = rpc.health().map(({ name }) => name)
  const each = names.length > 1 ? await readEach(rpc, chain, clock, options) : []
  // The only node, or any one if all are backing off: with retries.
  const tips = each.length > 0 ? each : [{ index: 0, ...(await readNodeTip(rpc, chain, options)) }]
  const nowMs = clock.now()
  const best = tips.reduce((a, b) => (b.head.number > a.head.number ? b : a))
  const behind = new Map(tips.flatMap(({ index, head }) => (isBehind(head, best.head) ? [[index, head]] : [])))
  const used = tips.filter(({ index }) => !behind.has(index))
  const { head } = used.reduce((a, b) => (b.head.number < a.head.number ? b : a))
  const stale = describeStale(chain, head, nowMs)
  const judging = tips.filter((tip) => !behind.has(tip.index) || describeStale(chain, tip.head, nowMs) === undefined)
  const { final, difference } = await findFinal(rpc, judging, options)
  const others = judging.filter(({ index }) => index !== used[0]?.index)
  return {
    head,
    final,
    doubt: stale ?? difference,
    first: each.length > 0 ? used[0]?.index : undefined,
    second: (others.find(({ index }) => !behind.has(index)) ?? others[0])?.index,
    heads: new Map(each.map((tip) => [tip.index, tip.head])),
    behind: new Map([...behind].map(([index, own]) => [index, describeBehind(own, best.head)])),
  }
}

/** Each node that answers in time. */
async function readEach(rpc: Rpc, chain: ChainSettings, clock: Clock, options: RpcCallOptions): Promise<NodeTip[]> {
  const tips: NodeTip[] = []
  const asked = rpc.health().map(async (_, index) => {
    try {
      tips.push({ index, ...(await readNodeTip(rpc.of([index]), chain, { ...options, skipsBackoff: true })) })
      return true
    } catch {
      // The client has recorded the failure of the node.
      return false
    }
  })
  await waitForFirst(clock, asked, graceMs, options)
  options.signal?.throwIfAborted()
  // In the configured order, and without those that answer later.
  return tips.toSorted((a, b) => a.index - b.index)
}

/** What one node reports, or any of several. */
async function readNodeTip(
  rpc: Rpc,
  { finalityBlocks }: ChainSettings,
  options: RpcCallOptions,
): Promise<Omit<NodeTip, 'index'>> {
  // Nothing else shows which block is final, so it is requested twice and the lower one counts. The order matters: the
  // newest block is requested last, so it cannot be older than the finalized one.
  const finalizedCall: RpcCall = { ...headerCall('finalized'), acceptsError: true }
  const finalizedCalls = finalityBlocks === 0 ? [finalizedCall, finalizedCall] : []
  const outcomes = await rpc.call([...finalizedCalls, headerCall('latest')], options)
  const latest = outcomes.at(-1) as RpcOutcome
  if (latest.is !== 'result') throw new CallFault(latest)
  const head = toHeader(latest.result)
  const finalOutcomes =
    finalityBlocks === 0
      ? outcomes.slice(0, -1)
      : await rpc.call([headerCall(Math.max(0, head.number - finalityBlocks))], options)
  const finals = finalOutcomes.map((outcome) => (outcome.is === 'result' ? toHeader(outcome.result) : undefined))
  const final = finals.reduce((a, b) => (a && b && a.number > b.number ? b : a))
  if (final && final.number > head.number)
    throw new Fault('explorer.node_unavailable', {
      detail: `the finalized block ${final.number} is above the newest block ${head.number}: a node was reset, or two nodes are far apart`,
      retryAfterMs: 5000,
    })
  return { head, final }
}

/** The newest final block that two nodes have among their final ones, or that of the only node. */
async function findFinal(
  rpc: Rpc,
  tips: readonly NodeTip[],
  options: RpcCallOptions,
): Promise<{ readonly final: Header | undefined; readonly difference?: string }> {
  const reported = tips
    .flatMap(({ index, final }) => (final ? [{ index, final }] : []))
    .sort((a, b) => b.final.number - a.final.number)
  const [newest] = reported
  if (!newest || tips.length === 1) return { final: newest?.final }
  for (const { index, final } of reported) {
    for (const other of tips) {
      const newestOfOther = other.final ?? other.head
      if (other.index === index || newestOfOther.number < final.number) continue
      const hash =
        newestOfOther.number === final.number
          ? newestOfOther.hash
          : await readHash(rpc.of([other.index]), final.number, options)
      if (hash === final.hash) return { final }
    }
  }
  const name = rpc.health()[newest.index]?.name
  return { final: undefined, difference: `no other node has the final block ${newest.final.number} of ${name}` }
}

/** Undefined if the node does not return the block. */
async function readHash(rpc: Rpc, block: number, options: RpcCallOptions): Promise<string | undefined> {
  const [outcome] = await rpc.call([{ ...headerCall(block), acceptsError: true }], { ...options, skipsBackoff: true })
  return outcome?.is === 'result' ? toHeader(outcome.result).hash : undefined
}

const isBehind = (head: Header, best: Header): boolean =>
  best.number - head.number > behindBlocksMax && best.timeUnix - head.timeUnix > behindSecondsMax

const describeBehind = (head: Header, best: Header): string =>
  `behind: its newest block is ${head.number}, another node is at ${best.number}`

/** Undefined if the head of the chain is recent, or if its age is not checked. */
export function describeStale(
  chain: ChainSettings,
  { number, timeUnix }: Pick<Header, 'number' | 'timeUnix'>,
  nowMs: number,
): string | undefined {
  const ageMs = nowMs - timeUnix * 1000
  const maxMs = headMaxAgeMs(chain)
  return maxMs === 0 || Math.abs(ageMs) <= maxMs ? undefined : `its newest block, ${number}, is ${formatAgeOf(ageMs)}`
}
