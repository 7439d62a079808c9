// Settings for deleting old data. Rates, market versions and duties have their own settings (`fx.historyDays`,
// `markets.historyDays`, `validators.networks.*.hoursKeptDays`).
import { Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

export const retentionSettings = section(
  {
    quotesDays: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 36_500,
        description: 'Days until a quote is deleted, at least seven; 0: never.',
      }),
      0,
    ),
    everyMs: withDefault(
      Type.Integer({ minimum: 1000, maximum: 86_400_000, description: 'How often old data is deleted.' }),
      3_600_000,
    ),
  },
  'Deletion of old data.',
)
