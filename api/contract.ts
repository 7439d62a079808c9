// The eight endpoints by id, in the order of the specification. Validation, serialization, OpenAPI, client, command
// line and documents are all derived from this object.

import type { Endpoint } from './kit.ts'
import type { EndpointId } from './routes.ts'
import { fundedBy, labelListV1, labelListV2 } from './wire/explorer.ts'
import { createQuote } from './wire/fx.ts'
import { bySlug } from './wire/markets.ts'
import { aggregateEffectiveness, effectiveness, metadata } from './wire/validators.ts'

export const contract = {
  'explorer.labelListV2': labelListV2,
  'explorer.labelListV1': labelListV1,
  'explorer.fundedBy': fundedBy,
  'fx.createQuote': createQuote,
  'validators.aggregateEffectiveness': aggregateEffectiveness,
  'validators.effectiveness': effectiveness,
  'validators.metadata': metadata,
  'markets.bySlug': bySlug,
} as const satisfies Record<EndpointId, Endpoint>

export type Contract = typeof contract
