// `tetrad repair --forget-from`: what was read of a chain that has changed since goes, once somebody has said so.
import { createInterface } from 'node:readline/promises'
import type { ChainNode } from '#groups/explorer/node.ts'
import type { State } from '#store/state.ts'
import { CommandFailure } from './failure.ts'
import { counted, note } from './print.ts'

export async function forget(
  state: State,
  node: ChainNode,
  { from, yes }: { readonly from: number; readonly yes: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { forgetFrom, forgettableFrom } = await import('#groups/explorer/index-forget.ts')
  const first = await forgettableFrom(state, node, from, { signal })
  const chain = node.chain.id
  const where =
    first < from ? `block ${first} on (the last below ${from} by which the chain can be told)` : `block ${first} on`
  if (!yes) await sure(`Forget all that was read of chain ${chain} from ${where}?`, signal)
  const { blocks, rows } = await forgetFrom(state, chain, first)
  note(`chain ${chain}: ${counted(blocks, 'block')} and ${counted(rows, 'first funding')} from ${where} forgotten.`)
}

/** Only on a terminal is there anybody to ask. */
async function sure(question: string, signal: AbortSignal): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandFailure('repair.unsure', `${question} Say so with --yes.`)
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // An interrupt and the end of the input are a no.
    const said = await asking.question(`${question} [y/N] `, { signal }).catch(() => '')
    if (!/^y(es)?$/i.test(said.trim())) throw new CommandFailure('repair.unsure', 'Nothing was forgotten.')
  } finally {
    asking.close()
  }
}
