// Finds the first funding of an address for 4.3 and for what builds on it, such as the funding trail.
//
// 1. A stored record is returned if a search has proven it, or if every block before it is indexed.
// 2. "No data found" covers the blocks up to a final head that a node confirmed recently, and no others
//    (behaviour/explorer.md#no-data-found). If the newest block is stale, its finality is `head`.
// 3. Otherwise a node is searched (probe/probe.ts), or the request fails.
import { Fault } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import type { Confidence } from '#http/handler.ts'
import type { ExplorerContext } from '../context.ts'
import { findNode } from '../nodes.ts'
import {
  type ChainCoverage,
  firstGap,
  getChainCoverage,
  isHeadConfirmed,
  toConfidence,
  toEmptyConfidence,
} from './chain-coverage.ts'
import { type Funding, findFunding } from './fundings.ts'
import { findUnfinalizedFunding } from './index/unfinalized.ts'
import { canProbe, type FundingResult, probe } from './probe/probe.ts'

/** `address` is in lower case. */
export async function findFirstFunding(
  context: ExplorerContext,
  chain: string,
  address: string,
): Promise<FundingResult> {
  // Read the coverage before the record: the index may advance in between, and must not appear further along than its
  // rows.
  const coverage = await getChainCoverage(context, chain)
  const stored = judgeStored(context, coverage, await findFunding(context.ingest, chain, address))
  if (stored.is === 'known') return stored
  if (stored.is === 'notFinal') return findUnfinalized(context, chain, address, coverage)
  if (canProbe(context, chain)) return probe(context, chain, address)
  throw notCovered(context, chain, stored.message, coverage)
}

/**
 * What the stored data proves about an address. `coverage` was read before `stored`. `notFinal`: every final block is
 * indexed and has no transfer; an unfinalized one may.
 */
export type StoredVerdict =
  | { readonly is: 'known'; readonly funding: Funding; readonly confidence: Confidence }
  | { readonly is: 'notFinal' }
  | { readonly is: 'unknown'; readonly message: string }

export function judgeStored(
  context: Pick<ExplorerContext, 'clock' | 'settings'>,
  coverage: ChainCoverage,
  stored: Funding | undefined,
): StoredVerdict {
  if (stored?.isProven)
    return {
      is: 'known',
      funding: stored,
      confidence: { asOf: stored.block, finality: 'finalized', coverage: 'probed' },
    }
  const unread = firstUnread(coverage, stored)
  const isConfirmed = isHeadConfirmed(context, coverage)
  if (stored && !unread) return { is: 'known', funding: stored, confidence: toConfidence(coverage, isConfirmed) }
  if (unread) return { is: 'unknown', message: describeUnread(coverage.chain, unread) }
  return isConfirmed ? { is: 'notFinal' } : { is: 'unknown', message: describeUnconfirmed(coverage) }
}

/** Every final block is indexed and has no transfer; an unfinalized one may. */
async function findUnfinalized(
  context: ExplorerContext,
  chain: string,
  address: string,
  coverage: ChainCoverage,
): Promise<FundingResult> {
  const unfinalized = await findUnfinalizedFunding(context.ingest, chain, address)
  if (unfinalized)
    return { funding: unfinalized, confidence: { asOf: unfinalized.block, finality: 'head', coverage: 'complete' } }
  // The funding may have become final between the two reads.
  const funding = await findFunding(context.ingest, chain, address)
  return { funding, confidence: funding ? toConfidence(coverage, true) : toEmptyConfidence(context, coverage) }
}

function firstUnread(coverage: ChainCoverage, stored: Funding | undefined): Range | 'all' | undefined {
  if (stored) return firstGap(coverage, stored.block + 1)
  return coverage.blocks.until === coverage.blocks.from ? 'all' : firstGap(coverage, coverage.blocks.until)
}

function describeUnread(chain: string, unread: Range | 'all'): string {
  const blocks =
    unread === 'all'
      ? `No block of chain ${chain} has been read yet`
      : `Blocks ${unread.from} to ${unread.until - 1} of chain ${chain} have not been read yet`
  return `${blocks}, so the first funding of this address is not known`
}

const describeUnconfirmed = ({ chain, blocks }: ChainCoverage): string =>
  `No node has confirmed recently that block ${blocks.until - 1} is the newest final block of chain ${chain}, so a later block may hold a transfer to this address`

const retryWhenUnreadMs = 60_000

/** Without a node nothing is read, so a retry does not help. */
const notCovered = (context: ExplorerContext, chain: string, message: string, coverage: ChainCoverage): Fault =>
  new Fault('explorer.not_covered', {
    message,
    headers: { 'x-tetrad-coverage': toConfidence(coverage, false).coverage ?? 'none' },
    ...(findNode(context, chain) && { retryAfterMs: retryWhenUnreadMs }),
  })
