// `GET /markets/{id}`, an endpoint beyond the specification: the document of 4.8 for the market with this id.
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { respondWithMarket } from '../../endpoints/by-slug.ts'

export const byId = createHandler(
  extensions['markets.byId'],
  async ({ id, ...input }, context: MarketsContext, request) => respondWithMarket(context, request, { id }, input),
)
