// What the server offers beyond the eight endpoints: the handlers and the loops of all extensions. A server can start without
// them (`extensions` in `StartOptions`). Each extension is a folder `server/<group>/extensions/<name>`. Alerts run with the
// ingesters (background/ingesters.ts).
import type { Endpoint } from '#api/contract/kit.ts'
import { addressTag } from '#explorer/extensions/address-tag/address-tag.ts'
import { apiLimit } from '#explorer/extensions/api-limit/api-limit.ts'
import { chainList } from '#explorer/extensions/chain-list/chain-list.ts'
import { fundings } from '#explorer/extensions/fundings/fundings.ts'
import { labelSearch } from '#explorer/extensions/label-search/label-search.ts'
import { refreshTable } from '#explorer/extensions/label-search/refresh-table.ts'
import { trail } from '#explorer/extensions/trail/trail.ts'
import { currencies } from '#fx/extensions/lists/currencies.ts'
import { quote } from '#fx/extensions/lists/quote.ts'
import { quotes } from '#fx/extensions/lists/quotes.ts'
import { rateHistory } from '#fx/extensions/lists/rate-history.ts'
import { rates } from '#fx/extensions/lists/rates.ts'
import { setRate } from '#fx/extensions/push-rate/set-rate.ts'
import { receipt } from '#fx/extensions/receipts/receipt.ts'
import { receiptKey } from '#fx/extensions/receipts/receipt-key.ts'
import { checkSignature } from '#fx/extensions/signature-check/check-signature.ts'
import { createTrade } from '#fx/extensions/trades/create-trade.ts'
import { trade, tradePermit, trades } from '#fx/extensions/trades/read-trades.ts'
import { reportTrade } from '#fx/extensions/trades/report-trade.ts'
import type { Handler } from '#http/handler.ts'
import { changes, changesBySlug } from '#markets/extensions/changes/list-changes.ts'
import { changeStream } from '#markets/extensions/changes/stream-changes.ts'
import { byId } from '#markets/extensions/lists/by-id.ts'
import { events, eventsKeyset } from '#markets/extensions/lists/list-events.ts'
import { list, listKeyset } from '#markets/extensions/lists/list-markets.ts'
import { series } from '#markets/extensions/lists/list-series.ts'
import { tags } from '#markets/extensions/lists/list-tags.ts'
import {
  eventById,
  eventBySlug,
  eventTags,
  marketTags,
  seriesById,
  tagById,
  tagBySlug,
} from '#markets/extensions/lists/one-record.ts'
import { pricesHistory } from '#markets/extensions/prices/prices-history.ts'
import { publicSearch } from '#markets/extensions/search/public-search.ts'
import { search } from '#markets/extensions/search/search.ts'
import { comparison } from '#validators/extensions/comparison/comparison.ts'
import { effectivenessV0 } from '#validators/extensions/effectiveness-v0/effectiveness-v0.ts'
import { duties } from '#validators/extensions/explain/duties.ts'
import { explain } from '#validators/extensions/explain/explain.ts'
import { income } from '#validators/extensions/income/income.ts'
import { find } from '#validators/extensions/lists/find.ts'
import { list as validatorList } from '#validators/extensions/lists/list.ts'
import { networkOverview, networkStats } from '#validators/extensions/network/network.ts'
import { entities } from '#validators/extensions/operators/entities.ts'
import { operator } from '#validators/extensions/operators/operator.ts'
import { operatorEffectiveness } from '#validators/extensions/operators/operator-effectiveness.ts'
import { operatorSummary, operators } from '#validators/extensions/operators/operators.ts'
import type { AppContext } from './context.ts'

/** Endpoints beyond the specification (behaviour/http.md#endpoints-beyond-the-specification). */
export const extensions: readonly Handler<Endpoint, AppContext>[] = [
  trail, //            GET  /v2/trail
  fundings, //         GET  /v2/fundings
  labelSearch, //      GET  /v2/labels/search
  chainList, //        GET  /v2/chainlist
  apiLimit, //         GET  /v2/api       module=getapilimit action=getapilimit
  addressTag, //       GET  /v2/api       module=nametag action=getaddresstag
  currencies, //       GET  /v1/exchange/fx/currencies
  rates, //            GET  /v1/exchange/fx/rates
  quotes, //           GET  /v1/exchange/fx/quotes
  quote, //            GET  /v1/exchange/fx/quotes/{id}
  receipt, //          GET  /v1/exchange/fx/quotes/{id}/receipt
  checkSignature, //   POST /v1/exchange/fx/quotes/{id}/check-signature
  receiptKey, //       GET  /v1/exchange/fx/receipt-key
  setRate, //          POST /v1/exchange/fx/rates
  rateHistory, //      GET  /v1/exchange/fx/rates/history
  createTrade, //      POST /v1/exchange/fx/trades
  trades, //           GET  /v1/exchange/fx/trades
  trade, //            GET  /v1/exchange/fx/trades/{id}
  tradePermit, //      GET  /v1/exchange/fx/trades/{id}/permit
  reportTrade, //      POST /v1/exchange/fx/trades/{id}/report
  explain, //          GET  /v1/eth/validators/{validator_index_or_pubkey}/explain
  duties, //           GET  /v1/eth/validators/{validator_index_or_pubkey}/duties
  validatorList, //    GET  /v0/eth/validators
  effectivenessV0, //  GET  /v0/eth/validators/{validator_index_or_pubkey}/effectiveness
  find, //             GET  /v1/eth/validators
  income, //           GET  /v1/eth/validators/income
  comparison, //       GET  /v1/eth/validators/comparison
  operators, //        GET  /v0/eth/operators
  operator, //         GET  /v0/eth/operators/{operator_id}
  operatorSummary, //  GET  /v0/eth/operators/{operator_id}/summary
  operatorEffectiveness, // GET  /v0/eth/operators/{operator_id}/effectiveness
  networkStats, //     GET  /v0/eth/network/stats
  networkOverview, //  GET  /v0/eth/network/overview
  entities, //         GET  /v1/eth/entities
  byId, //             GET  /markets/{id}
  list, //             GET  /markets
  listKeyset, //       GET  /markets/keyset
  events, //           GET  /events
  eventsKeyset, //     GET  /events/keyset
  eventById, //        GET  /events/{id}
  eventBySlug, //      GET  /events/slug/{slug}
  tags, //             GET  /tags
  tagById, //          GET  /tags/{id}
  tagBySlug, //        GET  /tags/slug/{slug}
  marketTags, //       GET  /markets/{id}/tags
  eventTags, //        GET  /events/{id}/tags
  series, //           GET  /series
  seriesById, //       GET  /series/{id}
  search, //           GET  /markets/search
  publicSearch, //     GET  /public-search
  pricesHistory, //    GET  /prices-history
  changesBySlug, //    GET  /markets/slug/{slug}/changes
  changes, //          GET  /markets/changes
  changeStream, //     GET  /markets/changes/stream
]

/** Work that runs until the signal aborts, on the thread that handles requests. */
export const extensionLoops: readonly ((context: AppContext, signal: AbortSignal) => Promise<void>)[] = [refreshTable]
