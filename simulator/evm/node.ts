// A simulated archive node: JSON-RPC over HTTP, or called directly without a socket. test/simulator/limited-node.ts has
// nodes with other capabilities.
import type { NodeErrorKind } from '#sources/evm/node-errors.ts'
import { type SimulatedServer, sendJson, startSimulatedServer } from '../listen.ts'
import type { SimulatedAccount } from './accounts.ts'
import type { SimulatedBlock, SimulatedChain } from './chain.ts'
import { blockJson, flatJson, hex, receiptJson } from './encode.ts'

export interface JsonRpcRequest {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** The longest range of trace_filter. */
const filterBlocksMax = 10_000

export class RpcRefusal extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export class SimulatedNode {
  readonly chain: SimulatedChain
  /** Added to the time of every block, so that the newest one can have the current time. */
  laterSeconds = 0
  #server: SimulatedServer | undefined

  constructor(chain: SimulatedChain) {
    this.chain = chain
  }

  /** Handles a request body. */
  async respond(body: string): Promise<{ readonly status: number; readonly text: string }> {
    const requests = JSON.parse(body) as JsonRpcRequest | JsonRpcRequest[]
    // A node may return the results of a batch in any order.
    const reply = Array.isArray(requests)
      ? requests.map((request) => this.#reply(request)).reverse()
      : this.#reply(requests)
    return { status: 200, text: JSON.stringify(reply) }
  }

  async listen(): Promise<string> {
    this.#server = await startSimulatedServer(async (_, body, response) => {
      // Other callers, such as one that reads the time of the node, do not count as requests.
      if (body === '') throw new Error('no request')
      const { status, text } = await this.respond(body)
      sendJson(response, status, text)
    }, 'not JSON')
    return `${this.#server.url}/`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.close()
  }

  #reply({ id, method, params }: JsonRpcRequest): object {
    const envelope = { jsonrpc: '2.0', id }
    try {
      return { ...envelope, result: this.resultOf(method, params) }
    } catch (error) {
      if (error instanceof RpcRefusal) return { ...envelope, error: { code: error.code, message: error.message } }
      throw error
    }
  }

  protected resultOf(method: string, params: readonly unknown[]): unknown {
    const [first, second] = params
    const results: Readonly<Record<string, () => unknown>> = {
      eth_chainId: () => hex(BigInt(this.chain.id)),
      eth_getBlockByNumber: () => {
        const block = this.findBlock(first)
        return block ? blockJson({ ...block, timeUnix: block.timeUnix + this.laterSeconds }, second === true) : null
      },
      eth_getBlockTransactionCountByNumber: () => hex(this.blockAt(first).transactions.length),
      eth_getBalance: () => hex(this.accountAt(first, second).balance),
      eth_getTransactionCount: () => hex(this.accountAt(first, second).nonce),
      eth_getCode: () => this.accountAt(first, second).code,
      eth_getTransactionReceipt: () => {
        const found = this.#findTransaction(first)
        return found ? receiptJson(found.block, found.tx, found.at) : null
      },
      eth_getBlockReceipts: () => {
        const block = this.blockAt(first)
        return block.transactions.map((tx, at) => receiptJson(block, tx, at))
      },
      trace_filter: () => this.filterTraces(first as TraceFilter, filterBlocksMax),
      trace_transaction: () => {
        const steps = flatJson(this.transactionOf(first).block) as { transactionHash?: string }[]
        return steps.filter(({ transactionHash }) => transactionHash === first)
      },
      trace_block: () => flatJson(this.blockAt(first)),
    }
    const read = results[method]
    if (!read) throw this.refusal('unknown method', -32601, `the method ${method} does not exist/is not available`)
    return read()
  }

  /** The error for a situation. Clients have different ones. */
  protected refusal(_kind: NodeErrorKind, code: number, message: string): RpcRefusal {
    return new RpcRefusal(code, message)
  }

  protected filterTraces(
    { fromBlock, toBlock, toAddress, fromAddress, after, count }: TraceFilter,
    blocksMax: number,
  ): readonly object[] {
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    if (to - from >= blocksMax) throw this.refusal('range too large', -32000, 'block range is too large')
    const steps = this.chain.blocks
      .slice(from, to + 1)
      .flatMap((block) => flatJson(block))
      .filter((step) => !toAddress || endsAt(step, toAddress[0]))
      .filter((step) => !fromAddress || beginsAt(step, fromAddress[0]))
    return steps.slice(after, after + count)
  }

  protected findBlock(tag: unknown): SimulatedBlock | undefined {
    const number = tag === 'latest' ? this.chain.head.number : tag === 'finalized' ? this.chain.final : Number(tag)
    return this.chain.blocks[number]
  }

  protected blockAt(tag: unknown): SimulatedBlock {
    const block = this.findBlock(tag)
    if (!block) throw this.refusal('not found', -32000, 'header not found')
    return block
  }

  protected accountAt(address: unknown, tag: unknown): SimulatedAccount {
    return this.chain.accountAt(String(address), this.blockAt(tag).number)
  }

  protected transactionOf(hash: unknown) {
    const found = this.#findTransaction(hash)
    if (!found) throw new RpcRefusal(-32000, 'transaction not found')
    return found
  }

  #findTransaction(hash: unknown) {
    for (const block of this.chain.blocks) {
      for (const [at, tx] of block.transactions.entries()) if (tx.hash === hash) return { block, tx, at }
    }
    return undefined
  }
}

export interface TraceFilter {
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
