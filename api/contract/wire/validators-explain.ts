// Endpoint of group C beyond the specification: explain a validator's score (behaviour/validators.md#explain-a-score).
// Each day has the sums behind the score, and every epoch with a late, wrong or missing duty.
import {
  BigWhole,
  Count,
  DateTime,
  endpoint,
  every,
  Flag,
  Num,
  nullable,
  oneOf,
  type Static,
  Text,
  Type,
  Whole,
} from '../kit.ts'
import { daysOfOne, daysOfOneFaults, network, pageLinks } from './validators.ts'
import {
  figureDescriptions,
  metadataDescriptions,
  sumDescriptions,
  windowDescriptions,
} from './validators-descriptions.ts'

/** Fields of the aggregated record (spec 2.3) that a day's score and earnings are computed from. */
export const explainedSums = [
  'totalAttestationAssignments',
  'totalUniqueAttestations',
  'sumMissedAttestations',
  'sumInclusionDelay',
  'sumCorrectSource',
  'sumCorrectTarget',
  'sumCorrectHead',
  'sumWrongTargetVotes',
  'sumWrongHeadVotes',
  'sumLateSourceVotes',
  'sumLateTargetVotes',
  'proposerDutiesCount',
  'proposedCount',
  'executionProposedEmptyCount',
  'syncSignatureCount',
  'slashesReceived',
  'estimatedRewards',
  'estimatedPenalties',
  'earnings',
] as const

export const ExplainedVote = Type.Object({
  slot: Type.Integer({ description: 'Slot of the vote.' }),
  included: Type.Boolean({ description: 'Whether a block included the vote.' }),
  delay: nullable(Type.Integer({ description: 'Slots until a block included the vote.' })),
  bestDelay: nullable(Type.Integer({ description: 'Lowest possible delay; 1 unless blocks were missing.' })),
  nextBlockMissing: Type.Boolean({
    description:
      'The slot after the vote had no block. A delay of 1 was impossible; this is not the validator’s fault.',
  }),
  targetCorrect: { ...nullable(Flag), description: 'Whether the target is correct; null if not included.' },
  headCorrect: { ...nullable(Flag), description: 'Whether the head is correct; null if not included.' },
})

const payloadStatus = oneOf(['full', 'empty', 'unknown'], {
  description:
    'Whether the payload became part of the chain. The next block decides: `full` if it builds on the payload, otherwise `empty`; `unknown` while there is none.',
})

export const ExplainedPayloadVote = Type.Object({
  slot: Type.Integer({ description: 'Slot whose payload it had to vote about.' }),
  onChain: Type.Boolean({ description: 'Whether a block included the vote.' }),
  couldBeOnChain: Type.Boolean({
    description: 'Only the block of the next slot can include the vote. False if one of the two slots has no block.',
  }),
  payloadSeen: {
    ...nullable(Flag),
    description: 'Whether it reported the payload as seen in time; null if not on chain.',
  },
  blobsSeen: { ...nullable(Flag), description: 'Whether it reported the blobs as available; null if not on chain.' },
  payload: payloadStatus,
})

export const ExplainedProposal = Type.Object({
  slot: Type.Integer({ description: 'Slot of the block.' }),
  payload: payloadStatus,
  builder: nullable(
    Type.Integer({ description: 'Index of the builder of the payload; null: the validator built it.' }),
  ),
  valueGwei: { ...Count, description: 'What the builder has to pay to the proposer, by the protocol.' },
  paid: {
    ...nullable(Flag),
    description:
      'Whether the builder pays: because the payload is part of the chain, or because enough validators voted for the block in time. Null: there is nothing to pay, or it is not known yet.',
  },
})

export const ExplainedEpoch = Type.Object({
  epoch: { ...Count, description: 'Number of the epoch.' },
  startTimestamp: { ...DateTime, description: 'Start time of the epoch.' },
  final: Type.Boolean({ description: 'False if the epoch is not final yet: what is listed here may change.' }),
  vote: Type.Optional({ ...ExplainedVote, description: 'The attestation; absent if it has no problem.' }),
  missedBlocks: Type.Array(Whole, { description: 'Slots in which it should have proposed a block and did not.' }),
  emptyBlocks: Type.Array(Whole, {
    description:
      'Slots of its blocks with an empty execution payload. Since Gloas: the payload that it built did not become part of the chain.',
  }),
  withheldPayloads: Type.Optional(
    Type.Array(Whole, {
      description:
        'Slots of its blocks whose payload a builder did not deliver in time, which is not its fault. Absent if there is none.',
    }),
  ),
  missedSyncSignatures: { ...Count, description: 'Missing sync committee signatures.' },
  payloadVote: Type.Optional({
    ...ExplainedPayloadVote,
    description:
      'Its vote in the payload committee, if it is not on the chain or contradicts it. These votes are neither rewarded nor penalized.',
  }),
  slashedSlot: nullable(Type.Integer({ description: 'Slot of the block that contains the slashing.' })),
  messages: Type.Array(Text, { description: 'The problems as text.' }),
})
export type ExplainedProposal = Static<typeof ExplainedProposal>
export type ExplainedEpoch = Static<typeof ExplainedEpoch>

