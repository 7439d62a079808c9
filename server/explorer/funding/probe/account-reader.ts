// Reads one account from a node: its state at any block, its blocks, and the traces that a node lists for it.
//
// 1. Bounded: no call beyond `callsMax`, and none is sent or awaited after `untilMs`.
// 2. Blocks whose traces are not complete are rejected (sources/evm/blocks.ts).
import { Fault } from '#core/fault.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import type { Tip } from '#explorer/tip.ts'
import { isAmsterdam } from '#sources/evm/amsterdam.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import {
  accountCalls,
  balanceCall,
  codeCall,
  type FilterSide,
  filterCall,
  filteredMax,
  headerCall,
  hexOf,
  toAccount,
  toHeader,
  transferLogsCall,
} from '#sources/evm/blocks.ts'
import type { TraceFilter } from '#sources/evm/capability-tracker.ts'
import { kindOf } from '#sources/evm/node-errors.ts'
import { CallFault, type RpcCall } from '#sources/evm/rpc.ts'
import { transfersValue } from '#sources/evm/trace-transfers.ts'
import type { BlockWithExecution, Header, TraceWithBlock } from '#sources/evm/types.ts'
import { validateQuantity } from '#sources/evm/validate.ts'
import { type AccountState, emptyAccount } from './account-search.ts'
import { callLimitReached, needsTraceFilter } from './probe-errors.ts'

export interface SearchLimits {
  /** At how many blocks one round of the search reads the account. */
  readonly fanOut: number
  /** On the monotonic clock. */
  readonly untilMs: number
  /** Of the request. */
  readonly signal?: AbortSignal
  /** The index of the node that is asked first. */
  readonly first?: number
}

/** Calls of one search. An ordinary account on a chain of 20 million blocks takes at most 64. */
const callsMax = 1500

/** The blocks up to the end of block `until` that list a transfer of the account, oldest first. */
export interface TransferList {
  readonly until: number
  readonly blocks: readonly number[]
}

/** How transfers are listed. */
export type ListForm = 'trace_filter' | 'logs'

/** Why the trace_filter of a node is not used; undefined: it is. */
export type FindDistrust = (node: string) => string | undefined

export class AccountReader {
  readonly node: ChainNode
  readonly address: string
  limits: SearchLimits
  /** Names of the nodes that have listed traces. */
  readonly listedBy = new Set<string>()
  /** How the funding was looked up; undefined: it was found by the state of the account. */
  lookedUpBy: ListForm | undefined
  /** trace_filter is needed, but no node has it. */
  lacksFilter = false
  /** Why the result is not final: trace_filter is needed, but cannot be used now. */
  doubt: string | undefined
  readonly #findDistrust: FindDistrust
  #heads: Tip['heads'] = new Map()
  /** No transfer to the address up to the end of this block. For error messages. */
  searchedUntil = -1
  #calls = 0
  /** Of eth_getLogs. */
  #logBlocks = Number.MAX_SAFE_INTEGER

  constructor(node: ChainNode, address: string, limits: SearchLimits, findDistrust: FindDistrust = () => undefined) {
    this.node = node
    this.address = address
    this.limits = limits
    this.#findDistrust = findDistrust
  }

  /** Asks the node with this index first from now on. */
  startWith({ heads }: Tip, first: number | undefined): void {
    this.#heads = heads
    const { first: _, ...limits } = this.limits
    this.limits = first === undefined ? limits : { ...limits, first }
  }

