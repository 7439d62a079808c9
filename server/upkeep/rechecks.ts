// Stored answers worked out once more from what they came from. One entry per kind of answer; a group that learns to derive
// something again adds an entry here (decisions 0115 and 0130).
import type { Recheck } from './recheck.ts'
import { fundings } from './recheck-fundings.ts'
import { quotePrices, rates } from './recheck-fx.ts'
import { marketDocuments, marketRecords } from './recheck-markets.ts'
import { dutyDays, dutyHours, registry } from './recheck-validators.ts'

export const rechecks: readonly Recheck[] = [
  fundings,
  quotePrices,
  rates,
  dutyHours,
  dutyDays('chain'),
  dutyDays('UTC'),
  registry,
  marketDocuments,
  marketRecords,
]
