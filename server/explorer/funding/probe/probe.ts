// Searches a node for a first funding within a request: the one place where a request calls a source. If the funding
// is final, it is stored, so the address is not searched again. That there is none is not stored.
//
// 1. Requests for the same address at the same time share one search. If the one that started it ends, another one
//    starts it again.
// 2. At most `parallelMax` searches run at a time. Further ones are refused, not queued.
import { Fault } from '#core/fault.ts'
import { joinWork } from '#core/shared-work.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { type ChainNode, findNode, requireNode } from '#explorer/nodes.ts'
import type { Confidence } from '#http/handler.ts'
import type { Funding } from '../fundings.ts'
import { runSearchWrite } from '../search-writes.ts'
import type { AccountReader } from './account-reader.ts'
import type { SearchResult } from './funding-search.ts'
import { contradictsStored, timeLimitReached } from './probe-errors.ts'
import { searchAccount } from './search-account.ts'

export interface FundingResult {
  /** undefined: no transfer came in. */
  readonly funding: Funding | undefined
  readonly confidence: Confidence
}

export function canProbe(context: ExplorerContext, chain: string): boolean {
  const node = findNode(context, chain)
  return node !== undefined && node.chain.mode !== 'index'
}

export async function probe(context: ExplorerContext, chain: string, address: string): Promise<FundingResult> {
  const { searches } = context.explorer
  const key = `${chain}/${address}`
  const known = searches.get(key)
  if (known) return joinWork(known, () => probe(context, chain, address))
  const node = requireNode(context, chain)
  if (!node.chain.archive)
    throw new Fault('explorer.not_archive', { detail: `explorer.chains: chain ${chain} has archive: false` })
  if (searches.size >= context.settings.explorer.probe.parallelMax) throw tooManySearches(searches.size)
  const search = searchAndStore(context, node, address).finally(() => searches.delete(key))
  searches.set(key, search)
  return search
}

async function searchAndStore(context: ExplorerContext, node: ChainNode, address: string): Promise<FundingResult> {
  const { funding, isFinal, asOf, ground } = await searchInTime(context, node, address)
  context.signal?.throwIfAborted()
  const put = funding && isFinal ? await runSearchWrite(context, 'putProven', { funding, ground }) : undefined
  if (funding && put === 'earlier') throw contradictsStored(funding.block)
  const finality = isFinal && put !== 'distrusted' ? 'finalized' : 'head'
  return { funding, confidence: { asOf, finality, coverage: 'probed' } }
}

async function searchInTime(context: ExplorerContext, node: ChainNode, address: string): Promise<SearchResult> {
  const { clock, settings, signal } = context
  const { timeoutMs, fanOut } = settings.explorer.probe
  const untilMs = clock.monotonicMs() + timeoutMs
  let reader: AccountReader | undefined
  try {
    return await searchAccount(context, node, address, { fanOut, untilMs, ...(signal && { signal }) }, (used) => {
      reader = used
    })
  } catch (error) {
    // Calls to nodes have an error of their own for this.
    signal?.throwIfAborted()
    // Calls end with this error when the time of the search is over, and also when a node fails.
    const isLate = clock.monotonicMs() >= untilMs
    if (!isLate || !(error instanceof Fault) || error.code !== 'explorer.node_unavailable') throw error
    throw timeLimitReached(node.chain, timeoutMs, reader?.searchedUntil ?? -1, error.message)
  }
}

const tooManySearches = (count: number): Fault =>
  new Fault('explorer.node_unavailable', {
    message: 'Too many searches are running; try again in a moment.',
    detail: `${count} searches are running, which is explorer.probe.parallelMax`,
    retryAfterMs: 1000,
  })
