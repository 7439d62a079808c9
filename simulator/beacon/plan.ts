// The parameters of a simulated network: preset, forks and size. How its validators behave is in behaviour.ts.
import { type ConsensusRules, type Fork, forks, readRules } from '#sources/beacon/consensus.ts'
import { type ChainConstants, chainConstants } from './gloas/gloas-state.ts'

export interface NetworkPlan {
  readonly slotsPerEpoch: number
  /** At genesis. */
  readonly validators: number
  readonly committeesPerSlot: number
  readonly syncSeats: number
  readonly syncPeriod: number
  readonly slotSeconds: number
  readonly forkEpochs: Readonly<Partial<Record<Fork, number>>>
  /** Execution rewards are known. */
  readonly hasExecution: boolean
  /** Probability that a block has no transactions. Default: 0.12. */
  readonly emptyPayloads?: number
  /**
   * Committees and proposers follow from RANDAO, as on a real chain; otherwise they are drawn. Only since Fulu and with
   * one committee per slot.
   */
  readonly derivesDuties?: boolean
}

/** The forks up to Fulu are active from genesis. */
export const presentForks: NetworkPlan['forkEpochs'] = Object.fromEntries(
  forks.filter((fork) => fork !== 'phase0' && fork !== 'gloas').map((fork) => [fork, 0]),
)

/** The fork to Gloas is in this epoch; 0: the chain begins with it. */
export const gloasFrom = (epoch: number): NetworkPlan['forkEpochs'] => ({ ...presentForks, gloas: epoch })

/** The fork of an epoch. Simulated networks begin with Altair. */
export const forkOf = ({ forkEpochs }: NetworkPlan, epoch: number): Fork =>
  forks.findLast((fork) => epoch >= (forkEpochs[fork] ?? Number.POSITIVE_INFINITY)) ?? 'altair'

export const depositContract = `0x${'de'.repeat(20)}`

/** The response of `/eth/v1/config/spec`. Small constants, so that rare events happen within a few epochs. */
export function specOf(plan: NetworkPlan, chainId: string): Record<string, string> {
  const spec: Record<string, string | number> = {
    PRESET_BASE: 'minimal',
    SECONDS_PER_SLOT: plan.slotSeconds,
    SLOT_DURATION_MS: plan.slotSeconds * 1000,
    ATTESTATION_DUE_BPS: 3333,
    ATTESTATION_DUE_BPS_GLOAS: 2500,
    PAYLOAD_DUE_BPS: 5000,
    PAYLOAD_ATTESTATION_DUE_BPS: 7500,
    SLOTS_PER_EPOCH: plan.slotsPerEpoch,
    SYNC_COMMITTEE_SIZE: plan.syncSeats,
    EPOCHS_PER_SYNC_COMMITTEE_PERIOD: plan.syncPeriod,
    MAX_COMMITTEES_PER_SLOT: 8,
    MAX_ATTESTATIONS: 256,
    MAX_ATTESTATIONS_ELECTRA: 256,
    MAX_TRANSACTIONS_PER_PAYLOAD: 16,
    MAX_BYTES_PER_TRANSACTION: 64,
    MAX_WITHDRAWALS_PER_PAYLOAD: 4,
    MAX_DEPOSIT_REQUESTS_PER_PAYLOAD: 16,
    MAX_BLOB_COMMITMENTS_PER_BLOCK: 32,
    MAX_PENDING_DEPOSITS_PER_EPOCH: 3,
    SHUFFLE_ROUND_COUNT: 3,
    SLOTS_PER_HISTORICAL_ROOT: 16,
    EPOCHS_PER_HISTORICAL_VECTOR: 16,
    EPOCHS_PER_SLASHINGS_VECTOR: 8,
    EFFECTIVE_BALANCE_INCREMENT: 1_000_000_000,
    BASE_REWARD_FACTOR: 64,
    MIN_EPOCHS_TO_INACTIVITY_PENALTY: 2,
    INACTIVITY_SCORE_BIAS: 4,
    INACTIVITY_SCORE_RECOVERY_RATE: 16,
    INACTIVITY_PENALTY_QUOTIENT_ALTAIR: 50_331_648,
    INACTIVITY_PENALTY_QUOTIENT_BELLATRIX: 16_777_216,
    MIN_SLASHING_PENALTY_QUOTIENT_ALTAIR: 64,
    MIN_SLASHING_PENALTY_QUOTIENT_BELLATRIX: 32,
    MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA: 4096,
    WHISTLEBLOWER_REWARD_QUOTIENT: 512,
    WHISTLEBLOWER_REWARD_QUOTIENT_ELECTRA: 4096,
    ...(plan.forkEpochs.gloas !== undefined && gloasSpec(chainConstants)),
    DEPOSIT_CHAIN_ID: chainId,
    DEPOSIT_NETWORK_ID: chainId,
    DEPOSIT_CONTRACT_ADDRESS: depositContract,
  }
  for (const [fork, epoch] of Object.entries(plan.forkEpochs)) spec[`${fork.toUpperCase()}_FORK_EPOCH`] = epoch
  return Object.fromEntries(Object.entries(spec).map(([name, value]) => [name, String(value)]))
}

/** What a node lists because of Gloas. */
const gloasSpec = (constants: ChainConstants): Record<string, string | number> => ({
  AGGREGATE_DUE_BPS: 6667,
  SYNC_MESSAGE_DUE_BPS: 3333,
  CONTRIBUTION_DUE_BPS: 6667,
  AGGREGATE_DUE_BPS_GLOAS: 5000,
  SYNC_MESSAGE_DUE_BPS_GLOAS: 2500,
  CONTRIBUTION_DUE_BPS_GLOAS: 5000,
  PTC_SIZE: constants.ptcSize,
  MAX_PAYLOAD_ATTESTATIONS: 4,
  MAX_BUILDER_DEPOSIT_REQUESTS_PER_PAYLOAD: 64,
  MAX_BUILDER_EXIT_REQUESTS_PER_PAYLOAD: 16,
  MAX_BUILDERS_PER_WITHDRAWALS_SWEEP: constants.buildersPerSweep,
  MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP: constants.validatorsPerSweep,
  MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP: constants.partialsPerSweep,
  MAX_SEED_LOOKAHEAD: constants.activationDelay,
  SHARD_COMMITTEE_PERIOD: 0,
  MIN_VALIDATOR_WITHDRAWABILITY_DELAY: constants.withdrawalDelay,
  MIN_BUILDER_WITHDRAWABILITY_DELAY: constants.builderDelay,
  MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA: String(constants.churnMin),
  CHURN_LIMIT_QUOTIENT_GLOAS: String(constants.churnQuotient),
  MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT_GLOAS: String(constants.activationChurnMax),
  CONSOLIDATION_CHURN_LIMIT_QUOTIENT: String(constants.consolidationQuotient),
  BUILDER_INDEX_FLAG: String(2n ** 40n),
  BUILDER_INDEX_SELF_BUILD: String(2n ** 64n - 1n),
  BUILDER_PAYMENT_THRESHOLD_NUMERATOR: 6,
  BUILDER_PAYMENT_THRESHOLD_DENOMINATOR: 10,
  GLOAS_FORK_VERSION: '0x07000001',
})

const knownRules = new WeakMap<NetworkPlan, ConsensusRules>()

/** As a client reads them from the node. */
export const rulesOf = (plan: NetworkPlan): ConsensusRules =>
  knownRules.getOrInsertComputed(plan, () => readRules(specOf(plan, '1')))
