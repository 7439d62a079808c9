// Asks before something is removed. Without a terminal, --yes is needed.
import { createInterface } from 'node:readline/promises'
import { CommandFailure } from './failure.ts'

/** `group`: the first part of the failure's code. */
export async function confirm(group: string, question: string, signal?: AbortSignal): Promise<void> {
  const code = `${group}.not_confirmed`
  if (!process.stdin.isTTY) throw new CommandFailure(code, `${question} Confirm with --yes.`)
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // An interrupt or the end of the input means no.
    const reply = await prompt.question(`${question} [y/N] `, signal ? { signal } : {}).catch(() => '')
    if (!/^y(es)?$/i.test(reply.trim())) throw new CommandFailure(code, 'Nothing was removed.')
  } finally {
    prompt.close()
  }
}
