// Stored answers worked out once more from what they came from. One entry per kind of answer; a group that learns to derive
// something again adds an entry here (behaviour/operations.md#doctor).
import type { Verification } from './verification.ts'
import { fundingVerification } from './verify-fundings.ts'
import { quotePriceVerification, rateVerification } from './verify-fx.ts'
import { marketDocumentVerification, marketRecordVerification } from './verify-markets.ts'
import { dutyDayVerification, dutyHourVerification, registryVerification } from './verify-validators.ts'

export const verifications: readonly Verification[] = [
  fundingVerification,
  quotePriceVerification,
  rateVerification,
  dutyHourVerification,
  dutyDayVerification('chain'),
  dutyDayVerification('UTC'),
  registryVerification,
  marketDocumentVerification,
  marketRecordVerification,
]
