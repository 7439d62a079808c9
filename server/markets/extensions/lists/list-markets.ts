// `GET /markets` and `GET /markets/keyset`, endpoints beyond the specification: lists of the documents of 4.8
// (behaviour/markets.md#lists).
import { type Extensions, extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import type { Fault } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../../context.ts'
import { composeMarkets } from '../../read/compose-markets.ts'
import { withoutTags } from '../../records/documents.ts'
import { amountRange, keyFilters, toQuery } from './list-input.ts'
import { type RecordList, readCursorPage, readOffsetPage } from './list-pages.ts'
import { bytesMax, joinRecords, respondWith, tooLarge, wrapRecords } from './respond.ts'

type MarketFilters = Omit<Parsed<Extensions['markets.list']>, 'limit' | 'offset'>

const marketList: RecordList<MarketFilters> = {
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
  readRecords: readDocuments,
}

export const list = createHandler(extensions['markets.list'], async (input, context: MarketsContext, request) => {
  const { coverage, records } = await readOffsetPage(context, marketList, input)
  return respondWith(context, request, coverage, records)
})

export const listKeyset = createHandler(
  extensions['markets.listKeyset'],
  async (input, context: MarketsContext, request) => {
    const { coverage, cursor, records } = await readCursorPage(context, marketList, input)
    return respondWith(context, request, coverage, wrapRecords('markets', records, cursor))
  },
)

/** Documents that are composed in one turn of the event loop. */
const documentsPerTurn = 50

async function readDocuments(
  reader: StateReader,
  ids: readonly string[],
  { include_tag: tags }: MarketFilters,
): Promise<Uint8Array | Fault> {
  const records: Uint8Array[] = []
  let byteCount = 0
  for (let from = 0; from < ids.length; from += documentsPerTurn) {
    const documents = await composeMarkets(reader, ids.slice(from, from + documentsPerTurn))
    for (const { body, tagsAt } of documents.values()) {
      const bytes = tags ? body : withoutTags(body, tagsAt)
      byteCount += bytes.byteLength
      if (byteCount > bytesMax) return tooLarge()
      records.push(bytes)
    }
    await nextEventLoopTurn()
  }
  return joinRecords(records)
}
