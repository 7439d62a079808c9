// A link within the page of a market: keeps the query of the current address, except for the changed parameters.
import { hrefOf } from '../../route.ts'

/** What the address of the page contains. */
export interface MarketAddress {
  readonly slug: string
  readonly query: URLSearchParams
}

type Change = Readonly<Partial<Record<'asOf' | 'plot' | 'related', string | undefined>>>

export const hrefWith = (slug: string, query: URLSearchParams, change: Change): string =>
  hrefOf('markets', [slug], { ...Object.fromEntries(query), ...change })
