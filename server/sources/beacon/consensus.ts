// The constants of the consensus rules that differ between networks, as a node lists them in `/eth/v1/config/spec`.
// Values that a node omits default to those of mainnet.
import { epochOfSlot, firstSlotOf } from '#core/chain-time.ts'
import { recordFrom } from '#core/record-from.ts'
import { readDueTimes, refuseSlotSchedule, slotSecondsOf } from './slot-timing.ts'

/** In chronological order. Blocks of other forks are rejected. */
export const forks = ['phase0', 'altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu', 'gloas'] as const
export type Fork = (typeof forks)[number]

export interface UnknownFork {
  /** In lower case. */
  readonly name: string
  /** Its first epoch. */
  readonly epoch: number
}

/** The maximum length of each list of a block: its name in the node's list, and the value on mainnet. */
const limitNames = {
  proposerSlashings: ['MAX_PROPOSER_SLASHINGS', 16],
  attesterSlashings: ['MAX_ATTESTER_SLASHINGS', 2],
  attesterSlashingsElectra: ['MAX_ATTESTER_SLASHINGS_ELECTRA', 1],
  attestations: ['MAX_ATTESTATIONS', 128],
  attestationsElectra: ['MAX_ATTESTATIONS_ELECTRA', 8],
  deposits: ['MAX_DEPOSITS', 16],
  exits: ['MAX_VOLUNTARY_EXITS', 16],
  validatorsPerCommittee: ['MAX_VALIDATORS_PER_COMMITTEE', 2048],
  bytesPerTransaction: ['MAX_BYTES_PER_TRANSACTION', 2 ** 30],
  transactions: ['MAX_TRANSACTIONS_PER_PAYLOAD', 2 ** 20],
  withdrawals: ['MAX_WITHDRAWALS_PER_PAYLOAD', 16],
  credentialsChanges: ['MAX_BLS_TO_EXECUTION_CHANGES', 16],
  blobCommitments: ['MAX_BLOB_COMMITMENTS_PER_BLOCK', 4096],
  depositRequests: ['MAX_DEPOSIT_REQUESTS_PER_PAYLOAD', 8192],
  withdrawalRequests: ['MAX_WITHDRAWAL_REQUESTS_PER_PAYLOAD', 16],
  consolidationRequests: ['MAX_CONSOLIDATION_REQUESTS_PER_PAYLOAD', 2],
} as const

/** Reward weights; the same on every network. */
export const weights = { source: 14, target: 26, head: 14, sync: 2, proposer: 8, all: 64 } as const

const figurePattern = /^\d{1,20}$/

export type ConsensusRules = Readonly<ReturnType<typeof readRules>>

