// What this server answers beyond the specification (decision 0049); described in api/extensions.ts.

import type { Endpoint } from '#api/kit.ts'
import { labelSearch } from '#groups/explorer/label-search.ts'
import { trail } from '#groups/explorer/trail.ts'
import { checkSignature } from '#groups/fx/check-signature.ts'
import { currencies } from '#groups/fx/currencies.ts'
import { quote } from '#groups/fx/quote.ts'
import { receipt } from '#groups/fx/receipt.ts'
import { receiptKey } from '#groups/fx/receipt-key.ts'
import { setRate } from '#groups/fx/set-rate.ts'
import { changes, changesBySlug } from '#groups/markets/list-changes.ts'
import { search } from '#groups/markets/search.ts'
import { changeStream } from '#groups/markets/stream-changes.ts'
import { explain } from '#groups/validators/explain.ts'
import { find } from '#groups/validators/find.ts'
import type { Answer } from '#serve/answer.ts'
import type { AppContext } from './context.ts'

export const extensions: readonly Answer<Endpoint, AppContext>[] = [
  trail, //           GET  /v2/trail
  labelSearch, //     GET  /v2/labels/search
  currencies, //      GET  /v1/exchange/fx/currencies
  quote, //           GET  /v1/exchange/fx/quotes/{id}
  receipt, //         GET  /v1/exchange/fx/quotes/{id}/receipt
  checkSignature, //  POST /v1/exchange/fx/quotes/{id}/check-signature
  receiptKey, //      GET  /v1/exchange/fx/receipt-key
  setRate, //         POST /v1/exchange/fx/rates
  explain, //         GET  /v1/eth/validators/{validator_index_or_pubkey}/explain
  find, //            GET  /v0/eth/validators
  search, //          GET  /markets/search
  changesBySlug, // GET  /markets/slug/{slug}/changes
  changes, //       GET  /markets/changes
  changeStream, //  GET  /markets/changes/stream
]
