// Settings for deleting old data. Rates, market versions and duties have their own settings (`fx.historyDays`,
// `markets.history`, `validators.networks.*.hoursKeptDays`).
import { integer, section } from './server.ts'

export const retentionSettings = section(
  {
    quotesDays: integer(30, 0, 36_500, 'Days until a quote is deleted, at least two; 0: never.'),
    tradesDays: integer(0, 0, 36_500, 'Days until a trade and its quote are deleted, at least two; 0: never.'),
    everyMs: integer(3_600_000, 1000, 86_400_000, 'How often old data is deleted.'),
  },
  'Deletion of old data.',
)
