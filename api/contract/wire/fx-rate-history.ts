// Endpoint of group B beyond the specification: past rates of a pair (behaviour/fx.md#rate-history).
import { DateTime, endpoint, integer, Num, recordList, Text, Type } from '../kit.ts'

const code = (description: string) => Type.String({ minLength: 1, maxLength: 20, description })

export const rateHistory = endpoint('fx.rateHistory', {
  summary: 'Past rates of a pair, by source.',
  notes:
    'Rates as the sources returned them, without spread and fee. Of each of 120 equal parts of the time, the last rate is returned. A pair that a source states the other way round is inverted. Rates through a third currency are not computed.',
  input: Type.Object({
    base: code('Reference currency, such as EUR.'),
    quote: code('Reference currency that the rate is in, such as USD.'),
    hours: integer(24, 1, 168, 'Hours until now.'),
  }),
  reply: Type.Object({
    base: { ...Text, description: 'As in the request.' },
    quote: { ...Text, description: 'As in the request.' },
    sources: recordList('Sources that have rates of this pair and time.', {
      source: { ...Text, description: 'Id of the source.' },
      points: recordList('Oldest first.', {
        at: { ...DateTime, description: 'Time of the rate, according to the source.' },
        rate: { ...Num, description: 'Units of `quote` per unit of `base`, rounded to a double.' },
      }),
    }),
  }),
  faults: [],
  example: {
    input: { base: 'EUR', quote: 'USD', hours: 1 },
    reply: {
      base: 'EUR',
      quote: 'USD',
      sources: [
        {
          source: 'demo-north',
          points: [
            { at: '2026-11-15T09:59:30.000Z', rate: 1.0841 },
            { at: '2026-11-15T10:00:00.000Z', rate: 1.0842 },
          ],
        },
      ],
    },
  },
})
