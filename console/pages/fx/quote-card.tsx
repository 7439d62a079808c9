// What arrives for a quote, what it costs and how long it is valid. Its heading gets the focus when the quote is shown: on a
// narrow screen the quote is below the form, and it is valid for seconds.
import { type ReactNode, useEffect, useState } from 'preact/compat'
import type { Quote } from '#api/contract/wire/fx.ts'
import { Card } from '../../parts/card.tsx'
import { Facts, Mono } from '../../parts/facts.tsx'
import { focusCard } from '../../parts/focus-card.ts'
import { formatDuration, formatTime, groupThousands, subtractDecimals } from '../../parts/format.ts'

/** The amount that the recipient gets: `to.amount` is before the fee. */
export const netAmount = ({ to, fee }: Pick<Quote, 'to' | 'fee'>): string => subtractDecimals(to.amount, fee)

interface QuoteCardProps {
  readonly quote: Quote
  /** The button to sign. */
  readonly children: ReactNode
}

export function QuoteCard({ quote, children }: QuoteCardProps) {
  const { from, to } = quote
  useEffect(() => focusCard('quote'), [])
  return (
    <Card id="quote" title="Quote" aside={<Countdown createdAt={quote.createdAt} expiresAt={quote.expiresAt} />}>
      <dl className="exchange">
        <div>
          <dt>You pay</dt>
          <dd>
            {groupThousands(from.amount)} {from.currency}
          </dd>
        </div>
        <div>
          <dt>You receive</dt>
          <dd className="big">
            {groupThousands(netAmount(quote))} {to.currency}
          </dd>
        </div>
      </dl>
      {children}
      <Facts
        className="spaced"
        of={{
          Rate: `1 ${from.currency} = ${quote.rate} ${to.currency}`,
          'Before the fee': `${groupThousands(to.amount)} ${to.currency}`,
          Fee: `${quote.fee} ${to.currency}`,
          Collateral: quote.collateral !== undefined && `${groupThousands(quote.collateral)} ${from.currency}`,
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
