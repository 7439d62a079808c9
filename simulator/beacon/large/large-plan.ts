// The size of a network as large as mainnet. Its blocks and states are written directly, not simulated validator by
// validator. So it has only what every epoch of mainnet has, but a million validators.

export interface LargePlan {
  /** All epochs are of this fork. */
  readonly fork: 'fulu' | 'gloas'
  /** Validators. All of them are active. */
  readonly count: number
  /** Effective balance of all validators. With the maximum of 2048, proposers are drawn 64 times faster than with 32. */
  readonly ether: 32 | 2048
  /** Lengths of the queues in a state. */
  readonly pendingDeposits: number
  readonly partialWithdrawals: number
  readonly consolidations: number
  /** Since Gloas. */
  readonly builders: number
  /**
   * Since Gloas: the node has deleted all envelopes, so ingest computes the withdrawals. Then no validator has a withdrawal
   * address. So each block searches as many validators as it may, and pays only builders.
   */
  readonly prunesEnvelopes: boolean
  /** In each payload. */
  readonly transactions: number
  readonly transactionBytes: number
  readonly accessListBytes: number
  /** Constants of mainnet. */
  readonly slotsPerEpoch: 32
}

/** About as on mainnet in 2026. The number of builders is what a network could have, because no network has any yet. */
export const mainnetPlan: Omit<LargePlan, 'fork'> = {
  count: 1_000_000,
  ether: 32,
  pendingDeposits: 50_000,
  partialWithdrawals: 5_000,
  consolidations: 2_000,
  builders: 2_000,
  prunesEnvelopes: false,
  transactions: 250,
  transactionBytes: 600,
  accessListBytes: 100_000,
  slotsPerEpoch: 32,
}

/** What the node lists in `/eth/v1/config/spec`. Everything else has the value of mainnet. */
export const specOf = ({ fork }: Pick<LargePlan, 'fork'>): Readonly<Record<string, string>> => {
  const names = ['altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu', ...(fork === 'gloas' ? ['gloas'] : [])]
  return Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_FORK_EPOCH`, '0']))
}
