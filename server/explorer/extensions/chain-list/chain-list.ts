// Extension: the served chains and the state of their nodes (behaviour/explorer.md#served-chains). It reports what is
// known about the nodes and calls none of them.
import { extensions } from '#api/contract/extensions.ts'
import type { ServedChain } from '#api/contract/wire/explorer-extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { ExplorerContext } from '../../context.ts'
import { getChainCoverage } from '../../funding/chain-coverage.ts'
import { getIndexProblems } from '../../funding/index/problems.ts'
import { findNode, nodeHealth } from '../../nodes.ts'

export const chainList = createHandler(
  extensions['explorer.chainList'],
  async (_, context: ExplorerContext, { origin }) => {
    const result = await Promise.all(
      context.settings.explorer.chains.map(async ({ id, name }) => ({
        chainname: name,
        chainid: id,
        blockexplorer: '',
        apiurl: `${origin}/v2/api?chainid=${id}`,
        ...(await statusOf(context, id)),
      })),
    )
    const comments = 'Status: 0 offline, 1 ok, 2 degraded.'
    return { is: 'body', body: { comments, totalcount: result.length, result } }
  },
)

/** No details: the list is public. */
async function statusOf(context: ExplorerContext, chain: string): Promise<Pick<ServedChain, 'status' | 'comment'>> {
  const node = findNode(context, chain)
  const nodes = node ? nodeHealth(context, node) : []
  const failing = nodes.filter(({ trouble }) => trouble !== undefined)
  if (nodes.length === 0) {
    const { covered } = await getChainCoverage(context, chain)
    if (covered.length === 0) return { status: 0, comment: 'No node is configured.' }
    return { status: 2, comment: 'No node is configured. Stored blocks are served.' }
  }
  if (failing.length === nodes.length) return { status: 0, comment: 'No node responds.' }
  if (getIndexProblems(context, chain).stopped !== undefined) return { status: 2, comment: 'The index has stopped.' }
  if (failing.length > 0) return { status: 2, comment: 'Some nodes do not respond.' }
  if (node?.lastTip()?.doubt !== undefined) return { status: 2, comment: 'The newest block is old or not confirmed.' }
  if (nodes.some(({ behind }) => behind !== undefined)) return { status: 2, comment: 'Some nodes are behind.' }
  return { status: 1, comment: '' }
}
