// Checks the chain and the address of a request. The chain is checked between the plan and the rate limit
// (behaviour/explorer.md#order-of-checks), so a request for an unsupported chain uses up no limit.
import { Fault, invalid } from '#core/fault.ts'
import type { RawQuery } from '#http/handler.ts'
import type { ExplorerContext } from './context.ts'

/** The chain of a request without `chainid`. */
export const defaultChain = '1'

export function requireServedChain(query: RawQuery, context: ExplorerContext): void {
  const chain = readChainId(query)
  if (!context.settings.explorer.chains.some(({ id }) => id === chain)) throw new Fault('explorer.chain_unsupported')
}

/** Spec section 8: label lists of some chains are temporarily unavailable. */
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

/** A parameter that is given twice is joined, so that it matches no chain. */
function readChainId(query: RawQuery): string {
  const value = query.chainid
  if (value === undefined || value === '') return defaultChain
  return typeof value === 'string' ? value : value.join(',')
}

/** In lower case. A looked-up address needs no checksum (behaviour/http.md#address-checksums). */
export function readAddress(text: string): string {
  const address = toAddress(text)
  if (address === undefined) throw invalid(['query', 'address'], addressMust)
  return address
}

export const addressMust = 'must be 0x and 40 hexadecimal digits'

/** Undefined if the text is not an address. */
export function toAddress(text: string): string | undefined {
  const address = text.toLowerCase()
  return /^0x[0-9a-f]{40}$/.test(address) ? address : undefined
}
