// Group D beyond the specification: markets found by words (behaviour/markets.md#search).
import { DateTime, endpoint, Num, type Static, Text, Type, withDefault } from '../kit.ts'
import { extensionRoutes } from '../routes.ts'

/** Enough of a market to tell it from the others; `markets.bySlug` has the rest. */
export const FoundMarket = Type.Object({
  id: Text,
  slug: Text,
  question: Type.Optional(Text),
  open: Type.Boolean({ description: 'Neither closed, archived nor inactive.' }),
  endDate: Type.Optional(DateTime),
  volumeNum: Type.Optional(Num),
  lastTradePrice: Type.Optional(Num),
  outcomes: Type.Optional(Type.String({ description: 'JSON in a string, as the source wrote it.' })),
  outcomePrices: Type.Optional(Type.String({ description: 'JSON in a string, as the source wrote it.' })),
})
export type FoundMarket = Static<typeof FoundMarket>

export const search = endpoint({
  ...extensionRoutes['markets.search'],
  id: 'markets.search',
  summary: 'Markets by words in their question, slug or tags; open ones first, then the most traded.',
  notes:
    'Every word must begin a word of the market, in any letter case and with or without accents. Without words: the most traded open markets.',
  input: Type.Object({
    q: Type.Optional(Type.String({ maxLength: 200, description: 'Words, at most eight of which count.' })),
    limit: withDefault(Type.Integer({ minimum: 1, maximum: 50, description: 'Markets at most.' }), 20),
  }),
  reply: Type.Object({ markets: Type.Array(FoundMarket) }),
  faults: [],
  example: {
    input: { q: 'harbour bridge', limit: 1 },
    reply: {
      markets: [
        {
          id: '501',
          slug: 'will-the-harbour-bridge-open-in-2026',
          question: 'Will the harbour bridge open in 2026?',
          open: true,
          endDate: '2026-12-14T00:00:00Z',
          volumeNum: 889744.51,
          lastTradePrice: 0.73,
          outcomes: '["Yes","No"]',
          outcomePrices: '["0.73","0.27"]',
        },
      ],
    },
  },
})
