// Endpoint of group C beyond the specification: the present duties of one validator
// (behaviour/validators.md#current-duties).
import { Count, DateTime, endpoint, every, Flag, nullable, oneOf, recordList, type Static, Type } from '../kit.ts'
import { IndexOrPubkey, network, oneValidatorFaults } from './validators.ts'
import { metadataDescriptions } from './validators-descriptions.ts'

export const CurrentAttestation = Type.Object({
  epoch: { ...Count, description: 'Epoch of the duty: the previous, the current or the next one.' },
  slot: { ...Count, description: 'Slot of the duty.' },
  timestamp: { ...DateTime, description: 'Start time of the slot.' },
  dueTimestamp: {
    ...DateTime,
    description: 'When the vote is due: after a third of the slot, since Gloas after a quarter.',
  },
  committee: { ...Count, description: 'Index of the committee in the slot.' },
  state: oneOf(['included', 'due', 'missing'], {
    description:
      '`included`: a block includes the vote. `due`: there is no block after the slot yet. `missing`: no block includes it so far; blocks can include it until the end of the next epoch.',
  }),
  delay: nullable(Type.Integer({ description: 'Slots until a block included the vote; null if none did.' })),
})
export type CurrentAttestation = Static<typeof CurrentAttestation>

export const CurrentPayloadVote = Type.Object({
  epoch: { ...Count, description: 'Epoch of the duty: the previous, the current or the next one.' },
  slot: { ...Count, description: 'Slot of the duty, about whose payload it votes.' },
  timestamp: { ...DateTime, description: 'Start time of the slot.' },
  dueTimestamp: { ...DateTime, description: 'When the vote is due: after three quarters of the slot.' },
  state: oneOf(['included', 'due', 'missing', 'impossible', 'unknown'], {
    description:
      '`included`: the next block includes the vote. `due`: there is no block after the slot yet. `missing`: the next block does not include it; no other can. `impossible`: this slot or the next one has no block, so the vote cannot be on the chain. `unknown`: the node does not show which seat it has.',
  }),
  payloadSeen: {
    ...nullable(Flag),
    description: 'Whether it reported the payload as seen in time; null if not included.',
  },
  blobsSeen: { ...nullable(Flag), description: 'Whether it reported the blobs as available; null if not included.' },
})
export type CurrentPayloadVote = Static<typeof CurrentPayloadVote>

export const duties = endpoint('validators.duties', {
  summary: 'Show the duties of a validator in the previous, the current and the next epoch. They are not final.',
  notes:
    'The server needs the setting `showProvisional` and must ingest the network. Otherwise `headSlot` is null and the lists are empty.',
  input: Type.Object({ network, validator_index_or_pubkey: IndexOrPubkey }),
  reply: Type.Object({
    ...every(Count, ['validatorIndex'], metadataDescriptions),
    headSlot: nullable(Type.Integer({ description: 'Slot of the newest block; null: current duties are not known.' })),
    headPayload: oneOf(['full', 'empty', 'unknown'], {
      description:
        'Since Gloas: whether the next block would build on the payload of the newest block (`full`) or not (`empty`), as the beacon node last reported. Only the next block decides.',
    }),
    epoch: nullable(Type.Integer({ description: 'The current epoch: that of the newest block.' })),
    attestations: Type.Array(CurrentAttestation, { description: 'In order of their slots.' }),
    proposals: recordList('Blocks to propose after the newest block, until the end of the next epoch.', {
      slot: { ...Count, description: 'Slot of the block to propose.' },
      timestamp: { ...DateTime, description: 'Start time of the slot.' },
    }),
    payloadVotes: Type.Array(CurrentPayloadVote, {
      description:
        'Since Gloas: its duties in payload committees, in order of their slots. These votes are neither rewarded nor penalized.',
    }),
    blocks: recordList('Since Gloas: its blocks of the previous and the current epoch.', {
      slot: { ...Count, description: 'Slot of the block.' },
      payload: oneOf(['full', 'empty', 'unknown'], {
        description:
          'Whether the payload is part of the chain: `full` if the next block builds on it, otherwise `empty`; `unknown` while there is no next block.',
      }),
      builder: nullable(
        Type.Integer({ description: 'Index of the builder of the payload; null: the validator built it.' }),
      ),
      valueGwei: { ...Count, description: 'What the builder has to pay to the proposer, by the protocol.' },
    }),
    inSyncCommittee: {
      ...nullable(Flag),
      description: 'Whether it is in the sync committee of the current epoch; null: not known.',
    },
  }),
  faults: oneValidatorFaults,
  example: {
    input: { validator_index_or_pubkey: '12' },
    reply: {
      validatorIndex: 12,
      headSlot: 15235210,
      headPayload: 'unknown',
      epoch: 476100,
      attestations: [
        {
          epoch: 476099,
          slot: 15235190,
          timestamp: '2026-09-17T11:58:23.000Z',
          dueTimestamp: '2026-09-17T11:58:26.999Z',
          committee: 17,
          state: 'included',
          delay: 1,
        },
        {
          epoch: 476100,
          slot: 15235221,
          timestamp: '2026-09-17T12:04:35.000Z',
          dueTimestamp: '2026-09-17T12:04:38.999Z',
          committee: 3,
          state: 'due',
          delay: null,
        },
      ],
      proposals: [{ slot: 15235240, timestamp: '2026-09-17T12:08:23.000Z' }],
      payloadVotes: [],
      blocks: [],
      inSyncCommittee: false,
    },
  },
})
