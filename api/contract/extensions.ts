// Endpoints beyond the specification, by id, described like those of the contract. They are separate so that the
// contract equals the specification (behaviour/http.md#endpoints-beyond-the-specification).
import { contract } from './contract.ts'
import type { Endpoint } from './kit.ts'
import type { AnyId, ExtensionId } from './routes.ts'
import { addressTag, apiLimit, chainList } from './wire/explorer-extensions.ts'
import { fundings } from './wire/fundings.ts'
import { currencies } from './wire/fx-currencies.ts'
import { quote, receipt, receiptKey, setRate } from './wire/fx-extensions.ts'
import { quotes, rates } from './wire/fx-lists.ts'
import { rateHistory } from './wire/fx-rate-history.ts'
import { checkSignature } from './wire/fx-signature-check.ts'
import { createTrade, reportTrade, trade, tradePermit, trades } from './wire/fx-trades.ts'
import { labelSearch } from './wire/label-search.ts'
import { changeStream, changes, changesBySlug } from './wire/market-changes.ts'
import * as marketLists from './wire/market-lists.ts'
import { pricesHistory } from './wire/market-prices.ts'
import { publicSearch, search } from './wire/market-search.ts'
import { byId } from './wire/markets.ts'
import { trail } from './wire/trail.ts'
import { comparison } from './wire/validators-comparison.ts'
import { duties } from './wire/validators-duties.ts'
import { entities } from './wire/validators-entities.ts'
import { explain } from './wire/validators-explain.ts'
import { find } from './wire/validators-find.ts'
import { income } from './wire/validators-income.ts'
import { effectivenessV0, list } from './wire/validators-list.ts'
import { networkOverview, networkStats } from './wire/validators-network.ts'
import * as operators from './wire/validators-operators.ts'

export const extensions = {
  'explorer.trail': trail,
  'explorer.fundings': fundings,
  'explorer.labelSearch': labelSearch,
  'explorer.chainList': chainList,
  'explorer.apiLimit': apiLimit,
  'explorer.addressTag': addressTag,
  'fx.currencies': currencies,
  'fx.rates': rates,
  'fx.quotes': quotes,
  'fx.quote': quote,
  'fx.receipt': receipt,
  'fx.checkSignature': checkSignature,
  'fx.receiptKey': receiptKey,
  'fx.setRate': setRate,
  'fx.createTrade': createTrade,
  'fx.trades': trades,
  'fx.trade': trade,
  'fx.tradePermit': tradePermit,
  'fx.reportTrade': reportTrade,
  'fx.rateHistory': rateHistory,
  'validators.explain': explain,
  'validators.duties': duties,
  'validators.list': list,
  'validators.effectivenessV0': effectivenessV0,
  'validators.find': find,
  'validators.income': income,
  'validators.comparison': comparison,
  'validators.operators': operators.operators,
  'validators.operator': operators.operator,
  'validators.operatorSummary': operators.operatorSummary,
  'validators.operatorEffectiveness': operators.operatorEffectiveness,
  'validators.networkStats': networkStats,
  'validators.networkOverview': networkOverview,
  'validators.entities': entities,
  'markets.byId': byId,
  'markets.list': marketLists.list,
  'markets.listKeyset': marketLists.listKeyset,
  'markets.events': marketLists.events,
  'markets.eventsKeyset': marketLists.eventsKeyset,
  'markets.eventById': marketLists.eventById,
  'markets.eventBySlug': marketLists.eventBySlug,
  'markets.tags': marketLists.tags,
  'markets.tagById': marketLists.tagById,
  'markets.tagBySlug': marketLists.tagBySlug,
  'markets.marketTags': marketLists.marketTags,
  'markets.eventTags': marketLists.eventTags,
  'markets.series': marketLists.series,
  'markets.seriesById': marketLists.seriesById,
  'markets.search': search,
  'markets.publicSearch': publicSearch,
  'markets.pricesHistory': pricesHistory,
  'markets.changesBySlug': changesBySlug,
  'markets.changes': changes,
  'markets.changeStream': changeStream,
} as const satisfies Record<ExtensionId, Endpoint>

export type Extensions = typeof extensions

/** Those of the contract first. */
export const allEndpoints: Readonly<Record<AnyId, Endpoint>> = { ...contract, ...extensions }
