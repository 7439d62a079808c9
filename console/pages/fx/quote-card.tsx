// The amounts, rate, fee and expiry of a quote.
import { useEffect, useState } from 'react'
import type { Quote } from '#api/wire/fx.ts'
import { formatDuration, formatTime, subtractDecimals } from '../../parts/format.ts'

export function QuoteCard({ quote }: { readonly quote: Quote }) {
  return (
    <section className="card fade" aria-labelledby="quote">
      <div className="spread">
        <h2 id="quote">Quote</h2>
        <Countdown createdAt={quote.createdAt} expiresAt={quote.expiresAt} />
      </div>
      <p className="big">
        {quote.from.amount} {quote.from.currency} → {quote.to.amount} {quote.to.currency}
      </p>
      <dl className="facts">
        <dt>Rate</dt>
        <dd>
          1 {quote.from.currency} = {quote.rate} {quote.to.currency}
        </dd>
        <dt>Fee</dt>
        <dd>
          {quote.fee} {quote.to.currency}
        </dd>
        <dt>Amount after fee</dt>
        <dd>
          {subtractDecimals(quote.to.amount, quote.fee)} {quote.to.currency}
        </dd>
        {quote.collateral !== undefined && (
          <>
            <dt>Collateral</dt>
            <dd>
              {quote.collateral} {quote.from.currency}
            </dd>
          </>
        )}
        <dt>Created</dt>
        <dd>{formatTime(quote.createdAt)}</dd>
        <dt>Expires</dt>
        <dd>{formatTime(quote.expiresAt)}</dd>
        <dt>Quote id</dt>
        <dd className="mono">{quote.id}</dd>
      </dl>
    </section>
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
