// Chooses the chain of a command: the given one, or the only one.
import type { Settings } from '#runtime/settings.ts'
import { CommandFailure } from './failure.ts'

export function whichChain({ explorer }: Settings, requested: string | undefined, fallback?: string): string {
  const ids = explorer.chains.map(({ id }) => id)
  const chain = requested ?? (ids.length === 1 ? ids[0] : fallback)
  if (chain !== undefined && ids.includes(chain)) return chain
  const known = `explorer.chains (${ids.join(', ')})`
  throw new CommandFailure(
    'chain.unknown',
    chain === undefined
      ? `There are several chains in ${known}. Choose one with --chain.`
      : `Chain ${chain} is not in ${known}. Choose one with --chain.`,
  )
}
