// Finds the first funding of a contract or a delegated account in a list of its transfers: from trace_filter, or from the
// logs of blocks after the Amsterdam fork. Such an account can pass on what it gets, so its state alone proves nothing.
//
// 1. Incoming and outgoing transfers are listed. Every listed block is read whole: a listed call may lie in one that
//    failed.
// 2. The lists are verified: "balance plus everything that went out" rises only when something comes in, so it must be
//    unchanged up to the block before the first listed transfer. A rise in between must be a withdrawal or a reward.
// 3. Logs are used only if the account was empty before the fork: balance and nonce zero, and no code.
// 4. Not detectable: a missing transaction in which the account passed on all that it got.
import { Fault } from '#core/fault.ts'
import { indexAdvice } from '#sources/evm/capabilities.ts'
import { CallFault } from '#sources/evm/rpc.ts'
import type { BlockWithExecution } from '#sources/evm/types.ts'
import type { Funding } from '../fundings.ts'
import type { AccountReader, ListForm } from './account-reader.ts'
import { type AccountState, emptyAccount, findFirstChange, isSameAccount, type ReadAccounts } from './account-search.ts'
import { explainBlock, firstFundingIn, outgoingWei } from './explain-block.ts'
import { needsIndexFault, needsTraceFilter } from './probe-errors.ts'

/** `reason` says why the account needs this; it is part of the error when no node supports trace_filter. */
export async function lookUpFunding(
  reader: AccountReader,
  from: AccountState,
  head: number,
  reason: string,
): Promise<Funding | undefined> {
  const { traces } = await reader.node.capabilities(reader.limits)
  const filter = traces ? reader.traceFilter(head) : undefined
  const form = typeof filter === 'object' ? 'trace_filter' : 'logs'
  const start = form === 'trace_filter' ? from : await findLoggedStart(reader, from, head)
  if (!start) throw needsTraceFilter(reader.node.chain, typeof filter === 'string' ? `${reason} ${filter}` : reason)
  reader.lookedUpBy = form
  let at = start
  while (at.block < head) {
    const pageBlocks = typeof filter === 'object' ? filter.blocks : head
    const page = await readPage(reader, form, at.block, Math.min(head, at.block + pageBlocks))
    const verified = await verifyPage(reader, form, at, page)
    if (page.found && verified.block === page.until) {
      const { seen, funding } = page.found
      await explainBlock(reader, seen, verified, await reader.stateAt(funding.block))
      return funding
    }
    at = verified
    reader.searchedUntil = at.block
  }
  return undefined
}

/** The state from which logs list all transfers; undefined: there may have been transfers before it. */
async function findLoggedStart(
  reader: AccountReader,
  from: AccountState,
  head: number,
): Promise<AccountState | undefined> {
  const { logs } = await reader.node.capabilities(reader.limits)
  const fork = logs && (await reader.firstLoggedBlock(head))
  if (fork === undefined) return undefined
  return from.block >= fork - 1 ? from : findEmptyState(reader, fork - 1)
}

/** The state at the end of a block, if the account was empty: without nonce, balance and code. */
export async function findEmptyState(reader: AccountReader, block: number): Promise<AccountState | undefined> {
  const [state, code] = await reader.stateAndCodeAt(block)
  return isSameAccount(state, emptyAccount) && code === '0x' ? state : undefined
}

/** Calls of `isTransferListed`. A node that needs more supports only short ranges. */
const listCallsMax = 50

/**
 * Whether trace_filter lists a transfer to the account in (after, until]. The transfer may be one that failed. False also
 * if no node can list these blocks with few calls, and if the lists of the nodes cannot be used now: then the result of
 * the search is not final.
 */
export async function isTransferListed(reader: AccountReader, after: number, until: number): Promise<boolean> {
  if (until <= after) return false
  const { traces } = await reader.node.capabilities(reader.limits)
  const filter = traces ? reader.traceFilter(until) : undefined
  if (typeof filter === 'string') reader.doubt = filter
  if (filter === undefined) reader.lacksFilter = true
  if (typeof filter !== 'object' || (until - after) / filter.blocks > listCallsMax) return false
  try {
    return await findListed(reader, after, until, filter.blocks)
  } catch (error) {
    if (!(error instanceof CallFault && error.isFinal)) throw error
    // The node refuses what it supported when it was tested.
    reader.node.testAgain(filter.nodes)
    reader.doubt = `The node refuses trace_filter: ${error.reason}.`
    return false
  }
}

