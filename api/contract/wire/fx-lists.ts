// Endpoints of group B beyond the specification: the quotes of the caller's key, and the current rates
// (behaviour/fx.md#read-quotes-back, behaviour/fx.md#current-rates).
import { DateTime, endpoint, integer, nullable, oneOf, type Static, Text, Type } from '../kit.ts'
import { createQuote, Quote } from './fx.ts'

export const quotes = endpoint('fx.quotes', {
  summary: 'List the quotes of the key, newest first.',
  notes:
    'Each quote is the document of the call that created it, also after it has expired. Quotes are deleted after `retention.quotesDays`.',
  input: Type.Object({
    limit: integer(20, 1, 100, 'Quotes per page.'),
    before: Type.Optional(
      Type.String({ format: 'uuid', description: '`next` of the page before; default: the newest quotes.' }),
    ),
  }),
  reply: Type.Object({
    quotes: Type.Array(Quote, { description: 'Newest first.' }),
    next: { ...nullable(Text), description: '`before` of the next page; null on the last page.' },
  }),
  faults: [],
  example: { input: { limit: 1 }, reply: { quotes: [createQuote.example.reply], next: createQuote.example.reply.id } },
})

export const CurrentRate = Type.Object({
  quote: { ...Text, description: 'Reference currency that the rate is in.' },
  status: oneOf(['fresh', 'stale', 'disputed'], {
    description: '`stale`: no source has a fresh rate. `disputed`: the sources differ too much.',
  }),
  rate: {
    ...nullable(Text),
    description: 'Units of `quote` per unit of `base`, as decimal text with at most 15 digits; null unless fresh.',
  },
  at: { ...nullable(DateTime), description: 'Time of the oldest rate that was used.' },
  via: { ...nullable(Text), description: 'The currency through which the pair was crossed; null for direct rates.' },
  sources: Type.Array(Text, { description: 'Ids of the sources that were used.' }),
})
export type CurrentRate = Static<typeof CurrentRate>

export const rates = endpoint('fx.rates', {
  summary: 'Current rates of one currency against all others.',
  notes:
    'The rates of reference quotes, without spread and fee: the median of the fresh rates of all sources. `fx.currencies` lists the currency that each token tracks.',
  input: Type.Object({
    base: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 20,
        description: 'Reference currency, such as EUR; default: that of the first offered currency.',
      }),
    ),
  }),
  reply: Type.Object({
    base: { ...Text, description: 'As in the request.' },
    rates: Type.Array(CurrentRate, {
      description: 'One for each other reference currency, in the order of `fx.currencies`.',
    }),
  }),
  faults: ['fx.pair_unknown'],
  example: {
    input: { base: 'EUR' },
    reply: {
      base: 'EUR',
      rates: [
        {
          quote: 'USD',
          status: 'fresh',
          rate: '1.0842',
          at: '2026-11-15T09:59:58.000Z',
          via: null,
          sources: ['demo-north', 'demo-south'],
        },
      ],
    },
  },
})
