// What a search asks of a node about one address, counted against the bounds of the search.
//
// 1. Bounded: no call is made beyond `callsMax`, and none is sent or waited for after `untilMs`.
// 2. A block whose traces could not be had whole is never handed on (blocks.ts).
import { Fault } from '#core/fault.ts'
import {
  accountCalls,
  balanceCall,
  codeCall,
  filterCall,
  filteredMax,
  headerCall,
  type ListSide,
  toAccount,
  toHeader,
} from '#io/evm/blocks.ts'
import type { RpcCall } from '#io/evm/rpc.ts'
import type { Account, Header, PlacedTrace, SeenBlock, TraceForm } from '#io/evm/shapes.ts'
import type { Funding } from './fundings.ts'
import type { ChainNode } from './node.ts'
import { noTraces, tooManyCalls } from './probe-faults.ts'
import type { Mark } from './probe-marks.ts'
import { fundingsOf, transfersOf } from './transfers.ts'

export interface WalkLimits {
  readonly fanOut: number
  readonly callsMax: number
  readonly blocksMax: number
  /** Blocks that are read to be sure that an account was no contract in between. */
  readonly sureBlocks: number
  /** Parts of a time at whose ends somebody is looked for where there are more blocks. */
  readonly looks: number
  /** On the monotonic clock. */
  readonly untilMs: number
  readonly signal?: AbortSignal
  /** Time to come to an end with what has been shown so far. */
  readonly over?: () => boolean
  /** What would only be `looked` is refused. */
  readonly unsure?: 'answer' | 'refuse'
  /** An index has read the blocks up to here, and none of them holds a transfer to the address. */
  readonly readUpTo?: number
  /** Where an earlier search ended. */
  readonly since?: Mark | undefined
  /** Told how far this one has come, whether or not it finishes. */
  readonly keep?: (mark: Mark) => void
}

/** Part of what a node lists. Nothing is missing up to the end of block `upTo`, if the node is to be believed. */
export interface Listed {
  readonly upTo: number
  readonly traces: readonly PlacedTrace[]
}

/** Whole blocks that are asked for together; so many of these groups are under way at the same time. */
const groupBlocks = 4
/** A first look for somebody, and the account once more; finding its next change comes on top. */
const lastCalls = 80

export class Asks {
  readonly node: ChainNode
  readonly address: string
  readonly limits: WalkLimits
  /** The newest block of the chain. */
  readonly head: number
  /** Nothing has come in up to here. */
  at = -1
  /** How far the blocks that are read now go. */
  until: number
  #callsLeft: number
  /** What a block cost when blocks were read last. */
  #callsPerBlock: number | undefined

  constructor(node: ChainNode, address: string, limits: WalkLimits, head: number) {
    this.node = node
    this.address = address
    this.limits = limits
    this.head = head
    this.until = head
    this.#callsLeft = limits.callsMax
  }

  async look(blocks: readonly number[]): Promise<Account[]> {
    const answers = await this.ask(blocks.flatMap((block) => accountCalls(this.address, block)))
    return blocks.map((_, at) => toAccount(answers[at * 2], answers[at * 2 + 1]))
  }

  async code(at: number, address = this.address): Promise<string> {
    const [code] = at < 0 ? ['0x'] : await this.codes([at], address)
    return code as string
  }

  async codes(blocks: readonly number[], address = this.address): Promise<string[]> {
    return (await this.ask(blocks.map((block) => codeCall(address, block)))) as string[]
  }

  /** Whether there was code or a balance at any of these blocks. */
  async metAt(blocks: readonly number[]): Promise<boolean> {
    const { address } = this
    const answers = await this.ask(blocks.flatMap((block) => [codeCall(address, block), balanceCall(address, block)]))
    return answers.some((code, at) => at % 2 === 0 && (code !== '0x' || BigInt(answers[at + 1] as string) > 0n))
  }

  async read(numbers: readonly number[]): Promise<SeenBlock[]> {
    let calls = 0
    const spend = (some: number) => {
      this.#spend(some)
      calls += some
    }
    const groups = Array.from({ length: Math.ceil(numbers.length / groupBlocks) }, (_, at) =>
      numbers.slice(at * groupBlocks, (at + 1) * groupBlocks),
    )
    const seen = await Promise.all(groups.map((some) => this.node.read(some, this.limits, spend)))
    this.#callsPerBlock = Math.max(2, calls / numbers.length)
    return seen.flat()
  }

  /** Calls that may still be made, so that there are others to come to an end with. */
  get callsLeft(): number {
    const { callsMax, fanOut } = this.limits
    return this.#callsLeft - Math.min(lastCalls + 16 * fanOut, callsMax / 4)
  }

  /** Blocks that may still be read, so that calls are left to come to an end with. Traced one by one, what a block costs is not known before one was. */
  blocksLeft(traces: TraceForm): number {
    const left = this.callsLeft
    if (this.#callsPerBlock === undefined && traces === 'debug_traceTransaction') return left > 0 ? 1 : 0
    return Math.floor(left / (this.#callsPerBlock ?? 2))
  }

  /** Steps in (after, until] that begin or end at the address. undefined: the node refuses. */
  async list(side: ListSide, after: number, until: number): Promise<Listed | undefined> {
    this.#spend(1)
    const call = filterCall(this.address, side, { from: after + 1, until: until + 1 })
    const outcome = await this.node.list(call, this.limits)
    if (outcome.is !== 'result') return undefined
    const traces = outcome.result as PlacedTrace[]
    // A full page may end within a block.
    const upTo = traces.length < filteredMax ? until : (traces.at(-1)?.blockNumber ?? 0) - 1
    return { upTo, traces: traces.filter(({ blockNumber }) => blockNumber <= upTo) }
  }

  async ask(calls: readonly RpcCall[]): Promise<unknown[]> {
    this.#spend(calls.length)
    return this.node.rpc.results(calls, this.limits)
  }

  /** The chain that was searched is the one that is there now; otherwise the answer may mix two. */
  async sameChain(head: Header): Promise<void> {
    const [now] = await this.ask([headerCall(head.number)])
    if (toHeader(now).hash === head.hash) return
    throw new Fault('explorer.node_unavailable', {
      detail: 'the chain was reorganised during the search',
      retryAfterMs: 1000,
    })
  }

  /** The first transfer to the address in this block. */
  firstIn(seen: SeenBlock): Funding | undefined {
    return fundingsOf(this.node.chain.id, transfersOf(seen)).find((one) => one.address === this.address)
  }

  /**
   * The same of a block that changed the account so. Without traces the block's plain transfers are the whole story only if they explain the
   * balance to the last wei: the account sent nothing, was not paid for the block, and nothing is left over that an internal transfer brought.
   */
  fundingIn(seen: SeenBlock, before: Account, after: Account): Funding | undefined {
    const { block, insight } = seen
    if (insight.form !== 'receipts' || block.transactions.length === 0) return this.firstIn(seen)
    const { address } = this
    const plain = transfersOf(seen).filter(({ to }) => to === address)
    const came = plain.reduce((sum, one) => sum + one.valueWei, 0n)
    const withdrawn = block.withdrawals.reduce((sum, one) => sum + (one.address === address ? one.valueWei : 0n), 0n)
    const explained =
      after.nonce === before.nonce &&
      block.miner !== address &&
      after.balanceWei - before.balanceWei === came + withdrawn
    if (!explained) throw noTraces(block.number)
    return this.firstIn(seen)
  }

  #spend(calls: number): void {
    this.#callsLeft -= calls
    if (this.#callsLeft < 0) throw tooManyCalls(this.limits.callsMax, this.at, this.until)
  }
}
