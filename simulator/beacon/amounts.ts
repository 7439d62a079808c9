// Amounts of simulated chains, in gwei.

/** An epoch that is not set. */
export const far = Number.POSITIVE_INFINITY
export const eth = 1_000_000_000n

/** The balance that a validator needs for its activation, and the highest effective balance without compounding. */
export const minActivation = 32n * eth

/** The highest effective balance, since Electra. */
export const maxEffective = (credentials: string): bigint =>
  credentials.startsWith('0x02') ? 2048n * eth : minActivation

/** Math.min for bigints. */
export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
