// The handlers of the eight endpoints, in the order of the specification. Those beyond it are in extensions.ts.
import type { Endpoint } from '#api/contract/kit.ts'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { labelListV1 } from '#explorer/endpoints/label-list-v1.ts'
import { labelListV2 } from '#explorer/endpoints/label-list-v2.ts'
import { createQuote } from '#fx/endpoints/create-quote.ts'
import type { Handler } from '#http/handler.ts'
import { bySlug } from '#markets/endpoints/by-slug.ts'
import { aggregateEffectiveness } from '#validators/endpoints/aggregate-effectiveness.ts'
import { effectiveness } from '#validators/endpoints/effectiveness.ts'
import { metadata } from '#validators/endpoints/metadata.ts'
import type { AppContext } from './context.ts'

export const endpoints: readonly Handler<Endpoint, AppContext>[] = [
  labelListV2, //            4.1  GET  /v2/api       module=nametag action=getlabelmasterlist
  labelListV1, //            4.2  GET  /v1/api.ashx  module=nametag action=getlabelmasterlist
  fundedBy, //               4.3  GET  /v2/api       module=account action=fundedby
  createQuote, //            4.4  POST /v1/exchange/fx/quotes
  aggregateEffectiveness, // 4.5  GET  /v0/eth/validators/effectiveness
  effectiveness, //          4.6  GET  /v1/eth/validators/{validator_index_or_pubkey}/effectiveness
  metadata, //               4.7  GET  /v0/eth/validators/{validator_index_or_pubkey}
  bySlug, //                 4.8  GET  /markets/slug/{slug}
]
