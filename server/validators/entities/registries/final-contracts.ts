// Calls contracts as of one final block, at up to two execution nodes.
//
// 1. All calls are about the same block, by its hash. A node that knows no hashes in calls is asked by number, and the block
//    must still have its hash at the end (`confirm`).
// 2. If two nodes are configured and both respond, their results must be the same.
// 3. No answer is stored before `confirm` has succeeded.
import { errorMessage } from '#core/error-message.ts'
import { headerCall, hexOf } from '#sources/evm/blocks.ts'
import { CallFault, type Rpc, type RpcCall } from '#sources/evm/rpc.ts'
import { AbiReply } from './abi-reply.ts'
import {
  type Answer,
  decodeAnswers,
  encodeQuestions,
  gasOfCall,
  type Question,
  questionsPerCall,
  selectorOf,
} from './contract-questions.ts'

export interface FinalBlock {
  readonly number: number
  readonly hash: string
  readonly unix: number
}

export interface FinalContracts {
  readonly block: FinalBlock
  /** The answers in the order of the questions; undefined: the contract reverted. */
  ask(selector: string, questions: readonly Question[]): Promise<(Answer | undefined)[]>
  /** The reply of a contract that can be trusted, as documented or not; undefined: it reverted, or the reply is too large. */
  read(contract: string, signature: string, args: readonly number[]): Promise<AbiReply | undefined>
  confirm(): Promise<void>
}

/** Nodes contradict each other or themselves. Nothing is stored. The name is what `failureKindOf` knows. */
export class RegistryContradiction extends Error {
  override readonly name = 'ContradictionError'
}

const nodesMax = 2

interface RpcHeader {
  readonly number: string
  readonly hash: string
  readonly timestamp: string
}

const toBlock = ({ number, hash, timestamp }: RpcHeader): FinalBlock => ({
  ...{ number: Number(number), hash: hash.toLowerCase(), unix: Number(timestamp) },
})

/** The newest block that is final for all nodes that respond. */
export async function openFinalContracts(rpc: Rpc, signal: AbortSignal): Promise<FinalContracts> {
  const nodes = rpc
    .health()
    .slice(0, nodesMax)
    .map((_, at) => rpc.of([at]))
  const finals = await fromNodes(nodes, async (node) => {
    const [header] = await node.results([headerCall('finalized')], { signal })
    return { node, block: toBlock(header as RpcHeader) }
  })
  const { block } = finals.reduce((a, b) => (a.block.number <= b.block.number ? a : b))
  const readers = finals.map(({ node }) => createNodeReader(node, block, signal))
  return {
    block,
    async ask(selector, questions) {
      const answers: (Answer | undefined)[] = []
      for (let from = 0; from < questions.length; from += questionsPerCall) {
        const part = questions.slice(from, from + questionsPerCall)
        const data = encodeQuestions(selector, part)
        const replies = await fromNodes(readers, (reader) => reader.call({ data, gas: hexOf(gasOfCall) }))
        const decoded = decodeAnswers(theSame(replies, block), part.length)
        if (!decoded) throw new Error('the reply of the execution node to eth_call has another size than requested')
        answers.push(...decoded)
      }
      return answers
    },
    async read(contract, signature, args) {
      const words = args.map((value) => value.toString(16).padStart(64, '0')).join('')
      const request = { to: contract, data: `0x${selectorOf(signature)}${words}` }
      const reply = theSame(await fromNodes(readers, (reader) => readOrReverted(reader, request)), block)
      return reply === reverted ? undefined : AbiReply.of(reply)
    },
    async confirm() {
      const found = await fromNodes(readers, (reader) => reader.hash())
      if (found.some((hash) => hash !== block.hash))
        throw new RegistryContradiction(`block ${block.number} was reported as final, and has another hash now`)
    },
  }
}

const reverted = 'reverted'
const tooLarge: ReadonlySet<CallFault['kind']> = new Set(['response too large', 'timeout'])

async function readOrReverted({ call }: { call(request: object): Promise<string> }, request: object): Promise<string> {
  try {
    return await call(request)
  } catch (error) {
    if (!(error instanceof CallFault)) throw error
    if (/revert/i.test(error.reason) || tooLarge.has(error.kind)) return reverted
    throw error
  }
}

/** What the nodes returned that responded. Throws if none did. */
async function fromNodes<N, T>(nodes: readonly N[], read: (node: N) => Promise<T>): Promise<[T, ...T[]]> {
  const settled = await Promise.allSettled(nodes.map(read))
  const [first, ...others] = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (first !== undefined) return [first, ...others]
  throw settled.find((result) => result.status === 'rejected')?.reason ?? new Error('no execution node is configured')
}

function theSame([first, ...others]: [string, ...string[]], { number }: FinalBlock): string {
  if (others.some((other) => other.toLowerCase() !== first.toLowerCase()))
    throw new RegistryContradiction(`two execution nodes answer a call as of block ${number} differently`)
  return first
}

function createNodeReader(node: Rpc, block: FinalBlock, signal: AbortSignal) {
  /** EIP-1898, unless the node refuses it. */
  let atBlock: unknown = { blockHash: block.hash, requireCanonical: true }
  let isAccepted = false
  const call = async (request: object): Promise<string> => {
    const method: RpcCall = {
      ...{ method: 'eth_call', params: [request, atBlock] },
      ...((!isAccepted || 'to' in request) && { acceptsError: true }),
      validate: (raw) => (typeof raw === 'string' && /^0x[0-9a-f]*$/i.test(raw) ? undefined : 'not bytes'),
    }
    const [outcome] = await node.call([method], { signal })
    if (outcome?.is === 'result') isAccepted = true
    if (outcome?.is === 'result') return outcome.result as string
    if (typeof atBlock === 'object' && outcome?.is === 'error' && refusesHashes(outcome)) {
      atBlock = hexOf(block.number)
      return call(request)
    }
    throw new CallFault(outcome ?? { is: 'unusable', message: 'no response' })
  }
  return {
    call,
    hash: async () => toBlock((await node.results([headerCall(block.number)], { signal }))[0] as RpcHeader).hash,
  }
}

/** The node does not know EIP-1898. */
const refusesHashes = ({ code, message }: { readonly code: number; readonly message: string }): boolean =>
  code === -32602 || /invalid (argument|param|type)|cannot unmarshal|expected .*string/i.test(message)

/** The state of the block is gone: a newer one may help. */
export const isStateGone = (error: unknown): boolean =>
  error instanceof CallFault && (error.kind === 'missing state' || error.kind === 'not found')

export const describeGoneState = (error: unknown): string =>
  `${errorMessage(error)}. Registries are asked as of a final block, about 100 blocks behind the head: add a node to execution.rpc that keeps the state of these blocks`
