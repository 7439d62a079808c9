// What each field of group C's records means, in a line. docs/methodology.md has the formulae.

/** Where a record lies in time. Both ends are included. */
export const windowDescriptions = {
  hour: 'Number of the chain hour, counted from genesis.',
  day: 'Number of the day, counted from genesis; only where the window is a day or an hour.',
  startDay: 'First day of the window.',
  endDay: 'Last day of the window.',
  startEpoch: 'First epoch of the window that is asked for and has been read.',
  endEpoch: 'Last epoch of the window that is asked for and has been read.',
  startSlot: 'First slot of `startEpoch`.',
  endSlot: 'Last slot of `endEpoch`.',
  startDate: 'UTC date on which `startEpoch` begins.',
  endDate: 'UTC date on which `endEpoch` begins.',
  date: 'UTC date on which the day begins.',
  startTimestamp: 'When `startEpoch` begins.',
  endTimestamp: 'When `endEpoch` is over.',
} as const

export const figureDescriptions = {
  attesterEffectiveness: 'How well it voted: votes taken, right and early; mean of days, 0 to 100.',
  proposerEffectiveness: 'How well it proposed: 100 for every block there, 0 for none; null without duties.',
  validatorEffectiveness: 'Five eighths attester and three eighths proposer; without proposals the attester alone.',
  avgCorrectness: 'Share of right sources, targets and heads among the votes that were taken, 0 to 1.',
  avgInclusionDelay: 'Slots until a vote was taken, on average; 1 is the best there is.',
  sumInclusionDelay: 'Slots until the votes were taken, added up.',
  uptime: 'Share of the votes due that were taken, 0 to 1.',
} as const

/** Amounts in gwei. */
export const sumDescriptions = {
  earnings: 'Change of the balance without deposits, withdrawals and consolidations; gwei.',
  estimatedPenalties: 'All six penalty sums together, zero or negative; gwei.',
  estimatedRewards: 'Paid for votes, sync signatures and blocks; gwei.',
  executionProposedEmptyCount: 'Blocks proposed with an empty execution payload.',
  proposedCount: 'Blocks proposed that are in the chain.',
  proposerDutiesCount: 'Slots in which a block was due.',
  slashesCollected: 'Slashings proved in own blocks.',
  slashesReceived: 'Slashings suffered.',
  syncSignatureCount: 'Sync committee signatures given.',
  totalAttestationAssignments: 'Votes due.',
  totalAttestations: 'Votes in blocks, repetitions counted.',
  totalUniqueAttestations: 'Votes that a block took, each counted once.',
  sumAllRewards: 'Earnings, priority fees and baseline MEV; gwei. Known only with an execution source.',
  sumAttestationRewards: 'Paid for votes; gwei.',
  sumBaselineMev: 'Brought by own blocks beyond priority fees; gwei. Known only with an execution source.',
  sumConsensusBlockRewards: 'Paid by the consensus layer for own blocks; gwei.',
  sumCorrectHead: 'Votes with the right head.',
  sumCorrectSource: 'Votes with the right source.',
  sumCorrectTarget: 'Votes with the right target.',
  sumExternallySourcedExecutionRewards:
    'Part of fees and MEV that an external builder paid; gwei. Known only with an execution source.',
  sumInclusionDelay: figureDescriptions.sumInclusionDelay,
  sumLateSourcePenalties: 'Taken for right sources that came too late; gwei, zero or negative.',
  sumLateSourceVotes: 'Votes whose source was right and too late to be paid.',
  sumLateTargetPenalties: 'Taken for right targets that came too late; gwei, zero or negative.',
  sumLateTargetVotes: 'Votes whose target was right and too late to be paid.',
  sumMissedAttestationPenalties: 'Taken for votes that no block took; gwei, zero or negative.',
  sumMissedAttestationRewards: 'What those votes would have been paid; gwei.',
  sumMissedAttestations: 'Votes due that no block took.',
  sumMissedConsensusBlockRewards: 'What missed blocks would have been paid, by the mean of the epoch; gwei.',
  sumMissedExecutionRewards:
    'What missed blocks would have brought in fees and MEV, by the mean of the epoch; gwei. Known only with an execution source.',
  sumMissedSyncCommitteeRewards: 'What missing sync signatures would have been paid; gwei.',
  sumPriorityFees: 'Priority fees of own blocks; gwei. Known only with an execution source.',
  sumSyncCommitteePenalties: 'Taken for missing sync signatures; gwei, zero or negative.',
  sumWrongHeadPenalties: 'Taken for wrong heads: nothing under the present rules; gwei, zero or negative.',
  sumWrongHeadVotes: 'Votes taken with a wrong head.',
  sumWrongTargetPenalties: 'Taken for wrong targets; gwei, zero or negative.',
  sumWrongTargetVotes: 'Votes taken with a wrong target.',
} as const

export const metadataDescriptions = {
  validatorIndex: 'Its number in the registry.',
  validatorPubkey: 'Its public key, 0x and 96 digits.',
  pool: 'Pool it belongs to, as an entity file told.',
  subpool: 'Part of the pool.',
  dvtNetwork: 'Network of distributed validators that runs it.',
  nodeOperators: 'Who runs it.',
  dvtOperators: 'Who runs it together, where the key is shared.',
  depositAddresses: 'Senders of its deposits, in the order of the deposits.',
  activationEligibilityEpoch: 'Since when it could be activated.',
  activationEpoch: 'Since when it has duties.',
  exitEpoch: 'Since when it has no duties any more.',
  withdrawableEpoch: 'Since when its balance can be withdrawn.',
  withdrawalAddress: 'Where withdrawals go.',
} as const
