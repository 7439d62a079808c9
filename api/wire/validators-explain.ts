// Group C beyond the specification: the duties behind one validator's score (behaviour/http.md#endpoints-beyond-the-specification, behaviour/validators.md#explain-a-score). Days as 4.6 tells them,
// with the sums that the score is made of, and every epoch in which something was not right.
import {
  BigWhole,
  Count,
  DateTime,
  endpoint,
  every,
  Flag,
  Num,
  nullable,
  type Static,
  Text,
  Type,
  Whole,
} from '../kit.ts'
import { extensionRoutes } from '../routes.ts'
import { daysOfOne, network, pageLinks } from './validators.ts'
import {
  figureDescriptions,
  metadataDescriptions,
  sumDescriptions,
  windowDescriptions,
} from './validators-descriptions.ts'

/** Days of one page; each can tell of all its epochs. */
export const explainedDaysMax = 100

/** Fields of the aggregated record (spec 2.3) that a day's score is made of, and what it brought. */
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
  slot: Type.Integer({ description: 'In which the vote was due.' }),
  included: Type.Boolean({ description: 'A block took it.' }),
  delay: nullable(Type.Integer({ description: 'Slots until a block took it.' })),
  bestDelay: nullable(
    Type.Integer({ description: 'The least that the blocks which are there allowed; 1 unless blocks were missing.' }),
  ),
  nextBlockMissing: Type.Boolean({
    description:
      'The slot after the duty had no block: a delay of 1 was out of reach, which is not the validator’s fault.',
  }),
  targetCorrect: { ...nullable(Flag), description: 'It named the right target; null where no block took it.' },
  headCorrect: { ...nullable(Flag), description: 'It named the right head; null where no block took it.' },
})

export const ExplainedEpoch = Type.Object({
  epoch: { ...Count, description: 'Number of the epoch.' },
  startTimestamp: { ...DateTime, description: 'When the epoch begins.' },
  vote: Type.Optional({ ...ExplainedVote, description: 'Left out when nothing was wrong with the vote.' }),
  missedBlocks: Type.Array(Whole, { description: 'Slots in which it had to propose and no block of it is there.' }),
  emptyBlocks: Type.Array(Whole, { description: 'Slots of its blocks with an empty execution payload.' }),
  missedSyncSignatures: { ...Count, description: 'Sync committee signatures that lack.' },
  slashedSlot: nullable(Type.Integer({ description: 'Slot of the block that proved it guilty.' })),
  message: Type.Array(Text, { description: 'The same in words.' }),
})
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
    description: 'Every epoch of the day that has been read can be told; otherwise some of `epochs` may be missing.',
  }),
  epochs: Type.Array(ExplainedEpoch, { description: 'Those in which something was not right.' }),
})
export type ExplainedDay = Static<typeof ExplainedDay>

export const explain = endpoint({
  ...extensionRoutes['validators.explain'],
  id: 'validators.explain',
  summary: 'The duties behind a score: which epochs were missed, late or wrong, and whose fault it was.',
  notes:
    'One record per day with duties, ascending; a page holds whole days. Bounds are those of validators.effectiveness. `x-tetrad-coverage` names the epochs whose lapses are known, `x-tetrad-method` is the version of the method.',
  input: Type.Object({
    network,
    ...daysOfOne('Days', explainedDaysMax),
  }),
  reply: Type.Object({
    ...every(Count, ['validatorIndex'], metadataDescriptions),
    ...pageLinks,
    results: Type.Array(ExplainedDay, { description: 'Days with duties, in order.' }),
  }),
  faults: ['record.unknown', 'validators.not_covered', 'validators.not_kept', 'validators.windows_changed'],
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
              message: [
                'the vote of slot 15229133 names a wrong head',
                'the vote of slot 15229133 was taken after 2 slots; there was no earlier block',
              ],
            },
            {
              epoch: 475911,
              startTimestamp: '2026-09-16T15:50:47.000Z',
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
              message: ['the vote of slot 15229160 is missing'],
            },
          ],
        },
      ],
    },
  },
})
