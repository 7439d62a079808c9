// How long things are kept that would otherwise only grow. Rates, market versions and hours of duties have their own
// settings beside what they are about (`fx.historyDays`, `markets.historyDays`, `validators.networks.*.hoursKeptDays`).
import { Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

export const retentionSettings = section(
  {
    quotesDays: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 36_500,
        description: 'Days a quote is kept after it was made; 0: for ever. Never less than seven.',
      }),
      0,
    ),
    everyMs: withDefault(
      Type.Integer({ minimum: 1000, maximum: 86_400_000, description: 'How often what is over is looked for.' }),
      3_600_000,
    ),
  },
  'How long things are kept.',
)
