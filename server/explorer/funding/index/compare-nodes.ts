// Compares the nodes of a chain with each other before a range of blocks is stored
// (behaviour/explorer.md#comparison-of-nodes): the hash of one block and its transfers. A node that does not answer, or
// has no traces, is not compared. That does not stop the index.
import { Fault } from '#core/fault.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import type { BlockWithExecution } from '#sources/evm/types.ts'
import { transfersOf } from '../transfers.ts'

/** Two nodes return different answers about a final block. Nothing of the range is stored. */
export class NodesDisagree extends Fault {
  constructor(chain: string, block: number, difference: string) {
    super('explorer.node_unavailable', {
      detail: `chain ${chain}: nodes disagree about the finalized block ${block}: ${difference}. Find out which node is wrong, then repair it or remove it from explorer.chains`,
    })
  }
}

/** Returns which nodes were not compared and why. `read`: what is about to be stored. */
export async function compareNodes(
  node: ChainNode,
  read: BlockWithExecution,
  options: RpcCallOptions,
): Promise<readonly string[]> {
  const { number } = read.block
  const answers = await node.readFromEach(number, options)
  const notCompared = answers.flatMap(({ name, answer }) => (typeof answer === 'string' ? [`${name}: ${answer}`] : []))
  const known = answers.flatMap(({ name, answer }) =>
    typeof answer === 'string' ? [] : [{ name, text: describeBlock(answer) }],
  )
  const [one] = known
  const other = known.find(({ text }) => text !== one?.text)
  if (one && other) throw new NodesDisagree(node.chain.id, number, `${one.name} and ${other.name}`)
  if (one && one.text !== describeBlock(read))
    throw new NodesDisagree(node.chain.id, number, `${one.name} returned something else before`)
  return notCompared
}

const describeBlock = (read: BlockWithExecution): string =>
  JSON.stringify([read.block.hash, read.block.timeUnix, transfersOf(read)], (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  )

/** The block with the most transfers, because it shows most. */
export const chooseSample = (best: BlockWithExecution | undefined, next: BlockWithExecution): BlockWithExecution =>
  best && transferCount(best) >= transferCount(next) ? best : next

const transferCount = (read: BlockWithExecution): number => transfersOf(read).length
