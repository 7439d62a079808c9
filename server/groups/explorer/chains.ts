// Which chain a question is about. Checked between plan and rate (decision 0010), so a call for a chain that is not
// served costs the caller nothing.
import { Fault } from '#core/fault.ts'
import type { RawQuery } from '#serve/answer.ts'
import type { ExplorerContext } from './context.ts'

/** What a chain parameter that is left out means. */
export const homeChain = '1'

/** The funding lookup's gate: one chain, and one that is served. */
export function servedChain(query: RawQuery, context: ExplorerContext): void {
  const chain = chainOf(query)
  if (!context.settings.explorer.chains.some(({ id }) => id === chain)) throw new Fault('explorer.chain_unsupported')
}

/** The label list's gate: some chains have their list closed for a while (spec section 8). */
export function listedChain(query: RawQuery, context: ExplorerContext): void {
  openList(chainOf(query), context)
  servedChain(query, context)
}

export function openList(chain: string, context: ExplorerContext): void {
  if (!context.settings.explorer.unavailableChains.includes(chain)) return
  throw new Fault('explorer.chain_unavailable', { says: `The label list of chain ${chain} is temporarily unavailable` })
}

/** A parameter given twice or as a list is no chain, so it matches none. */
function chainOf(query: RawQuery): string {
  const given = query.chainid
  if (given === undefined || given === '') return homeChain
  return typeof given === 'string' ? given : given.join(',')
}
