// A simulated node that fails on request.
import type { SimulatedChain } from '#simulator/evm/chain.ts'
import type { JsonRpcRequest } from '#simulator/evm/node.ts'
import type { SeededRandom } from '#simulator/seeded-random.ts'
import { LimitedNode, type SimulatedCapabilities } from './limited-node.ts'

export type SimulatedFault =
  | 'status 500'
  | 'status 429'
  | 'slow'
  | 'garbage'
  | 'half'
  | 'null'
  | 'error'
  | 'rate error'
  | 'missing traces'
  | 'wrong ids'

export interface SimulatedFaults {
  readonly random: SeededRandom
  /** Probability per request. */
  readonly rate: number
  readonly kinds: readonly SimulatedFault[]
}

interface JsonRpcReply {
  readonly id: number | null
  readonly result?: unknown
}

/** Faults that replace the whole response. */
const failedResponses: Readonly<Partial<Record<SimulatedFault, { readonly status: number; readonly text: string }>>> = {
  'status 500': { status: 500, text: 'broken' },
  'status 429': { status: 429, text: 'slow down' },
  garbage: { status: 200, text: '<html>' },
}

export class FaultyNode extends LimitedNode {
  faults: SimulatedFaults | undefined
  readonly #slowMs: number

  constructor(chain: SimulatedChain, capabilities?: SimulatedCapabilities, slowMs = 50) {
    super(chain, capabilities)
    this.#slowMs = slowMs
  }

  override async respond(body: string): Promise<{ readonly status: number; readonly text: string }> {
    const { faults } = this
    if (!faults?.random.happens(faults.rate)) return super.respond(body)
    const fault = faults.random.pick(faults.kinds)
    const failed = failedResponses[fault]
    if (failed) {
      this.meanwhile?.(body)
      this.rounds += 1
      return failed
    }
    if (fault === 'slow') await new Promise((resolve) => setTimeout(resolve, this.#slowMs))
    const { status, text } = await super.respond(body)
    const request = JSON.parse(body) as JsonRpcRequest | JsonRpcRequest[]
    const reply = JSON.parse(text) as JsonRpcReply | JsonRpcReply[]
    if (!Array.isArray(request))
      return { status, text: JSON.stringify(alter(request, reply as JsonRpcReply, faults.random, fault)) }
    // A refused batch.
    if (!Array.isArray(reply) || reply.length !== request.length) return { status, text }
    const replies = request.map((one, at) => alter(one, reply.at(-1 - at) as JsonRpcReply, faults.random, fault))
    if (fault === 'half') replies.splice(faults.random.whole(0, replies.length))
    return { status, text: JSON.stringify(replies.reverse()) }
  }
}

function alter({ method }: JsonRpcRequest, reply: JsonRpcReply, random: SeededRandom, fault: SimulatedFault): object {
  const { id, result } = reply
  if (fault === 'wrong ids') return { ...reply, id: Number(id) + 1000 }
  if (method === 'eth_chainId') return reply
  const envelope = { jsonrpc: '2.0', id }
  if (fault === 'null') return { ...envelope, result: null }
  if (fault === 'error') return { ...envelope, error: { code: -32603, message: 'internal error' } }
  if (fault === 'rate error') return { ...envelope, error: { code: -32005, message: 'limit exceeded' } }
  const isCut = fault === 'missing traces' && /trace|Receipts/.test(method) && result !== undefined
  return isCut ? { ...envelope, result: shorten(method, result, random) } : reply
}

/** Drops about half of the result: the end of a list, or random steps of trace_filter. */
function shorten(method: string, result: unknown, random: SeededRandom): unknown {
  if (!Array.isArray(result)) return {}
  if (method === 'trace_filter') return result.filter(() => random.happens(0.5))
  return result.slice(0, Math.floor(result.length / 2))
}
