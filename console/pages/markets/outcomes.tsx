// The outcomes of a market and their prices as bars.
import type { Market } from '#api/contract/wire/markets.ts'
import { formatPercent, outcomesOf } from './market-values.ts'
import './outcomes.css'

export function Outcomes({ market }: { readonly market: Market }) {
  const outcomes = outcomesOf(market)
  if (outcomes.length === 0) return <p className="note">The source lists no outcomes for this market.</p>
  return (
    <ul className="outcomes">
      {outcomes.map(({ name, price, share }, index) => (
        <li key={name}>
          <span className="outcome">
            {name}
            {market.closed === true && share === 1 && <span className="badge status good">won</span>}
          </span>
          <span className="price">{price === undefined ? 'no price' : formatPercent(price)}</span>
          <span className="track" aria-hidden="true">
            <span style={{ width: `${share * 100}%`, background: `var(--c${(index % 10) + 1})` }} />
          </span>
        </li>
      ))}
    </ul>
  )
}
