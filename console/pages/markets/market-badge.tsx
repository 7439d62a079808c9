// The status of a market as a badge.
import type { Market } from '#api/contract/wire/markets.ts'
import { marketStatus } from './market-values.ts'

export function MarketBadge({ market }: { readonly market: Market }) {
  const { label, tone } = marketStatus(market)
  return <span className={`badge status ${tone}`}>{label}</span>
}
