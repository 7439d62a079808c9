// Finds the first fundings of a batch of addresses for `tetrad fundings`: in stored data, then by searches in the chain's
// nodes, as 4.3 does. Runs in the server, which the command calls over the control socket, or in the command itself.
//
// 1. As many searches run at a time as the rate limit of the node lets end in time, and at most a quarter of those that
//    the server allows, so that callers of 4.3 are not refused.
// 2. A search that failed for a reason that may pass is repeated once, alone.
import type { StoredFunding } from '#api/contract/wire/fundings.ts'
import { Fault, invalid } from '#core/fault.ts'
import { addressMust, toAddress } from '../../chains.ts'
import type { ExplorerContext } from '../../context.ts'
import { toFundingRecord } from '../../endpoints/funded-by.ts'
import { findFirstFunding } from '../../funding/find-first-funding.ts'
import { canProbe } from '../../funding/probe/probe.ts'
import { findLabels } from '../../labels/tags.ts'
import { requireNode } from '../../nodes.ts'
import { toLabel } from '../trail/follow-trail.ts'
import { describeNone, readStoredFundings } from './read-stored-fundings.ts'

/** `failed`: no node could answer; `code` and `message` name the reason. */
export type FoundFunding =
  | (StoredFunding & { readonly code?: never })
  | {
      readonly address: string
      readonly status: 'failed'
      readonly code: string
      readonly message: string
      readonly finality?: never
      readonly funding?: never
      readonly label?: never
    }

/** Enough for the searches that run at a time, and few enough to show progress. */
export const batchMax = 32

/** One result for each address, in their order. */
export async function findFundings(
  context: ExplorerContext,
  chain: string,
  addresses: readonly string[],
): Promise<readonly FoundFunding[]> {
  if (addresses.length > batchMax) throw new Error(`more than ${batchMax} addresses`)
  const { records } = await readStoredFundings(context, chain, addresses)
  const unknown = new Set(records.flatMap(({ status, address }) => (status === 'not_covered' ? [address] : [])))
  if (unknown.size === 0 || !canProbe(context, chain)) return records
  const searched = await searchAll(context, chain, unknown)
  return records.map((record) => searched.get(record.address) ?? record)
}

async function searchAll(
  context: ExplorerContext,
  chain: string,
  addresses: Iterable<string>,
): Promise<ReadonlyMap<string, FoundFunding>> {
  const found = new Map<string, FoundFunding>()
  const failed = new Map<string, Fault>()
  const search = async (address: string) => {
    const result = await searchOne(context, chain, address)
    if (result instanceof Fault) failed.set(address, result)
    else found.set(address, result)
  }
  // The workers share the iterator.
  const queue = [...addresses].values()
  const worker = async () => {
    for (const address of queue) await search(address)
  }
  await Promise.all(Array.from({ length: countParallelSearches(context, chain) }, worker))
  // If everything failed, the node is gone, and each repetition would wait for it again.
  if (found.size > 0) {
    for (const [address, { retryAfterMs }] of [...failed]) {
      if (retryAfterMs === undefined) continue
      await context.clock.sleep(Math.min(retryAfterMs, waitMaxMs))
      failed.delete(address)
      await search(address)
      if (failed.has(address)) break
    }
  }
  // The private detail names the node: the result is for the operator.
  for (const [address, { code, detail }] of failed)
    found.set(address, { address, status: 'failed', code, message: detail })
  return found
}

const waitMaxMs = 5000

async function searchOne(context: ExplorerContext, chain: string, address: string): Promise<FoundFunding | Fault> {
  try {
    const { funding, confidence } = await findFirstFunding(context, chain, address)
    const { finality = 'finalized', asOf } = confidence
    if (!funding) return { address, status: 'none', finality, message: describeNone(asOf) }
    const label = (await findLabels(context.ingest, chain, [funding.funder])).get(funding.funder)
    const record = { address, status: 'funded', funding: toFundingRecord(funding), finality } as const
    return label ? { ...record, label: toLabel(label) } : record
  } catch (error) {
    if (error instanceof Fault && error.code.startsWith('explorer.')) return error
    throw error
  }
}

/** Calls of a search, at most in nearly all cases (docs/explorer.md). */
const callsOfSearch = 60
/** Searches should end in half of their time limit. */
const shareOfTimeout = 0.5
const shareOfSearches = 0.25

export function countParallelSearches(context: ExplorerContext, chain: string): number {
  const { parallelMax, timeoutMs } = context.settings.explorer.probe
  const most = Math.max(1, Math.floor(parallelMax * shareOfSearches))
  const [{ perSecond } = { perSecond: 0 }] = requireNode(context, chain).chain.rpc
  if (perSecond === 0) return most
  const calls = (perSecond * timeoutMs * shareOfTimeout) / 1000
  return Math.min(most, Math.max(1, Math.floor(calls / callsOfSearch)))
}

/** The call `fundings` of the control socket. */
export async function findFundingsForOperator(
  context: ExplorerContext,
  input: unknown,
): Promise<readonly FoundFunding[]> {
  const { chain, addresses } = input as { readonly chain?: unknown; readonly addresses?: unknown }
  if (typeof chain !== 'string' || !Array.isArray(addresses)) throw invalid(['addresses'], 'must be a list')
  return findFundings(
    context,
    chain,
    addresses.map((text) => toListed(String(text))),
  )
}

function toListed(text: string): string {
  const address = toAddress(text)
  if (address === undefined) throw invalid(['addresses'], addressMust)
  return address
}