async function findListed(reader: AccountReader, after: number, until: number, filterBlocks: number): Promise<boolean> {
  for (let at = after; at < until; ) {
    const end = Math.min(until, at + filterBlocks)
    const list = await reader.listTransfers('trace_filter', 'toAddress', at, end)
    // A block with more traces than fit on a page is read by the lookup.
    if (list.until <= at || list.blocks.length > 0) return true
    at = list.until
  }
  return false
}

interface Page {
  /** The page covers the blocks up to this one; none of them holds a transfer to the account. */
  readonly until: number
  readonly outgoing: readonly { readonly block: number; readonly wei: bigint }[]
  /** The first funding, in block `until + 1`. */
  readonly found?: { readonly seen: BlockWithExecution; readonly funding: Funding }
}

async function readPage(reader: AccountReader, form: ListForm, after: number, end: number): Promise<Page> {
  const incoming = await reader.listTransfers(form, 'toAddress', after, end)
  const outgoing = await reader.listTransfers(form, 'fromAddress', after, incoming.until > after ? incoming.until : end)
  const listedUntil = Math.min(incoming.until, outgoing.until)
  const isOverfull = listedUntil <= after
  // A block with more traces than fit on a page is read by itself.
  const until = isOverfull ? after + 1 : listedUntil
  const listed = [...incoming.blocks, ...outgoing.blocks].filter((block) => block <= until)
  const blocks = isOverfull ? [until] : listed
  const sent: { block: number; wei: bigint }[] = []
  for (const block of [...new Set(blocks)].sort((a, b) => a - b)) {
    const seen = await reader.readBlock(block)
    const funding = firstFundingIn(reader, seen)
    if (funding && !isOverfull && !incoming.blocks.includes(block)) throw incompleteList(reader, form, block)
    if (funding) return { until: block - 1, outgoing: sent, found: { seen, funding } }
    sent.push({ block, wei: outgoingWei(seen, reader.address) })
  }
  return { until, outgoing: sent }
}

/** The state at the end of the page; or after the first withdrawal or reward in it, from where the lookup continues. */
async function verifyPage(
  reader: AccountReader,
  form: ListForm,
  from: AccountState,
  page: Page,
): Promise<AccountState> {
  const end = page.until > from.block ? await reader.stateAt(page.until) : from
  const sentUntil = (until: number) =>
    page.outgoing.reduce((sum, { block, wei }) => sum + (block <= until ? wei : 0n), 0n)
  const received = ({ block, balanceWei }: AccountState): AccountState => ({
    block,
    nonce: 0n,
    balanceWei: balanceWei + sentUntil(block),
  })
  if (received(end).balanceWei === from.balanceWei) return end
  const read: ReadAccounts = async (blocks) => (await reader.statesAt(blocks, 0n)).map(received)
  const before = { block: from.block, nonce: 0n, balanceWei: from.balanceWei }
  const rise = await findFirstChange(read, before, received(end), reader.limits.fanOut)
  if (rise === 'not risen' && end.nonce > from.nonce)
    throw needsIndexFault({
      reason: 'This delegated account paid fees before it was funded, so the list of its transfers cannot be verified.',
      advice: `To find the first funding, ${indexAdvice(reader.node.chain)}.`,
    })
  if (rise === 'not risen') throw incompleteList(reader, form, page.until)
  const [unpaid, paid] = [await reader.stateAt(rise.block - 1), await reader.stateAt(rise.block)]
  const funding = await explainBlock(reader, await reader.readBlock(rise.block), unpaid, paid)
  if (funding) throw incompleteList(reader, form, rise.block)
  return paid
}

/** Lists of trace_filter that leave out a transfer. The nodes are distrusted (search-account.ts). */
export class IncompleteList extends Fault {
  /** Names of the nodes that listed the transfers of this address. */
  readonly nodes: readonly string[]
  readonly reason: string

  constructor(reader: AccountReader, reason: string) {
    const { code, publicMessage } = needsTraceFilter(reader.node.chain, reason)
    super(code, { message: publicMessage })
    this.nodes = [...reader.listedBy]
    this.reason = reason
  }
}

function incompleteList(reader: AccountReader, form: ListForm, block: number): Fault {
  const isFilter = form === 'trace_filter'
  const reason = `${isFilter ? form : 'eth_getLogs'} of the node does not list all transfers of this address up to block ${block}.`
  return isFilter ? new IncompleteList(reader, reason) : needsTraceFilter(reader.node.chain, reason)
}
