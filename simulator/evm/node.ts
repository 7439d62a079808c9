// A simulated node: JSON-RPC over HTTP, or called directly without a socket. Tests choose its capabilities.
import type { NodeErrorKind } from '#sources/evm/node-errors.ts'
import { type SimulatedServer, startSimulatedServer } from '../listen.ts'
import type { SimulatedBlock, SimulatedChain } from './chain.ts'
import { blockJson, flatJson, hex, nestedJson, receiptJson } from './encode.ts'

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
  /** Supports trace_filter over this many blocks at a time. */
  readonly filterBlocks?: number
  /** Blocks that trace_filter omits silently. */
  readonly filterLacks?: (block: number) => boolean
  /** Number of blocks with available state; default: all. */
  readonly stateBlocks?: number
  readonly finalized?: boolean
  readonly batches?: boolean
  /** Calls per batch; default: any number. */
  readonly batchMax?: number
  /** The client whose errors it returns. */
  readonly dialect?: SimulatedDialect
  /** Transactions that the node fails to trace. */
  readonly untraceable?: (transaction: string, method: string) => boolean
  /** Size of the input of every call in a trace, to make traces as large as real ones. */
  readonly inputBytes?: number
}

export interface JsonRpcRequest {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

class RpcRefusal extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export class SimulatedNode {
  readonly chain: SimulatedChain
  capabilities: SimulatedCapabilities
  /** The reported chain id. Tests set a wrong one. */
  chainId: string
  /** Added to the time of every block, so that the newest one can have the current time. */
  laterSeconds = 0
  /** Number of requests so far, and of the calls in them. */
  rounds = 0
  calls = 0
  /** Called before each response. Tests use it to change the chain. */
  meanwhile: ((body: string) => void) | undefined
  #server: SimulatedServer | undefined

  constructor(chain: SimulatedChain, capabilities: SimulatedCapabilities = { traces: ['trace_block'] }) {
    this.chain = chain
    this.capabilities = capabilities
    this.chainId = chain.id
  }

  /** Handles a request body. */
  async respond(body: string): Promise<{ readonly status: number; readonly text: string }> {
    this.meanwhile?.(body)
    this.rounds += 1
    const requests = JSON.parse(body) as JsonRpcRequest | JsonRpcRequest[]
    if (!Array.isArray(requests)) return { status: 200, text: JSON.stringify(this.#reply(requests)) }
    if (this.capabilities.batches === false) {
      const refusal = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no batches' } }
      return { status: 200, text: JSON.stringify(refusal) }
    }
    if (requests.length > (this.capabilities.batchMax ?? requests.length)) {
      const error = this.#error('batch too large', -32600, 'batch too large')
      const isList = this.capabilities.dialect?.batchRefusal === 'list'
      const refusal = { jsonrpc: '2.0', id: isList ? requests[0]?.id : null, error }
      return { status: 200, text: JSON.stringify(isList ? [refusal] : refusal) }
    }
    const replies = requests.map((request) => this.#reply(request))
    // A node may return the results of a batch in any order.
    return { status: 200, text: JSON.stringify(replies.reverse()) }
  }

  async listen(): Promise<string> {
    this.#server = await startSimulatedServer(async (_, body, response) => {
      // Other callers, such as one that reads the time of the node, do not count as requests.
      if (body === '') throw new Error('no request')
      const { status, text } = await this.respond(body)
      response.writeHead(status, { 'content-type': 'application/json' }).end(text)
    }, 'not JSON')
    return `${this.#server.url}/`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.close()
  }

  #error(kind: NodeErrorKind, code: number, message: string): { readonly code: number; readonly message: string } {
    return this.capabilities.dialect?.errorOf(kind) ?? { code, message }
  }

  #refusal(kind: NodeErrorKind, code: number, text: string): RpcRefusal {
    const error = this.#error(kind, code, text)
    return new RpcRefusal(error.code, error.message)
  }

  #reply({ id, method, params }: JsonRpcRequest): object {
    this.calls += 1
    const envelope = { jsonrpc: '2.0', id }
    if (method === 'eth_chainId') return { ...envelope, result: hex(BigInt(this.chainId)) }
    try {
      return { ...envelope, result: this.#result(method, params) }
    } catch (error) {
      if (error instanceof RpcRefusal) return { ...envelope, error: { code: error.code, message: error.message } }
      throw error
    }
  }

