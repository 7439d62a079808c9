// Which chain a question is about. Checked between plan and rate (behaviour/explorer.md#order-of-checks), so a call for a chain that is not
// served costs the caller nothing.
import { Fault } from '#core/fault.ts'
import type { RawQuery } from '#http/handler.ts'
import type { ExplorerContext } from './context.ts'

/** What a chain parameter that is left out means. */
export const defaultChain = '1'

/** The funding lookup's gate: one chain, and one that is served. */
export function requireServedChain(query: RawQuery, context: ExplorerContext): void {
  const chain = readChainId(query)
  if (!context.settings.explorer.chains.some(({ id }) => id === chain)) throw new Fault('explorer.chain_unsupported')
}

/** The label list's gate: some chains have their list closed for a while (spec section 8). */
export function requireChainWithOpenList(query: RawQuery, context: ExplorerContext): void {
  requireOpenList(readChainId(query), context)
  requireServedChain(query, context)
}

export function requireOpenList(chain: string, context: ExplorerContext): void {
  if (!context.settings.explorer.unavailableChains.includes(chain)) return
  throw new Fault('explorer.chain_unavailable', {
    message: `The label list of chain ${chain} is temporarily unavailable`,
  })
}

/** A parameter given twice or as a list is no chain, so it matches none. */
function readChainId(query: RawQuery): string {
  const value = query.chainid
  if (value === undefined || value === '') return defaultChain
  return typeof value === 'string' ? value : value.join(',')
}
