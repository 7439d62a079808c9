// Which duties of watched validators are counted. In a file of its own, because the thread of the ingesters uses it without
// the metrics library.

/** Values of `duty`. */
export const watchedDuties = [
  'attestation',
  'late_vote',
  'wrong_target',
  'wrong_head',
  'block',
  'empty_block',
  'withheld_payload',
  'wrong_fee_recipient',
  'unknown_relay',
  'sync_signature',
  'slashed',
] as const
export type WatchedDuty = (typeof watchedDuties)[number]
