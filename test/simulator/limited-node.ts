// A simulated node with chosen capabilities, limits and errors.
import type { SimulatedAccount } from '#simulator/evm/accounts.ts'
import type { SimulatedBlock, SimulatedChain } from '#simulator/evm/chain.ts'
import { flatJson, hex } from '#simulator/evm/encode.ts'
import type { Frame } from '#simulator/evm/execute.ts'
import { type JsonRpcRequest, RpcRefusal, SimulatedNode, type TraceFilter } from '#simulator/evm/node.ts'
import type { NodeErrorKind } from '#sources/evm/node-errors.ts'
import { accessListJson, amsterdamOf } from './amsterdam.ts'

/** The errors of a client. */
export interface SimulatedDialect {
  /** A batch that is too large gets one error: as an object, or as a list with the id of the first call. */
  readonly batchRefusal: 'object' | 'list'
  /** Undefined if no error of the client is known for this situation. */
  errorOf(kind: NodeErrorKind): { readonly code: number; readonly message: string } | undefined
}

export interface SimulatedCapabilities {
  /** Supported trace methods. */
  readonly traces: readonly ('trace_block' | 'debug_traceBlockByNumber' | 'debug_traceTransaction')[]
  readonly receipts?: boolean
  /** Supports eth_getBlockAccessList. */
  readonly accessLists?: boolean
  /** Supports trace_filter over this many blocks at a time. */
  readonly filterBlocks?: number
  /** Blocks that trace_filter omits silently. */
  readonly filterLacks?: (block: number) => boolean
  /** eth_getLogs supports this many blocks at a time; default: any number. */
  readonly logBlocks?: number
  /** Blocks that eth_getLogs omits silently. */
  readonly logsLack?: (block: number) => boolean
  /** Number of blocks with available state; default: all. */
  readonly stateBlocks?: number
  readonly finalized?: boolean
  /** Number of blocks that it is behind the chain. */
  readonly behindBlocks?: number
  /** Number of blocks that it claims to be ahead. It returns an empty account for each of them. */
  readonly aheadBlocks?: number
  readonly batches?: boolean
  /** Calls per batch; default: any number. */
  readonly batchMax?: number
  /** The client whose errors it returns. */
  readonly dialect?: SimulatedDialect
  /** Transactions that the node fails to trace. */
  readonly untraceable?: (transaction: string, method: string) => boolean
  /** Ignores callTracer and returns the steps of the EVM, as Ganache does. */
  readonly ignoresTracer?: true
  /** Transactions whose traces lack a recipient. */
  readonly malformed?: (transaction: string, method: string) => boolean
  /** Size of the input of every call in a trace, to make traces as large as real ones. */
  readonly inputBytes?: number
}

interface LogJson {
  readonly address: string
  readonly topics: readonly string[]
  readonly blockNumber: string
}

interface LogFilter {
  readonly fromBlock: string
  readonly toBlock: string
  readonly address: string
  readonly topics: readonly (string | null)[]
}

interface FlatStep {
  readonly transactionHash?: string
  readonly traceAddress: readonly number[]
  readonly action: object
}

export class LimitedNode extends SimulatedNode {
  capabilities: SimulatedCapabilities
  /** The reported chain id. Tests set a wrong one. */
  chainId: string
  /** Number of requests so far, and of the calls in them. */
  rounds = 0
  calls = 0
  /** Called before each response. Tests use it to change the chain. */
  meanwhile: ((body: string) => void) | undefined

  constructor(chain: SimulatedChain, capabilities: SimulatedCapabilities = { traces: ['trace_block'] }) {
    super(chain)
    this.capabilities = capabilities
    this.chainId = chain.id
  }

  override async respond(body: string): Promise<{ readonly status: number; readonly text: string }> {
    this.meanwhile?.(body)
    this.rounds += 1
    const requests = JSON.parse(body) as JsonRpcRequest | JsonRpcRequest[]
    const refused = Array.isArray(requests) ? this.#refusedBatch(requests) : undefined
    if (refused) return { status: 200, text: JSON.stringify(refused) }
    this.calls += [requests].flat().length
    return super.respond(body)
  }

