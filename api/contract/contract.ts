// The eight endpoints of the specification, by id. Validation, serialization, OpenAPI, the client, the command line and
// the documentation are derived from this object.
import type { Endpoint } from './kit.ts'
import type { EndpointId } from './routes.ts'
import { fundedBy, labelListV1, labelListV2 } from './wire/explorer.ts'
import { createQuote } from './wire/fx.ts'
import { bySlug } from './wire/markets.ts'
import { aggregateEffectiveness, effectiveness } from './wire/validators.ts'
import { metadata } from './wire/validators-metadata.ts'

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
