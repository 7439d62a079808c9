// Places within one market's page: what the address says already stays, unless it is changed.
import { hrefOf } from '../../route.ts'

type Change = Readonly<Partial<Record<'asOf' | 'plot' | 'related', string | undefined>>>

export const hrefWith = (slug: string, query: URLSearchParams, change: Change): string =>
  hrefOf('markets', [slug], { ...Object.fromEntries(query), ...change })
