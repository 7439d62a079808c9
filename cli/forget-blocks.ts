// `tetrad repair --forget-from`: what was read of a chain that has changed since goes, once somebody has said so.
import { createInterface } from 'node:readline/promises'
import type { ChainNode } from '#explorer/nodes.ts'
import type { State } from '#storage/state.ts'
import { CommandFailure } from './failure.ts'
import { counted, note } from './print.ts'

export async function forget(
  state: State,
  node: ChainNode,
  { from, yes }: { readonly from: number; readonly yes: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { forgetFrom, findForgetStart: forgettableFrom } = await import('#explorer/funding/index/forget.ts')
  const first = await forgettableFrom(state, node, from, { signal })
  const chain = node.chain.id
  const where =
    first < from ? `block ${first} on (the last below ${from} by which the chain can be told)` : `block ${first} on`
  if (!yes) await confirm(`Forget all that was read of chain ${chain} from ${where}?`, signal)
  const { blocks, rows } = await forgetFrom(state, chain, first)
  note(`chain ${chain}: ${counted(blocks, 'block')} and ${counted(rows, 'first funding')} from ${where} forgotten.`)
}

/** Only on a terminal is there anybody to ask. */
async function confirm(question: string, signal: AbortSignal): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandFailure('repair.unsure', `${question} Say so with --yes.`)
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // An interrupt and the end of the input are a no.
    const reply = await prompt.question(`${question} [y/N] `, { signal }).catch(() => '')
    if (!/^y(es)?$/i.test(reply.trim())) throw new CommandFailure('repair.unsure', 'Nothing was forgotten.')
  } finally {
    prompt.close()
  }
}
