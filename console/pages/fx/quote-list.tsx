// The quotes of all keys, newest first, for the operator.
import { keepPreviousData, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import type { QuoteList as QuoteListReply } from '#shared/console-calls.ts'
import { operator } from '../../operator.ts'
import { Card } from '../../parts/card.tsx'
import { alignDecimals, formatTime, groupThousands } from '../../parts/format.ts'
import { Pager } from '../../parts/pager.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'
import { netAmount } from './quote-card.tsx'

type Quotes = QuoteListReply['quotes']

/** The figures of a column have the same number of decimals. */
function QuoteTable({ quotes }: { readonly quotes: Quotes }) {
  const column = (textOf: (quote: Quotes[number]) => string) => alignDecimals(quotes.map(textOf)).map(groupThousands)
  const [paid, received, rates] = [
    column(({ from }) => from.amount),
    column(netAmount),
    column(({ rate }) => `${rate}`),
  ]
  return (
    <Table
      name="Quotes"
      className="stacked many"
      rows={quotes}
      columns={[
        ['Created', ({ id, createdAt }) => <a href={hrefOf('fx', [id])}>{formatTime(createdAt)}</a>],
        ['You pay', ({ from }, row) => `${paid[row]} ${from.currency}`, 'num'],
        ['You receive', ({ to }, row) => `${received[row]} ${to.currency}`, 'num'],
        ['Rate', (_quote, row) => rates[row], 'num'],
        ['Expires', ({ expiresAt }) => formatTime(expiresAt)],
        ['Key', ({ keyId }) => keyId, 'mono'],
      ]}
    />
  )
}

export function QuoteList() {
  const [page, setPage] = useState(1)
  const list = useQuery({
    queryKey: ['quotes', page],
    queryFn: () => operator.quotes(page),
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  return (
    <Card id="quotes" title="Quotes of all keys">
      <QueryResult of={list}>
        {({ quotes, hasMore }) => (
          <>
            {quotes.length === 0 && <p className="soft">No quotes yet. Request the first one above.</p>}
            {quotes.length > 0 && <QuoteTable quotes={quotes} />}
            <Pager
              previous="Newer"
              next="Older"
              onPrevious={page > 1 ? () => setPage(page - 1) : undefined}
              onNext={hasMore ? () => setPage(page + 1) : undefined}
            />
          </>
        )}
      </QueryResult>
    </Card>
  )
}