export const ExplainedDay = Type.Object({
  ...every(Count, ['day'], windowDescriptions),
  ...every(Text, ['date'], windowDescriptions),
  ...every(Count, ['startEpoch', 'endEpoch'], windowDescriptions),
  ...every(
    nullable(Num),
    ['attesterEffectiveness', 'proposerEffectiveness', 'validatorEffectiveness'],
    figureDescriptions,
  ),
  ...every(BigWhole, explainedSums, sumDescriptions),
  epochsKnown: Type.Boolean({
    description: 'False if details of some epochs have been deleted or not been read: `epochs` may then be incomplete.',
  }),
  epochs: Type.Array(ExplainedEpoch, { description: 'Epochs with a problem.' }),
  proposals: Type.Optional(
    Type.Array(ExplainedProposal, {
      description: 'Its blocks since Gloas, in order of their slots. Absent if there is none.',
    }),
  ),
})
export type ExplainedDay = Static<typeof ExplainedDay>

export const explain = endpoint('validators.explain', {
  summary: "Explain a validator's score: late, wrong and missed duties by epoch.",
  notes:
    'One record per day with duties, in ascending order. Filters are those of validators.effectiveness. `x-tetrad-coverage` lists the epochs whose missed duties are known; `x-tetrad-method` is the version of the method.',
  // A day may list all its epochs, so pages are short.
  input: Type.Object({ network, ...daysOfOne('Days', 100) }),
  reply: Type.Object({
    ...every(Count, ['validatorIndex'], metadataDescriptions),
    ...pageLinks,
    results: Type.Array(ExplainedDay, { description: 'Days with duties, in ascending order.' }),
  }),
  faults: daysOfOneFaults,
  example: {
    input: { validator_index_or_pubkey: '12' },
    reply: {
      validatorIndex: 12,
      previous: null,
      next: null,
      pages: 1,
      results: [
        {
          day: 2115,
          date: '2026-09-16',
          startEpoch: 475875,
          endEpoch: 476099,
          attesterEffectiveness: 99.0358,
          proposerEffectiveness: null,
          validatorEffectiveness: 99.0358,
          totalAttestationAssignments: 225,
          totalUniqueAttestations: 224,
          sumMissedAttestations: 1,
          sumInclusionDelay: 225,
          sumCorrectSource: 224,
          sumCorrectTarget: 224,
          sumCorrectHead: 223,
          sumWrongTargetVotes: 0,
          sumWrongHeadVotes: 1,
          sumLateSourceVotes: 0,
          sumLateTargetVotes: 0,
          proposerDutiesCount: 0,
          proposedCount: 0,
          executionProposedEmptyCount: 0,
          syncSignatureCount: 0,
          slashesReceived: 0,
          estimatedRewards: 2066022,
          estimatedPenalties: -6840,
          earnings: 2059182,
          epochsKnown: true,
          epochs: [
            {
              epoch: 475910,
              startTimestamp: '2026-09-16T15:44:23.000Z',
              final: true,
              vote: {
                slot: 15229133,
                included: true,
                delay: 2,
                bestDelay: 2,
                nextBlockMissing: true,
                targetCorrect: true,
                headCorrect: false,
              },
              missedBlocks: [],
              emptyBlocks: [],
              missedSyncSignatures: 0,
              slashedSlot: null,
              messages: [
                'the vote of slot 15229133 has a wrong head',
                'the vote of slot 15229133 was included after 2 slots; there was no earlier block',
              ],
            },
            {
              epoch: 475911,
              startTimestamp: '2026-09-16T15:50:47.000Z',
              final: true,
              vote: {
                slot: 15229160,
                included: false,
                delay: null,
                bestDelay: 1,
                nextBlockMissing: false,
                targetCorrect: null,
                headCorrect: null,
              },
              missedBlocks: [],
              emptyBlocks: [],
              missedSyncSignatures: 0,
              slashedSlot: null,
              messages: ['the vote of slot 15229160 is missing'],
            },
          ],
        },
      ],
    },
  },
})
