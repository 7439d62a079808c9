// Quotes for the operator: the newest of all keys, and any one with its receipt. The key of a session ends with it, so its
// quotes could not be read by key afterwards.

import { parseJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import { Fault } from '#core/fault.ts'
import { readReceipt } from '#fx/extensions/receipts/receipt.ts'
import { readQuote } from '#fx/pricing/quotes.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import type { QuoteList, StoredQuote } from '#shared/console-calls.ts'
import { operatorRoute, pageIn } from './operator-requests.ts'

const pageSize = 25

export const quoteRoutes: readonly ExtraRoute<AppContext>[] = [
  operatorRoute('/console/quotes', { GET: listQuotes }),
  operatorRoute('/console/quotes/{id}', { GET: findQuote }),
]

const parseReply = (reply: Uint8Array): Quote => parseJson(new TextDecoder().decode(reply)) as Quote

/** Newest first. One row more than a page shows whether there are more. */
async function listQuotes({ query }: ApiRequest, { state }: AppContext): Promise<QuoteList> {
  const rows = await state.all<{ keyId: string; reply: Uint8Array }>(
    'select key_id as "keyId", reply from fx_quotes order by created_ms desc, id limit ? offset ?',
    pageSize + 1,
    (pageIn(query) - 1) * pageSize,
  )
  const quotes = rows.slice(0, pageSize).map(({ keyId, reply }) => {
    const { id, from, to, rate, fee, createdAt, expiresAt } = parseReply(reply)
    return { id, keyId, from, to, rate, fee, createdAt, expiresAt }
  })
  return { quotes, hasMore: rows.length > pageSize }
}

async function findQuote({ params }: ApiRequest, { state }: AppContext): Promise<StoredQuote> {
  const { id = '' } = params
  const [stored, receipt] = await Promise.all([readQuote(state, id), readReceipt(state, id)])
  if (!stored || !receipt) throw new Fault('record.not_found')
  return { quote: parseReply(stored.reply), receipt }
}
