// Finds the first funding of an address in an archive node.
//
// 1. An account without code is searched by its state: the block of its first change holds the first funding, unless a
//    withdrawal, a block reward, the genesis or a delegation explains the change. Then the search continues after it.
// 2. A contract, or an account that was delegated before it was funded, is looked up with trace_filter.
// 3. Never a guess: every block before the result is proven to hold no transfer, or the search throws. The one
//    exception is a contract that destroyed itself, which leaves no state. trace_filter finds it, if a node has it
//    (behaviour/explorer.md#limits-of-a-search).
// 4. That there is none needs two nodes, where there are two. A head that is stale (tip.ts), or lists of trace_filter that
//    cannot be used, make the result one that is not final.
// 5. A node that only has the states since the Amsterdam fork is enough for an account that was empty before it.
import { Fault } from '#core/fault.ts'
import type { Tip } from '#explorer/tip.ts'
import type { Header } from '#sources/evm/types.ts'
import { type Funding, isBefore } from '../fundings.ts'
import type { Ground } from '../grounds.ts'
import type { AccountReader } from './account-reader.ts'
import { type AccountState, findFirstChange, isDelegation, isSameAccount } from './account-search.ts'
import { explainBlock } from './explain-block.ts'
import { needsIndexFault, noFinalBlock } from './probe-errors.ts'
import { findEmptyState, isTransferListed, lookUpFunding } from './transfer-list-lookup.ts'

export interface SearchResult {
  /** undefined: no transfer up to the end of block `asOf`. */
  readonly funding: Funding | undefined
  readonly isFinal: boolean
  readonly asOf: number
  readonly ground: Ground
}

export async function searchFunding(reader: AccountReader): Promise<SearchResult> {
  const tip = await reader.node.tip(reader.limits)
  const { first, second } = tip
  const found = await searchFrom(reader, tip, first).catch((error: unknown) => {
    reader.limits.signal?.throwIfAborted()
    if (second === undefined || !(error instanceof Fault) || !nodeErrors.includes(error.code)) throw error
    return error
  })
  const isFailed = found instanceof Fault
  if (second === undefined || (!isFailed && found.funding)) return found as SearchResult
  // A block proves a funding, but nothing proves that there is none. So another node is asked, up to its own head.
  const other = await searchFrom(reader, tip, second)
  if (other.funding) return other
  if (!isFailed) return found
  // What a node that is behind does not find shows nothing.
  if (tip.behind.has(second)) throw found
  return { ...other, isFinal: false, asOf: headOf(tip, second).number }
}

/** Errors that another node may not have. */
const nodeErrors: readonly string[] = ['explorer.node_unavailable', 'explorer.unexplained_block']

const headOf = ({ head, heads, first }: Tip, node: number | undefined): Header =>
  (node === first || node === undefined ? undefined : heads.get(node)) ?? head

/** Asks this node first. */
async function searchFrom(reader: AccountReader, tip: Tip, node: number | undefined): Promise<SearchResult> {
  const head = headOf(tip, node)
  const { final, doubt } = tip
  reader.startWith(tip, node)
  const funding = await search(reader, head.number, final?.number).catch(async (error: unknown) => {
    // A reorganisation during the search looks like a block that explains nothing.
    if (error instanceof Fault && stateErrors.includes(error.code)) await reader.verifyUnchanged(head)
    throw error
  })
  const isCertain = doubt === undefined && reader.doubt === undefined
  const ground = groundOf(reader)
  if (!funding) {
    if (!final && isCertain) throw noFinalBlock(reader.node.chain.id)
    return { funding, isFinal: isCertain, asOf: isCertain && final ? final.number : head.number, ground }
  }
  const isFinal = isCertain && final !== undefined && funding.block <= final.number
  if (!isFinal) await reader.verifyUnchanged(head)
  return { funding, isFinal, asOf: funding.block, ground }
}

function groundOf({ lookedUpBy, listedBy, lacksFilter }: AccountReader): Ground {
  const nodes = [...listedBy].sort()
  const lists = nodes.length > 0 ? 'asked' : lacksFilter ? 'missing' : 'not needed'
  return { method: lookedUpBy ?? 'state', lists, nodes }
}