/** Throws an Error that names the invalid constant. */
export function readRules(spec: Readonly<Record<string, unknown>>) {
  const figure = (name: string, mainnet: number): number => {
    const value = spec[name]
    if (value == null) return mainnet
    if (typeof value !== 'string' || !figurePattern.test(value))
      throw new Error(`${name} is ${JSON.stringify(value)}, not a decimal string`)
    return toFigure(BigInt(value))
  }
  const positive = (name: string, mainnet: number): number => {
    const value = figure(name, mainnet)
    if (value >= 1 && Number.isFinite(value)) return value
    throw new Error(`${name} is ${value}; it must be from 1 to 2^53`)
  }
  const ifListed = (name: string) => (spec[name] == null ? undefined : positive(name, 0))
  // A node that does not list a fork does not support it.
  const forkEpoch = (fork: string) => figure(`${fork.toUpperCase()}_FORK_EPOCH`, Number.POSITIVE_INFINITY)
  const slotSeconds = slotSecondsOf(ifListed('SLOT_DURATION_MS'), ifListed('SECONDS_PER_SLOT'))
  refuseSlotSchedule(spec.SLOT_DURATION_SCHEDULE, slotSeconds)
  return {
    slotSeconds,
    dueTimes: readDueTimes(figure, forkEpoch),
    slotsPerEpoch: positive('SLOTS_PER_EPOCH', 32),
    /** First epoch of each fork; Infinity if it is not scheduled. */
    forkEpochs: { ...recordFrom(forks, forkEpoch), phase0: 0 },
    /** The first scheduled fork that this version does not support (behaviour/validators.md#unknown-forks). */
    unknownFork: Object.keys(spec)
      .map((key) => (/^(\w+)_FORK_EPOCH$/.exec(key)?.[1] ?? '').toLowerCase())
      .filter((name) => name !== '' && !forks.some((known) => known === name))
      .map((name): UnknownFork => ({ name, epoch: forkEpoch(name) }))
      .filter(({ epoch }) => Number.isFinite(epoch))
      .sort((a, b) => a.epoch - b.epoch)[0],
    syncCommitteeSize: positive('SYNC_COMMITTEE_SIZE', 512),
    /** Seats of the payload timeliness committee of a slot, since Gloas. */
    payloadCommitteeSize: positive('PTC_SIZE', 512),
    epochsPerSyncPeriod: positive('EPOCHS_PER_SYNC_COMMITTEE_PERIOD', 256),
    committeesPerSlotMax: positive('MAX_COMMITTEES_PER_SLOT', 64),
    committeeSizeTarget: positive('TARGET_COMMITTEE_SIZE', 128),
    shuffleRounds: figure('SHUFFLE_ROUND_COUNT', 90),
    historicalRoots: figure('SLOTS_PER_HISTORICAL_ROOT', 8192),
    historicalMixes: figure('EPOCHS_PER_HISTORICAL_VECTOR', 65_536),
    slashingsVector: figure('EPOCHS_PER_SLASHINGS_VECTOR', 8192),
    /** Gwei. */
    increment: positive('EFFECTIVE_BALANCE_INCREMENT', 1_000_000_000),
    baseRewardFactor: figure('BASE_REWARD_FACTOR', 64),
    leakAfterEpochs: figure('MIN_EPOCHS_TO_INACTIVITY_PENALTY', 4),
    scoreBias: figure('INACTIVITY_SCORE_BIAS', 4),
    scoreRecovery: figure('INACTIVITY_SCORE_RECOVERY_RATE', 16),
    inactivityQuotient: {
      altair: figure('INACTIVITY_PENALTY_QUOTIENT_ALTAIR', 3 * 2 ** 24),
      bellatrix: figure('INACTIVITY_PENALTY_QUOTIENT_BELLATRIX', 2 ** 24),
    },
    slashingQuotient: {
      altair: figure('MIN_SLASHING_PENALTY_QUOTIENT_ALTAIR', 64),
      bellatrix: figure('MIN_SLASHING_PENALTY_QUOTIENT_BELLATRIX', 32),
      electra: figure('MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA', 4096),
    },
    whistleblowerQuotient: {
      altair: figure('WHISTLEBLOWER_REWARD_QUOTIENT', 512),
      electra: figure('WHISTLEBLOWER_REWARD_QUOTIENT_ELECTRA', 4096),
    },
    /** An effective balance changes when the balance leaves this band; on mainnet in quarters of an increment. */
    hysteresis: {
      quotient: positive('HYSTERESIS_QUOTIENT', 4),
      down: figure('HYSTERESIS_DOWNWARD_MULTIPLIER', 1),
      up: figure('HYSTERESIS_UPWARD_MULTIPLIER', 5),
    },
    /** Gwei. Since Electra, compounding validators have the second limit. */
    effectiveMax: {
      phase0: figure('MAX_EFFECTIVE_BALANCE', 32_000_000_000),
      electra: figure('MAX_EFFECTIVE_BALANCE_ELECTRA', 2_048_000_000_000),
    },
    /** Gwei. Validators with this effective balance or less exit. */
    ejectionBalance: figure('EJECTION_BALANCE', 16_000_000_000),
    /** The correlated penalty of slashed validators. */
    slashingMultiplier: {
      altair: figure('PROPORTIONAL_SLASHING_MULTIPLIER_ALTAIR', 2),
      bellatrix: figure('PROPORTIONAL_SLASHING_MULTIPLIER_BELLATRIX', 3),
    },
    /** Gwei of deposits that an epoch applies since Electra: a share of the active stake within limits. */
    depositChurn: {
      quotient: positive('CHURN_LIMIT_QUOTIENT', 65_536),
      min: figure('MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA', 128_000_000_000),
      max: figure('MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT', 256_000_000_000),
      gloas: {
        quotient: positive('CHURN_LIMIT_QUOTIENT_GLOAS', 32_768),
        max: figure('MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT_GLOAS', 256_000_000_000),
      },
    },
    pendingDepositsPerEpochMax: figure('MAX_PENDING_DEPOSITS_PER_EPOCH', 16),
    /** How many validators, queued partial withdrawals and builders a block checks for withdrawals. */
    sweep: {
      validators: positive('MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP', 16_384),
      partials: positive('MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP', 8),
      builders: positive('MAX_BUILDERS_PER_WITHDRAWALS_SWEEP', 16_384),
    },
    /** Epochs from a request for a partial withdrawal or an exit until it can be paid out, at least. */
    withdrawalEpochsMin: figure('MIN_VALIDATOR_WITHDRAWABILITY_DELAY', 256) + figure('MAX_SEED_LOOKAHEAD', 4) + 1,
    /** Epochs from the exit of a builder until its balance is paid out. */
    builderExitEpochs: figure('MIN_BUILDER_WITHDRAWABILITY_DELAY', 64),
    /** They determine the depth of the hash trees of lists. */
    blockLimits: Object.fromEntries(
      Object.entries(limitNames).map(([key, [name, mainnet]]) => [key, positive(name, mainnet)]),
    ) as Readonly<Record<keyof typeof limitNames, number>>,
  }
}

