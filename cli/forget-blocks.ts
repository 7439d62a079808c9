// `tetrad repair --forget-from`: removes blocks from the index after a confirmation, when the chain itself has changed.
import type { ChainNode } from '#explorer/nodes.ts'
import type { State } from '#storage/state.ts'
import { confirm } from './confirm.ts'
import { counted, note } from './print.ts'

export async function forget(
  state: State,
  node: ChainNode,
  { from, yes }: { readonly from: number; readonly yes: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { forgetFrom, findForgetStart } = await import('#explorer/funding/index/forget.ts')
  const startBlock = await findForgetStart(state, node, from, { signal })
  const chain = node.chain.id
  const where =
    startBlock < from
      ? `block ${startBlock} on (the newest stored funding before block ${from})`
      : `block ${startBlock} on`
  if (!yes) await confirm('repair', `Remove everything of chain ${chain} from ${where}?`, signal)
  const { blocks, rows } = await forgetFrom(state, chain, startBlock)
  note(`chain ${chain}: ${counted(blocks, 'block')} and ${counted(rows, 'first funding')} from ${where} removed.`)
}
