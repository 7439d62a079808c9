// The quotes of all keys, newest first, for the operator.
import { keepPreviousData, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import { operator } from '../../operator.ts'
import { Card } from '../../parts/card.tsx'
import { formatTime } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'

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
                columns={['Created', 'You pay', 'You receive', 'Rate', 'Expires', 'Key']}
                figures={['You pay', 'You receive', 'Rate']}
              >
                {quotes.map(({ id, keyId, from, to, rate, createdAt, expiresAt }) => (
                  <tr key={id}>
                    <td>
                      <a href={hrefOf('fx', [id])}>{formatTime(createdAt)}</a>
                    </td>
                    <td className="num">
                      {from.amount} {from.currency}
                    </td>
                    <td className="num">
                      {to.amount} {to.currency}
                    </td>
                    <td className="num">{String(rate)}</td>
                    <td>{formatTime(expiresAt)}</td>
                    <td className="mono">{keyId}</td>
                  </tr>
                ))}
              </Table>
            )}
            {(hasMore || page > 1) && (
              <p className="row pages">
                <button type="button" disabled={page === 1} onClick={() => setPage(page - 1)}>
                  Newer
                </button>
                <button type="button" disabled={!hasMore} onClick={() => setPage(page + 1)}>
                  Older
                </button>
              </p>
            )}
          </>
        )}
      </QueryResult>
    </Card>
  )
}