  /** The response to a batch that the node does not accept. */
  #refusedBatch(requests: readonly JsonRpcRequest[]): object | undefined {
    const { batches, batchMax = requests.length, dialect } = this.capabilities
    if (batches === false) return { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no batches' } }
    if (requests.length <= batchMax) return undefined
    const { code, message } = this.refusal('batch too large', -32600, 'batch too large')
    const isList = dialect?.batchRefusal === 'list'
    const refusal = { jsonrpc: '2.0', id: isList ? requests[0]?.id : null, error: { code, message } }
    return isList ? [refusal] : refusal
  }

  protected override resultOf(method: string, params: readonly unknown[]): unknown {
    const { traces, receipts, accessLists, filterBlocks, filterLacks } = this.capabilities
    switch (method) {
      case 'eth_chainId':
        return hex(BigInt(this.chainId))
      case 'eth_getBlockByNumber': {
        const block = this.findBlock(params[0])
        const json = super.resultOf(method, params)
        return block?.changes ? { ...(json as object), ...amsterdamOf(this.chain).headerJson(block) } : json
      }
      case 'eth_getBlockReceipts':
        if (receipts) return this.#receipts(this.blockAt(params[0])) ?? super.resultOf(method, params)
        break
      case 'eth_getTransactionReceipt': {
        const json = super.resultOf(method, params) as { transactionIndex: string; blockNumber: string } | null
        return (json && this.#receipts(this.blockAt(json.blockNumber))?.[Number(json.transactionIndex)]) ?? json
      }
      case 'eth_getBlockAccessList':
        if (accessLists) return accessListJson(this.blockAt(params[0]))
        break
      case 'eth_getLogs':
        return this.#logs(params[0] as LogFilter)
      case 'trace_filter':
        if (filterBlocks) {
          const { after, count, ...filter } = params[0] as TraceFilter
          const steps = this.filterTraces({ ...filter, after: 0, count: Number.POSITIVE_INFINITY }, filterBlocks)
          const newest = this.chain.head.number - (this.capabilities.behindBlocks ?? 0)
          const listed = (steps as { blockNumber: number }[]).filter(
            ({ blockNumber }) => blockNumber <= newest && !filterLacks?.(blockNumber),
          )
          return listed.slice(after, after + count)
        }
        break
      case 'trace_transaction':
        if (traces.includes('trace_block')) {
          this.#refuseUntraceable([this.transactionOf(params[0]).tx], method)
          return this.#malform(super.resultOf(method, params) as FlatStep[], method)
        }
        break
      case 'trace_block':
      case 'debug_traceBlockByNumber':
      case 'debug_traceTransaction':
        if (traces.includes(method)) return this.#traces(method, params[0])
        break
      default:
        return super.resultOf(method, params)
    }
    throw this.refusal('unknown method', -32601, `the method ${method} does not exist/is not available`)
  }

  protected override refusal(kind: NodeErrorKind, code: number, text: string): RpcRefusal {
    const error = this.capabilities.dialect?.errorOf(kind) ?? { code, message: text }
    return new RpcRefusal(error.code, error.message)
  }

  protected override findBlock(tag: unknown): SimulatedBlock | undefined {
    const { finalized, behindBlocks = 0, aheadBlocks = 0 } = this.capabilities
    if (tag === 'finalized' && finalized === false) throw new RpcRefusal(-32000, 'finalized block not found')
    const newest = this.chain.head.number - behindBlocks
    const isTag = tag === 'latest' || tag === 'finalized'
    if (aheadBlocks > 0 && (isTag || Number(tag) > newest)) {
      const number = isTag ? newest + aheadBlocks : Number(tag)
      const timeUnix = this.chain.head.timeUnix + 12 * (number - newest)
      return {
        ...this.chain.head,
        number,
        hash: `0x${number.toString(16).padStart(64, 'f')}`,
        timeUnix,
        transactions: [],
      }
    }
    if (tag === 'latest') return super.findBlock(newest)
    if (tag === 'finalized') return super.findBlock(Math.max(0, this.chain.final - behindBlocks))
    return Number(tag) > newest ? undefined : super.findBlock(tag)
  }

  protected override accountAt(address: unknown, tag: unknown): SimulatedAccount {
    const { stateBlocks, aheadBlocks } = this.capabilities
    if (aheadBlocks && Number(tag) > this.chain.head.number)
      return { nonce: 0n, balance: 0n, code: '0x' } as SimulatedAccount
    if (stateBlocks !== undefined && this.blockAt(tag).number < this.chain.head.number - stateBlocks)
      throw this.refusal('missing state', -32000, 'missing trie node 0a1b (path ) state is not available')
    return super.accountAt(address, tag)
  }

  /** Undefined for a block from before Amsterdam. */
  #receipts(block: SimulatedBlock): readonly { readonly logs: readonly LogJson[] }[] | undefined {
    return block.changes && amsterdamOf(this.chain).receipts(block)
  }

