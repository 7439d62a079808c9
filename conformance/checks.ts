// All checks, in the order in which they run. The check that gets the caller blocked comes last.
import { aggregateChecks } from './checks/aggregate.ts'
import { explorerExtensionChecks } from './checks/explorer-extensions.ts'
import { fundingChecks } from './checks/funding.ts'
import { fxListChecks } from './checks/fx-lists.ts'
import { fxTradeChecks } from './checks/fx-trades.ts'
import { httpChecks } from './checks/http.ts'
import { keyChecks } from './checks/keys.ts'
import { labelChecks } from './checks/labels.ts'
import { linkChecks } from './checks/links.ts'
import { marketListChecks } from './checks/market-lists.ts'
import { marketChecks } from './checks/markets.ts'
import { metadataChecks } from './checks/metadata.ts'
import { quoteRefusalChecks } from './checks/quote-refusals.ts'
import { quoteChecks } from './checks/quotes.ts'
import { singleChecks } from './checks/single.ts'
import { typedDataChecks } from './checks/typed-data.ts'
import { validatorListChecks } from './checks/validator-lists.ts'

export const checks = [
  httpChecks,
  labelChecks,
  linkChecks,
  fundingChecks,
  explorerExtensionChecks,
  quoteChecks,
  typedDataChecks,
  quoteRefusalChecks,
  fxListChecks,
  fxTradeChecks,
  aggregateChecks,
  singleChecks,
  metadataChecks,
  validatorListChecks,
  marketChecks,
  marketListChecks,
  keyChecks,
].flatMap((group) => Object.entries(group).map(([id, check]) => ({ id, ...check })))

export type CheckWithId = (typeof checks)[number]
