// A link within the page of a market: keeps the query of the current address, except for the changed parameters.
import { hrefOf } from '../../route.ts'

type Change = Readonly<Partial<Record<'asOf' | 'plot' | 'related', string | undefined>>>

export const hrefWith = (slug: string, query: URLSearchParams, change: Change): string =>
  hrefOf('markets', [slug], { ...Object.fromEntries(query), ...change })
