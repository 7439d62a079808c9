// `GET /markets` and `GET /markets/keyset`, endpoints beyond the specification: lists of the documents of 4.8
// (behaviour/markets.md#lists).
import { type Extensions, extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { amountRange, keyFilters, toQuery } from './list-input.ts'
import { type RecordList, respondWithCursorPage, respondWithOffsetPage } from './list-pages.ts'

type MarketFilters = Omit<Parsed<Extensions['markets.list']>, 'limit' | 'offset'>

const marketList: RecordList<MarketFilters> = {
  kind: 'market',
  toQuery: (input) => ({
    ...toQuery('market', input, [
      amountRange('volume', input.volume_num_min, input.volume_num_max),
      amountRange('liquidity', input.liquidity_num_min, input.liquidity_num_max),
    ]),
    named: keyFilters({
      condition: input.condition_ids,
      token: input.clob_token_ids,
      question: input.question_ids,
      market_maker: input.market_maker_address,
    }),
    keys: keyFilters({
      game: input.game_id,
      sports_type: input.sports_market_types,
      resolution_status: input.oracle_resolution_status,
      rfq: input.rfq_enabled,
    }),
  }),
  isShort: ({ include_tag: tags }) => !tags,
}

export const list = createHandler(extensions['markets.list'], (input, context: MarketsContext, request) =>
  respondWithOffsetPage(context, request, marketList, input),
)

export const listKeyset = createHandler(extensions['markets.listKeyset'], (input, context: MarketsContext, request) =>
  respondWithCursorPage(context, request, marketList, 'markets', input),
)