  #logs({ fromBlock, toBlock, address, topics }: LogFilter): readonly LogJson[] {
    const { logBlocks = Number.POSITIVE_INFINITY } = this.capabilities
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    if (to - from >= logBlocks) throw this.refusal('range too large', -32000, 'block range is too large')
    return this.chain.blocks
      .slice(from, to + 1)
      .flatMap((block) => this.#receipts(block) ?? [])
      .flatMap(({ logs }) => logs)
      .filter(
        (log) => log.address === address && topics.every((topic, at) => topic === null || topic === log.topics[at]),
      )
      .filter((log) => !this.capabilities.logsLack?.(Number(log.blockNumber)))
  }

  #traces(method: string, what: unknown): unknown {
    const input = `0x${'5a'.repeat(this.capabilities.inputBytes ?? 0)}`
    if (method === 'debug_traceTransaction') {
      const { tx } = this.transactionOf(what)
      this.#refuseUntraceable([tx], method)
      return this.#frameOf(tx, method, input)
    }
    const block = this.blockAt(what)
    if (method === 'trace_block') {
      this.#refuseUntraceable(block.transactions, method)
      return this.#malform(flatJson(block, input) as FlatStep[], method)
    }
    if (block.number === 0) throw new RpcRefusal(-32000, 'genesis is not traceable')
    return block.transactions.map((tx) =>
      this.capabilities.untraceable?.(tx.hash, method)
        ? { txHash: tx.hash, error: 'execution timeout' }
        : { txHash: tx.hash, result: this.#frameOf(tx, method, input) },
    )
  }

  #frameOf({ hash, frame }: { readonly hash: string; readonly frame: Frame }, method: string, input: string): object {
    const json = nestedJson(frame, input)
    if (this.capabilities.ignoresTracer) return { gas: '0x5208', structLogs: [], returnValue: '', storage: {} }
    return this.capabilities.malformed?.(hash, method) ? { ...json, to: undefined } : json
  }

  #malform(steps: readonly FlatStep[], method: string): readonly FlatStep[] {
    const isMalformed = ({ transactionHash, traceAddress }: FlatStep) =>
      traceAddress.length === 0 && transactionHash && this.capabilities.malformed?.(transactionHash, method)
    return steps.map((step) => (isMalformed(step) ? { ...step, action: { ...step.action, to: undefined } } : step))
  }

  #refuseUntraceable(transactions: readonly { readonly hash: string }[], method: string): void {
    if (transactions.some(({ hash }) => this.capabilities.untraceable?.(hash, method)))
      throw new RpcRefusal(-32000, 'execution timeout')
  }
}

/** callTracer: a failed call has an error and still lists its inner calls. */
export function nestedJson(frame: Frame, input = '0x'): object {
  return {
    type: frame.type,
    from: frame.from,
    to: frame.to,
    ...(frame.type !== 'STATICCALL' && { value: hex(frame.value) }),
    gas: '0x5208',
    gasUsed: '0x5208',
    input,
    ...(frame.failed && { error: 'execution reverted' }),
    ...(frame.calls.length > 0 && { calls: frame.calls.map((inner) => nestedJson(inner, input)) }),
  }
}
