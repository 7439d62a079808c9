// The recorded chains. Probabilities are per block, those of requests per try.

const usual = {
  ...{ epochs: 15, validators: 70, missed: 0.08, absent: 0.04 },
  ...{ slashing: 0.05, exits: 0.15, deposits: 0.25, requests: 0.25 },
  config: {},
}

/** The effective balance of this validator increases at the end of epoch 0. */
const aboveBand = { index: 3, effectiveBalance: 31e9, balance: 32.3e9 }

export const scenarios = {
  /** At the end of epoch 0 an effective balance increases, and in the next slot its validator becomes compounding. */
  electra: {
    ...{ ...usual, seed: 'a', forks: { electra: 0 } },
    ...{ changes: [{ ...aboveBand, prefix: 1 }], switches: { slot: 8, validator: aboveBand.index } },
  },
  fulu: { ...usual, forks: { electra: 0, fulu: 1 } },
  'electra-to-fulu': {
    ...{ ...usual, hasJson: true, forks: { electra: 0, fulu: 6 }, slashing: 0.08, requests: 0.5 },
    // Without a leak, scores increase as well.
    config: { INACTIVITY_SCORE_RECOVERY_RATE: 1 },
  },
  'deneb-to-electra': { ...usual, hasJson: true, forks: { electra: 4, fulu: 9 }, slashing: 0.02 },
  /** Electra starts when an effective balance increases. */
  'electra-upgrade': {
    ...{ ...usual, epochs: 8, forks: { electra: 1, fulu: 3 } },
    changes: [{ ...aboveBand, prefix: 2 }],
  },
  /** The chain does not finalize for some epochs, so there is an inactivity leak. */
  leak: {
    ...{ ...usual, hasJson: true, forks: { electra: 0, fulu: 3 } },
    ...{ epochs: 17, outage: { from: 3, until: 9 }, absent: 0.03 },
  },
}
