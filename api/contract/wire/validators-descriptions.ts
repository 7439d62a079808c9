// Descriptions of the fields of group C. docs/methodology.md has the formulas.

/** The time window of a record. Both ends are included. */
export const windowDescriptions = {
  hour: 'Number of the chain hour since genesis.',
  day: 'Number of the day since genesis; null unless the granularity is `hour` or `day`.',
  startDay: 'First day of the window.',
  endDay: 'Last day of the window.',
  startEpoch: 'First requested epoch of the window that has been read.',
  endEpoch: 'Last requested epoch of the window that has been read.',
  startSlot: 'First slot of `startEpoch`.',
  endSlot: 'Last slot of `endEpoch`.',
  startDate: 'UTC date at the start of `startEpoch`.',
  endDate: 'UTC date at the start of `endEpoch`.',
  date: 'UTC date at the start of the day.',
  startTimestamp: 'Start of `startEpoch`.',
  endTimestamp: 'End of `endEpoch`.',
} as const

export const figureDescriptions = {
  attesterEffectiveness: 'Quality of attestations: included, correct and early; mean of days, 0 to 100.',
  proposerEffectiveness: 'Quality of proposals: 100 if all blocks were proposed, 0 if none; null without duties.',
  validatorEffectiveness: '5/8 attester and 3/8 proposer effectiveness; without proposer duties the attester alone.',
  avgCorrectness: 'Share of correct sources, targets and heads among the included attestations, 0 to 1.',
  avgInclusionDelay: 'Mean inclusion delay in slots; 1 is the best possible value.',
  sumInclusionDelay: 'Sum of inclusion delays in slots.',
  uptime: 'Share of assigned attestations that were included, 0 to 1.',
} as const

/** Amounts in gwei. */
export const sumDescriptions = {
  earnings: 'Balance change without deposits, withdrawals and consolidations, in gwei.',
  estimatedPenalties: 'Sum of the six penalties, zero or negative, in gwei.',
  estimatedRewards: 'Rewards for attestations, sync signatures and blocks, in gwei.',
  executionProposedEmptyCount: 'Proposed blocks with an empty execution payload.',
  proposedCount: 'Proposed blocks that are in the chain.',
  proposerDutiesCount: 'Assigned block proposals.',
  slashesCollected: 'Slashings included in own blocks.',
  slashesReceived: 'Times the validator was slashed.',
  syncSignatureCount: 'Sync committee signatures.',
  totalAttestationAssignments: 'Assigned attestations.',
  totalAttestations: 'Attestations in blocks, including repetitions.',
  totalUniqueAttestations: 'Included attestations, each counted once.',
  sumAllRewards: 'Earnings, priority fees and baseline MEV, in gwei. Needs an execution source.',
  sumAttestationRewards: 'Attestation rewards in gwei.',
  sumBaselineMev: 'Execution rewards of own blocks beyond priority fees, in gwei. Needs an execution source.',
  sumConsensusBlockRewards: 'Consensus rewards of own blocks in gwei.',
  sumCorrectHead: 'Included attestations with a correct head.',
  sumCorrectSource: 'Included attestations with a correct source.',
  sumCorrectTarget: 'Included attestations with a correct target.',
  sumExternallySourcedExecutionRewards:
    'Part of fees and MEV paid by an external builder, in gwei. Needs an execution source.',
  sumInclusionDelay: figureDescriptions.sumInclusionDelay,
  sumLateSourcePenalties: 'Penalties for correct but late sources, zero or negative, in gwei.',
  sumLateSourceVotes: 'Attestations with a correct source that came too late for a reward.',
  sumLateTargetPenalties: 'Penalties for correct but late targets, zero or negative, in gwei.',
  sumLateTargetVotes: 'Attestations with a correct target that came too late for a reward.',
  sumMissedAttestationPenalties: 'Penalties for missed attestations, zero or negative, in gwei.',
  sumMissedAttestationRewards: 'Rewards lost by missed attestations, in gwei.',
  sumMissedAttestations: 'Assigned attestations that were not included.',
  sumMissedConsensusBlockRewards:
    'Consensus rewards lost by missed blocks, estimated by the mean of the epoch, in gwei.',
  sumMissedExecutionRewards:
    'Fees and MEV lost by missed blocks, estimated by the mean of the epoch, in gwei. Needs an execution source.',
  sumMissedSyncCommitteeRewards: 'Rewards lost by missing sync signatures, in gwei.',
  sumPriorityFees: 'Priority fees of own blocks in gwei. Needs an execution source.',
  sumSyncCommitteePenalties: 'Penalties for missing sync signatures, zero or negative, in gwei.',
  sumWrongHeadPenalties: 'Penalties for wrong heads, in gwei; zero under the current rules.',
  sumWrongHeadVotes: 'Included attestations with a wrong head.',
  sumWrongTargetPenalties: 'Penalties for wrong targets, zero or negative, in gwei.',
  sumWrongTargetVotes: 'Included attestations with a wrong target.',
} as const

export const metadataDescriptions = {
  validatorIndex: 'Index of the validator.',
  validatorPubkey: 'Public key: 0x and 96 hexadecimal digits.',
  pool: 'Pool of the validator, from the imported entities.',
  subpool: 'Part of the pool.',
  dvtNetwork: 'Network of distributed validators that runs it.',
  nodeOperators: 'Node operators.',
  dvtOperators: 'Operators that share the key of a distributed validator.',
  depositAddresses: 'Senders of the deposits, in the order of the deposits.',
  activationEligibilityEpoch: 'Epoch from which it is eligible for activation.',
  activationEpoch: 'Epoch from which it has duties.',
  exitEpoch: 'Epoch from which it has no duties.',
  withdrawableEpoch: 'Epoch from which its balance can be withdrawn.',
  withdrawalAddress: 'Withdrawal address.',
} as const
