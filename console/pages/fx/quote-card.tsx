// The amounts, rate, fee and expiry of a quote.
import { useEffect, useState } from 'preact/compat'
import type { Quote } from '#api/wire/fx.ts'
import { Card } from '../../parts/card.tsx'
import { Facts, Mono } from '../../parts/facts.tsx'
import { formatDuration, formatTime, subtractDecimals } from '../../parts/format.ts'

export function QuoteCard({ quote }: { readonly quote: Quote }) {
  const { from, to } = quote
  return (
    <Card id="quote" title="Quote" aside={<Countdown createdAt={quote.createdAt} expiresAt={quote.expiresAt} />}>
      <p className="big">
        {from.amount} {from.currency} → {to.amount} {to.currency}
      </p>
      <Facts
        of={{
          Rate: `1 ${from.currency} = ${quote.rate} ${to.currency}`,
          Fee: `${quote.fee} ${to.currency}`,
          'Amount after fee': `${subtractDecimals(to.amount, quote.fee)} ${to.currency}`,
          Collateral: quote.collateral !== undefined && `${quote.collateral} ${from.currency}`,
          Created: formatTime(quote.createdAt),
          Expires: formatTime(quote.expiresAt),
          'Quote id': <Mono text={quote.id} />,
        }}
      />
    </Card>
  )
}

function Countdown({ createdAt, expiresAt }: { readonly createdAt: string; readonly expiresAt: string }) {
  const [nowMs, setNowMs] = useState(() => Date.now())
  const leftMs = Date.parse(expiresAt) - nowMs
  useEffect(() => {
    if (leftMs <= 0) return
    const timer = setInterval(() => setNowMs(Date.now()), 250)
    return () => clearInterval(timer)
  }, [leftMs])
  if (leftMs <= 0) return <span className="badge status warn">expired</span>
  const lifetimeMs = Math.max(1, Date.parse(expiresAt) - Date.parse(createdAt))
  return (
    <span className="row">
      <meter aria-label="Time left" min={0} max={lifetimeMs} value={leftMs} />
      <span className="badge good">{formatDuration(Math.ceil(leftMs / 1000))} left</span>
    </span>
  )
}
