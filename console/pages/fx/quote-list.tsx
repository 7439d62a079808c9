// The quotes of all keys, newest first, for the operator.
import { keepPreviousData, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import { operator } from '../../operator.ts'
import { Card } from '../../parts/card.tsx'
import { formatTime } from '../../parts/format.ts'
import { Pager } from '../../parts/pager.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'
import { netAmount } from './quote-card.tsx'

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
            {quotes.length > 0 && (
              <Table
                name="Quotes"
                rows={quotes}
                columns={[
                  ['Created', ({ id, createdAt }) => <a href={hrefOf('fx', [id])}>{formatTime(createdAt)}</a>],
                  ['You pay', ({ from }) => `${from.amount} ${from.currency}`, 'num'],
                  ['You receive', netAmount, 'num'],
                  ['Rate', ({ rate }) => String(rate), 'num'],
                  ['Expires', ({ expiresAt }) => formatTime(expiresAt)],
                  ['Key', ({ keyId }) => keyId, 'mono'],
                ]}
              />
            )}
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
