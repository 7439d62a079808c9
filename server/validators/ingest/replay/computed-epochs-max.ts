// How many epochs between two states are computed from blocks, at most.

/** Computed epochs are kept in memory: about 20 MB each with a million validators. Mainnet: five hours. */
export const computedEpochsMax = 48
