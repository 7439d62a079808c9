// Endpoint of group D beyond the specification: past prices of an outcome (behaviour/markets.md#price-history).
import { endpoint, Num, oneOf, Type } from '../kit.ts'

/** Years 1970 to 2286, in seconds. */
const time = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 9_999_999_999, description }))

export const pricesHistory = endpoint('markets.pricesHistory', {
  summary: 'Past prices of an outcome.',
  notes:
    'The prices are those of the stored versions of the market, also after it has closed. There are no points for times without a price; `x-tetrad-coverage` has the ranges that are known.',
  input: Type.Object({
    market: Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        'Token of the outcome (`clobTokenIds`). For the first outcome also `conditionId` or `id` of the market.',
    }),
    startTs: time('Start, in Unix seconds. Default: the first stored version of the market.'),
    endTs: time('End, in Unix seconds. Default: now.'),
    interval: Type.Optional(
      oneOf(['1h', '6h', '1d', '1w', '1m', 'max'], {
        description: 'Period that ends now, instead of `startTs` and `endTs`; `1m` is 30 days. Default: `max`.',
      }),
    ),
    fidelity: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 525_600,
        description: 'Minutes between two points. Default: by the period.',
      }),
    ),
  }),
  reply: Type.Object({
    history: Type.Array(
      Type.Object({
        t: Type.Integer({ description: 'Time in Unix seconds.' }),
        p: { ...Num, description: 'Price of the outcome at that time.' },
      }),
      { description: 'Oldest first.' },
    ),
  }),
  faults: ['record.not_found', 'markets.not_covered', 'markets.too_many_changes', 'markets.history_busy'],
  example: {
    input: { market: '501', interval: '1d', fidelity: 720 },
    reply: {
      history: [
        { t: 1763164800, p: 0.71 },
        { t: 1763208000, p: 0.73 },
      ],
    },
  },
})