/** Values above 2^53, such as FAR_FUTURE_EPOCH, become Infinity. */
export const toFigure = (value: bigint): number =>
  value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(value)

/**
 * The end of the epochs that can be processed before an unknown fork. `epochsAhead`: an epoch is processed with the state as
 * many epochs later.
 */
export const readableUntil = ({ unknownFork }: ConsensusRules, epochsAhead = 2): number =>
  unknownFork ? Math.max(0, unknownFork.epoch - epochsAhead) : Number.POSITIVE_INFINITY

/** Whether these rules schedule a fork that the known ones do not, or at another epoch. */
export const schedulesOtherForks = (rules: ConsensusRules, known: ConsensusRules): boolean =>
  forks.some((fork) => Number.isFinite(rules.forkEpochs[fork]) && rules.forkEpochs[fork] !== known.forkEpochs[fork]) ||
  (rules.unknownFork !== undefined &&
    (rules.unknownFork.name !== known.unknownFork?.name || rules.unknownFork.epoch !== known.unknownFork.epoch))

/** Whether these rules lack a fork that the known ones schedule, or schedule it for another epoch. */
export const lacksFork = (rules: ConsensusRules, known: ConsensusRules): boolean =>
  forks.some((fork) => Number.isFinite(known.forkEpochs[fork]) && rules.forkEpochs[fork] !== known.forkEpochs[fork]) ||
  (known.unknownFork !== undefined &&
    (rules.unknownFork?.name !== known.unknownFork.name || rules.unknownFork.epoch !== known.unknownFork.epoch))

export const forkAt = (rules: ConsensusRules, epoch: number): Fork =>
  forks.findLast((fork) => epoch >= rules.forkEpochs[fork]) ?? 'phase0'

/** Whether a fork is `since` or later. */
export const isForkFrom = (fork: Fork, since: Fork): boolean => forks.indexOf(fork) >= forks.indexOf(since)

export const isFrom = (rules: ConsensusRules, fork: Fork, epoch: number): boolean => epoch >= rules.forkEpochs[fork]

export const epochAt = (rules: ConsensusRules, slot: number): number => epochOfSlot(rules, slot)
export const firstSlotAt = (rules: ConsensusRules, epoch: number): number => firstSlotOf(rules, epoch)

/** The integer square root, rounded down. */
export function isqrt(value: bigint): bigint {
  if (value < 2n) return value
  let root = BigInt(Math.floor(Math.sqrt(Number(value))))
  while (root * root > value) root -= 1n
  while ((root + 1n) * (root + 1n) <= value) root += 1n
  return root
}