  /** Whether the node has the block. One without it lists what it has, without an error. */
  #hasBlock(index: number, block: number): boolean {
    return this.#heads.size === 0 || (this.#heads.get(index)?.number ?? -1) >= block
  }

  /**
   * The nodes that can list traces up to a block; a text for callers, without the address of a node: why none is used;
   * undefined: none has trace_filter.
   */
  traceFilter(until: number): TraceFilter | string | undefined {
    const nodes = this.node.rpc.health()
    const nameOf = (index: number) => nodes[index]?.name ?? ''
    const isUsed = (index: number) => this.#findDistrust(nameOf(index)) === undefined && this.#hasBlock(index, until)
    const used = this.node.traceFilter(isUsed)
    if (used) return used
    const left = this.node.traceFilter(() => true)?.nodes[0]
    if (left === undefined) return undefined
    return `trace_filter of a node is not used: ${this.#findDistrust(nameOf(left)) ?? `it does not have block ${until}`}.`
  }

  async statesAt(blocks: readonly number[], knownNonce?: bigint): Promise<AccountState[]> {
    const { address } = this
    if (knownNonce !== undefined) {
      const balances = await this.#call(blocks.map((block) => balanceCall(address, block)))
      return blocks.map((block, at) => ({ block, nonce: knownNonce, balanceWei: BigInt(balances[at] as string) }))
    }
    const results = await this.#call(blocks.flatMap((block) => accountCalls(address, block)))
    return blocks.map((block, at) => ({ block, ...toAccount(results[2 * at], results[2 * at + 1]) }))
  }

  /** Before the first block every account is empty. */
  async stateAt(block: number): Promise<AccountState> {
    const [state] = block < 0 ? [] : await this.statesAt([block])
    return state ?? { block, ...emptyAccount }
  }

  async codeAt(block: number): Promise<string> {
    const [code] = block < 0 ? ['0x'] : await this.#call([codeCall(this.address, block)])
    return code as string
  }

  async stateAndCodeAt(block: number): Promise<readonly [state: AccountState, code: string]> {
    const { address } = this
    if (block < 0) return [{ block, ...emptyAccount }, '0x']
    const [nonce, balance, code] = await this.#call([...accountCalls(address, block), codeCall(address, block)])
    return [{ block, ...toAccount(nonce, balance) }, code as string]
  }

  async readBlock(number: number): Promise<BlockWithExecution> {
    const [seen] = await this.node.read([number], this.limits, (calls) => this.#spend(calls))
    return seen as BlockWithExecution
  }

  /** Transfers in (after, until] that begin or end at the address. One of them may have failed. */
  listTransfers(form: ListForm, side: FilterSide, after: number, until: number): Promise<TransferList> {
    return form === 'logs' ? this.#listLogs(side, after, until) : this.#listTraces(side, after, until)
  }

  /** A node may limit the number of blocks or of logs, so shorter ranges are tried. */
  async #listLogs(side: FilterSide, after: number, until: number): Promise<TransferList> {
    for (let end = Math.min(until, after + this.#logBlocks); ; end = Math.min(until, after + this.#logBlocks)) {
      this.#spend(1)
      const call = transferLogsCall(this.address, side, { from: after + 1, until: end + 1 })
      const having = this.node.rpc.health().flatMap((_, index) => (this.#hasBlock(index, end) ? [index] : []))
      const [outcome] = await this.node.rpc.of(having).call([call], this.limits)
      if (outcome?.is === 'result')
        return {
          until: end,
          blocks: (outcome.result as { blockNumber: string }[]).map((log) => Number(log.blockNumber)),
        }
      const isTooLong = outcome?.is === 'error' && end - after > 1 && kindOf(outcome) !== 'unknown method'
      if (outcome && !isTooLong) throw new CallFault(outcome)
      this.#logBlocks = Math.max(1, Math.floor((end - after) / 10))
    }
  }

  async #listTraces(side: FilterSide, after: number, until: number): Promise<TransferList> {
    const outcome = await this.#callFilter(filterCall(this.address, side, { from: after + 1, until: until + 1 }), until)
    if (outcome.is !== 'result') throw new CallFault(outcome)
    const traces = outcome.result as TraceWithBlock[]
    // A full page may end within a block.
    const complete = traces.length < filteredMax ? until : (traces.at(-1)?.blockNumber ?? 0) - 1
    const transfers = traces.filter((trace) => trace.blockNumber <= complete && transfersValue(trace))
    return { until: complete, blocks: transfers.map(({ blockNumber }) => blockNumber) }
  }

  /** One node after the other, so that it is known which one has answered. */
  async #callFilter(call: RpcCall, until: number): Promise<RpcOutcome> {
    const filter = this.traceFilter(until)
    if (typeof filter !== 'object') throw needsTraceFilter(this.node.chain, filter ?? '')
    let failed: RpcOutcome | undefined
    const isFirst = (index: number) => Number(index === this.limits.first)
    const nodes = filter.nodes.toSorted((a, b) => isFirst(b) - isFirst(a))
    for (const index of nodes) {
      this.#spend(1)
      const isLast = index === nodes.at(-1)
      const options = isLast ? this.limits : { ...this.limits, skipsBackoff: true }
      const [outcome] = await this.node.rpc.of([index]).call([call], options)
      if (outcome?.is === 'result') {
        this.listedBy.add(this.node.rpc.health()[index]?.name ?? '')
        return outcome
      }
      failed = outcome
    }
    return failed as RpcOutcome
  }

  /**
   * The first block after the Amsterdam fork, up to `head`. Undefined: there is none. The chain remembers it, and later
   * searches only verify it.
   */
  async firstLoggedBlock(head: number): Promise<number | undefined> {
    const { chain, amsterdam } = this.node
    const areLogged = async (...blocks: number[]): Promise<boolean[]> => {
      const headers = await this.#call(
        blocks.filter((block) => block >= chain.firstBlock).map((block) => headerCall(block)),
      )
      return headers.map(isAmsterdam)
    }
    const known = amsterdam.firstBlock
    if (known !== undefined && known <= head) {
      // Before the first block of the chain there is no header.
      const [first, parent = false] = await areLogged(known, known - 1)
      if (first && !parent) return known
    }
    const [isForked] = await areLogged(head)
    if (!isForked) return undefined
    let [before, logged] = [chain.firstBlock - 1, head]
    while (logged - before > 1) {
      const middle = Math.floor((before + logged) / 2)
      const [isLogged] = await areLogged(middle)
      if (isLogged) logged = middle
      else before = middle
    }
    amsterdam.firstBlock = logged
    return logged
  }

  /** Whether the address was paid for an uncle of this block. Only proof-of-work blocks have uncles. */
  async isUncleMiner(block: number): Promise<boolean> {
    const count =
      (await this.#callOptional('eth_getUncleCountByBlockNumber', [hexOf(block)], validateQuantity)) ?? '0x0'
    for (let at = 0; at < Number(count); at++) {
      const uncle = await this.#callOptional('eth_getUncleByBlockNumberAndIndex', [hexOf(block), hexOf(at)])
      if (String((uncle as { miner?: unknown } | undefined)?.miner).toLowerCase() === this.address) return true
    }
    return false
  }

  /** Rejects a result that may mix two chains: a block that is not final must still be there at the end. */
  async verifyUnchanged(head: Header): Promise<void> {
    const [now] = await this.#call([headerCall(head.number)])
    if (toHeader(now).hash === head.hash) return
    throw new Fault('explorer.node_unavailable', {
      detail: 'the chain was reorganised during the search',
      retryAfterMs: 1000,
    })
  }

  async #call(calls: readonly RpcCall[]): Promise<unknown[]> {
    this.#spend(calls.length)
    return this.node.rpc.results(calls, this.limits)
  }

  /** undefined: the node does not support the call. */
  async #callOptional(method: string, params: readonly unknown[], validate?: RpcCall['validate']): Promise<unknown> {
    this.#spend(1)
    const call: RpcCall = { method, params, acceptsError: true, ...(validate && { validate }) }
    const [outcome] = await this.node.rpc.call([call], this.limits)
    return outcome?.is === 'result' ? outcome.result : undefined
  }

  #spend(calls: number): void {
    this.#calls += calls
    if (this.#calls > callsMax) throw callLimitReached(this.node.chain, callsMax, this.searchedUntil)
  }
}