const stateErrors: readonly string[] = ['explorer.unexplained_block', 'explorer.needs_index']

/** Looks the address up in lists from the first block on. Throws if they are not complete. */
export async function verifyLists(reader: AccountReader): Promise<void> {
  const tip = await reader.node.tip(reader.limits)
  reader.startWith(tip, tip.first)
  const start = await reader.stateAt(reader.node.chain.firstBlock - 1)
  await lookUpFunding(reader, start, tip.head.number, 'The lists of this address were not complete.')
}

async function search(reader: AccountReader, head: number, final: number | undefined): Promise<Funding | undefined> {
  const { firstBlock, id } = reader.node.chain
  if (firstBlock > head) {
    throw needsIndexFault({
      reason: `The node of chain ${id} is at block ${head}, before firstBlock ${firstBlock}.`,
      advice: 'Wait until the node has caught up, or correct explorer.chains[].firstBlock.',
    })
  }
  const forkStart = await findForkStart(reader, head)
  const [start, startCode] = forkStart ? [forkStart, '0x'] : await reader.stateAndCodeAt(firstBlock - 1)
  const [now, code] = await readTwice(reader, head)
  if (code !== '0x' && !isDelegation(code)) return lookUpFunding(reader, start, head, 'This address is a contract.')
  const funding = await searchByState(reader, start, startCode, now)
  if (funding === 'destroyed contract') return lookUpFunding(reader, start, head, wasDestroyed)
  // An address that has sent a transaction has a private key, so it was never a contract.
  if (now.nonce > 0n) return funding
  // Newer blocks are not final, and another node may not have them yet.
  const until = Math.min(funding ? funding.block - 1 : head, final ?? -1)
  if (!(await isTransferListed(reader, start.block, until))) return funding
  const listed = await lookUpFunding(reader, start, head, wasDestroyed)
  return listed && (!funding || isBefore(listed, funding)) ? listed : funding
}

/**
 * The state before the Amsterdam fork, if the node has no older ones and the account was empty: then nothing came in
 * before. Undefined: search from the first block.
 */
async function findForkStart(reader: AccountReader, head: number): Promise<AccountState | undefined> {
  const { has } = await reader.node.capabilities(reader.limits)
  if (has['historical balance'] || has.trace_filter) return undefined
  const fork = await reader.firstLoggedBlock(head)
  return fork === undefined ? undefined : findEmptyState(reader, fork - 1)
}

const wasDestroyed = 'This address was a contract that destroyed itself.'

/** `destroyed contract`: the state contradicts that of an account without code. */
async function searchByState(
  reader: AccountReader,
  start: AccountState,
  startCode: string,
  now: AccountState,
): Promise<Funding | 'destroyed contract' | undefined> {
  let before = start
  let codeBefore = startCode
  while (!isSameAccount(before, now) || codeBefore !== '0x') {
    reader.searchedUntil = before.block
    if (codeBefore !== '0x')
      return lookUpFunding(reader, before, now.block, 'This account was delegated (EIP-7702) before it was funded.')
    const read = reader.statesAt.bind(reader)
    const after = await findFirstChange(read, before, now, reader.limits.fanOut)
    if (after === 'not risen') return 'destroyed contract'
    const funding = await explainBlock(reader, await reader.readBlock(after.block), before, after)
    if (funding) return funding
    before = after
    codeBefore = await reader.codeAt(after.block)
  }
  return undefined
}

/**
 * The state at the head decides how the account is searched, and alone that nothing was found. Nothing else confirms it,
 * so it is read twice, which detects a single wrong answer.
 */
async function readTwice(reader: AccountReader, head: number): Promise<readonly [AccountState, string]> {
  const [first, second] = await Promise.all([reader.stateAndCodeAt(head), reader.stateAndCodeAt(head)])
  if (isSameAccount(first[0], second[0]) && first[1].toLowerCase() === second[1].toLowerCase()) return second
  throw new Fault('explorer.node_unavailable', {
    detail: `two answers about the account at block ${head} differ`,
    retryAfterMs: 1000,
  })
}
