// Which chain a command is about: the one that was named, or the only one there is.
import type { Settings } from '#runtime/settings.ts'
import { CommandFailure } from './failure.ts'

export function whichChain({ explorer }: Settings, given: string | undefined, otherwise?: string): string {
  const ids = explorer.chains.map(({ id }) => id)
  const chain = given ?? (ids.length === 1 ? ids[0] : otherwise)
  if (chain !== undefined && ids.includes(chain)) return chain
  const known = `explorer.chains (${ids.join(', ')})`
  throw new CommandFailure(
    'chain.unknown',
    chain === undefined
      ? `there are several ${known}; name one with --chain`
      : `chain ${chain} is not among ${known}; name one with --chain`,
  )
}
