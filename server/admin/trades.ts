// Trades for the operator: those of all keys, and reports about their settlement.

import { type TradeStatus, tradeStatuses } from '#api/contract/wire/fx-trades.ts'
import { Fault, invalid } from '#core/fault.ts'
import { reportAboutTrade } from '#fx/extensions/trades/report-trade.ts'
import { listTrades, readTrade, type StoredTrade } from '#fx/extensions/trades/trade-store.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import { type TradeList, TradeReportInput, type TradeView } from '#shared/console-calls.ts'
import { bodyOf, operatorRoute } from './operator-requests.ts'
import type { Session } from './sessions.ts'

const pageSize = 25

export const tradeRoutes: readonly ExtraRoute<AppContext>[] = [
  operatorRoute('/console/fx/trades', { GET: list }),
  operatorRoute('/console/fx/trades/{id}', { GET: find, POST: report }),
]

const viewOf = ({ trade, keyId, reportedBy }: StoredTrade): TradeView => ({ ...trade, keyId, reportedBy })

async function list({ query }: ApiRequest, { state, provenTime }: AppContext): Promise<TradeList> {
  const { status, before } = query
  if (status !== undefined && !tradeStatuses.includes(status as TradeStatus))
    throw invalid(['query', 'status'], `must be one of ${tradeStatuses.join(', ')}`)
  if (before !== undefined && typeof before !== 'string') throw invalid(['query', 'before'], 'must be an id')
  const found = await listTrades(state, {
    nowMs: provenTime.forDeletions(),
    ...{ status: status as TradeStatus | undefined, before, count: pageSize + 1 },
  })
  return { trades: found.slice(0, pageSize).map(viewOf), hasMore: found.length > pageSize }
}

async function find({ params }: ApiRequest, { state, provenTime }: AppContext): Promise<TradeView> {
  const stored = await readTrade(state, params.id ?? '', { nowMs: provenTime.forDeletions() })
  if (!stored) throw new Fault('record.not_found')
  return viewOf(stored)
}

async function report(request: ApiRequest, context: AppContext, { id }: Session): Promise<TradeView> {
  const { status, settlementTransactionHash: txHash } = bodyOf(request, TradeReportInput)
  const by = `console session ${id}`
  const stored = await reportAboutTrade(context, request.params.id ?? '', { status, txHash, by })
  if (!stored) throw new Fault('record.not_found')
  return viewOf(stored)
}
