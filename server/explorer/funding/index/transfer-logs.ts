// Which indexed blocks were read from the logs of transfers, and whether the access lists of the chain confirm them
// (behaviour/explorer.md#blocks-after-the-amsterdam-fork).
import type { Range } from '#core/ranges.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import { findUnexplainedBalance } from '#sources/evm/amsterdam.ts'
import { accessListCall } from '#sources/evm/blocks.ts'
import type { DecodedResults } from '#sources/evm/large-results.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import type { BlockWithExecution } from '#sources/evm/types.ts'
import { addCoverage, removeCoverage } from '#storage/coverage.ts'
import type { StateWriter } from '#storage/state.ts'

/** The coverage stream of the blocks that were read from logs. The other indexed blocks were read from traces. */
export const logsStream = (chain: string): string => `explorer/logs/${chain}`

/** Of the blocks of a range, stores which were read from logs. Call it in the transaction of their rows. */
export async function putLoggedBlocks(
  tx: StateWriter,
  chain: string,
  range: Range,
  logged: readonly Range[],
): Promise<void> {
  await removeCoverage(tx, logsStream(chain), range)
  for (const { from, until } of logged) await addCoverage(tx, logsStream(chain), from, until)
}

export const isLogged = ({ execution }: BlockWithExecution): boolean => execution.form === 'logs'

/**
 * Compares the transfers of a block with the balances in its access list. Returns the difference. Undefined: there is
 * none, or no node has the list, for example because it was deleted.
 */
export async function findLogContradiction(
  node: ChainNode,
  { block, execution }: BlockWithExecution,
  options: RpcCallOptions,
): Promise<string | undefined> {
  if (execution.form !== 'logs' || !node.known()?.has.eth_getBlockAccessList) return undefined
  const [outcome] = await node.rpc.call([accessListCall(block)], options)
  if (outcome?.is === 'result')
    return findUnexplainedBalance(block, execution.transfers, outcome.result as DecodedResults['accessList'])
  return outcome?.is === 'unusable' && outcome.reason === 'invalid' ? outcome.message : undefined
}
