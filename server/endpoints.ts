// Everything this server answers, in the order of the specification. Start here.

import type { Endpoint } from '#api/kit.ts'
import { fundedBy } from '#groups/explorer/funded-by.ts'
import { labelListV1 } from '#groups/explorer/label-list-v1.ts'
import { labelListV2 } from '#groups/explorer/label-list-v2.ts'
import { createQuote } from '#groups/fx/create-quote.ts'
import { bySlug } from '#groups/markets/by-slug.ts'
import { aggregateEffectiveness } from '#groups/validators/aggregate-effectiveness.ts'
import { effectiveness } from '#groups/validators/effectiveness.ts'
import { metadata } from '#groups/validators/metadata.ts'
import type { Answer } from '#serve/answer.ts'
import type { AppContext } from './context.ts'

export const endpoints: readonly Answer<Endpoint, AppContext>[] = [
  labelListV2, //            4.1  GET  /v2/api       module=nametag action=getlabelmasterlist
  labelListV1, //            4.2  GET  /v1/api.ashx  module=nametag action=getlabelmasterlist
  fundedBy, //               4.3  GET  /v2/api       module=account action=fundedby
  createQuote, //            4.4  POST /v1/exchange/fx/quotes
  aggregateEffectiveness, // 4.5  GET  /v0/eth/validators/effectiveness
  effectiveness, //          4.6  GET  /v1/eth/validators/{validator_index_or_pubkey}/effectiveness
  metadata, //               4.7  GET  /v0/eth/validators/{validator_index_or_pubkey}
  bySlug, //                 4.8  GET  /markets/slug/{slug}
]