  #result(method: string, params: readonly unknown[]): unknown {
    switch (method) {
      case 'eth_getBlockByNumber': {
        const block = this.#block(params[0], false)
        const timeUnix = (block?.timeUnix ?? 0) + this.laterSeconds
        return block ? blockJson({ ...block, timeUnix }, params[1] === true) : null
      }
      case 'eth_getBlockTransactionCountByNumber':
        return hex(this.#block(params[0], true)?.transactions.length ?? 0)
      case 'eth_getBalance':
        return hex(this.#account(params).balance)
      case 'eth_getTransactionCount':
        return hex(this.#account(params).nonce)
      case 'eth_getCode':
        return this.#account(params).code
      case 'eth_getTransactionReceipt': {
        const found = this.#findTransaction(params[0])
        return found ? receiptJson(found.block, found.tx, found.at) : null
      }
      case 'eth_getBlockReceipts':
        if (this.capabilities.receipts) {
          const block = this.#block(params[0], true) as SimulatedBlock
          return block.transactions.map((tx, at) => receiptJson(block, tx, at))
        }
        break
      case 'trace_filter':
        if (this.capabilities.filterBlocks) return this.#filtered(params[0] as Filter, this.capabilities.filterBlocks)
        break
      case 'trace_transaction':
        if (this.capabilities.traces.includes('trace_block')) return this.#flatTrace(params[0])
        break
      case 'trace_block':
      case 'debug_traceBlockByNumber':
      case 'debug_traceTransaction':
        if (this.capabilities.traces.includes(method)) return this.#traces(method, params[0])
    }
    throw this.#refusal('unknown method', -32601, `the method ${method} does not exist/is not available`)
  }

  #traces(method: string, what: unknown): unknown {
    const input = `0x${'5a'.repeat(this.capabilities.inputBytes ?? 0)}`
    if (method === 'debug_traceTransaction') {
      const { tx } = this.#requireTransaction(what)
      this.#refuseUntraceable([tx.hash], method)
      return nestedJson(tx.frame, input)
    }
    const block = this.#block(what, true) as SimulatedBlock
    if (method === 'trace_block') {
      this.#refuseUntraceable(
        block.transactions.map(({ hash }) => hash),
        method,
      )
      return flatJson(block, input)
    }
    if (block.number === 0) throw new RpcRefusal(-32000, 'genesis is not traceable')
    return block.transactions.map((tx) =>
      this.capabilities.untraceable?.(tx.hash, method)
        ? { txHash: tx.hash, error: 'execution timeout' }
        : { txHash: tx.hash, result: nestedJson(tx.frame, input) },
    )
  }

  #flatTrace(hash: unknown): unknown {
    const { block } = this.#requireTransaction(hash)
    this.#refuseUntraceable([String(hash)], 'trace_transaction')
    return (flatJson(block) as { transactionHash?: string }[]).filter((step) => step.transactionHash === hash)
  }

  #refuseUntraceable(transactions: readonly string[], method: string): void {
    const { untraceable } = this.capabilities
    if (untraceable && transactions.some((hash) => untraceable(hash, method)))
      throw new RpcRefusal(-32000, 'execution timeout')
  }

  #filtered({ fromBlock, toBlock, toAddress, fromAddress, after, count }: Filter, blocksMax: number): unknown {
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    if (to - from >= blocksMax) throw this.#refusal('range too large', -32000, 'block range is too large')
    const blocks = this.chain.blocks
      .slice(from, to + 1)
      .filter(({ number }) => !this.capabilities.filterLacks?.(number))
    const steps = blocks
      .flatMap((block) => flatJson(block))
      .filter((step) => !toAddress || endsAt(step, toAddress[0]))
      .filter((step) => !fromAddress || beginsAt(step, fromAddress[0]))
    return steps.slice(after, after + count)
  }

  #block(tag: unknown, needed: boolean): SimulatedBlock | undefined {
    if (tag === 'finalized' && this.capabilities.finalized === false)
      throw new RpcRefusal(-32000, 'finalized block not found')
    const number = tag === 'latest' ? this.chain.head.number : tag === 'finalized' ? this.chain.final : Number(tag)
    const block = this.chain.blocks[number]
    if (!block && needed) throw this.#refusal('not found', -32000, 'header not found')
    return block
  }

  #account([address, tag]: readonly unknown[]) {
    const block = this.#block(tag, true) as SimulatedBlock
    const { stateBlocks } = this.capabilities
    if (stateBlocks !== undefined && block.number < this.chain.head.number - stateBlocks) {
      throw this.#refusal('missing state', -32000, 'missing trie node 0a1b (path ) state is not available')
    }
    return this.chain.accountAt(String(address), block.number)
  }

  #findTransaction(hash: unknown) {
    for (const block of this.chain.blocks) {
      for (const [at, tx] of block.transactions.entries()) if (tx.hash === hash) return { block, tx, at }
    }
    return undefined
  }

  #requireTransaction(hash: unknown) {
    const found = this.#findTransaction(hash)
    if (!found) throw new RpcRefusal(-32000, 'transaction not found')
    return found
  }
}

interface Filter {
  readonly fromBlock: string
  readonly toBlock: string
  readonly toAddress?: readonly [string]
  readonly fromAddress?: readonly [string]
  readonly after: number
  readonly count: number
}

function endsAt(step: object, address: string): boolean {
  const { action, result } = step as { action: Record<string, string>; result?: Record<string, string> | null }
  return [action.to, action.refundAddress, result?.address].includes(address)
}

function beginsAt(step: object, address: string): boolean {
  const { action } = step as { action: Record<string, string> }
  return [action.from, action.address].includes(address)
}
