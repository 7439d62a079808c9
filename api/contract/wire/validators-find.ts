// Endpoint of group C beyond the specification: find validators by pool, operator or address
// (behaviour/validators.md#find-validators).
import {
  Address,
  Count,
  endpoint,
  every,
  integer,
  nullable,
  oneOf,
  PatternText,
  recordList,
  type Static,
  Text,
  Type,
  Whole,
} from '../kit.ts'
import { network, pageSizeMax, ValidatorIndex } from './validators.ts'
import { metadataDescriptions } from './validators-descriptions.ts'

/** As of the last epoch that has been read. */
export const statuses = ['pending', 'active', 'exiting', 'exited', 'withdrawable'] as const
export type ValidatorStatus = (typeof statuses)[number]

export const FoundValidator = Type.Object({
  ...every(Count, ['validatorIndex'], metadataDescriptions),
  ...every(Text, ['validatorPubkey'], metadataDescriptions),
  status: oneOf(statuses, { description: 'Status as of the last epoch that has been read.' }),
  ...every(nullable(Text), ['pool', 'subpool'], metadataDescriptions),
  ...every(Type.Array(Text), ['nodeOperators'], metadataDescriptions),
  ...every(nullable(Text), ['withdrawalAddress'], metadataDescriptions),
  ...every(nullable(Whole), ['activationEpoch', 'exitEpoch'], metadataDescriptions),
})
export type FoundValidator = Static<typeof FoundValidator>

export const find = endpoint('validators.find', {
  summary: 'Find validators by index, key, pool, node operator or address, or list all pools.',
  notes:
    'Use at most one of `index`, `pubkey`, `pool`, `nodeOperator`, `depositAddress` and `withdrawalAddress`. Without a filter, `pools` lists all pools, largest first. Names match exactly.',
  input: Type.Object({
    network,
    index: Type.Optional({ ...ValidatorIndex, description: 'Validator index.' }),
    pubkey: Type.Optional(
      PatternText('^(0x)?[0-9a-fA-F]{6,96}$', 'be 6 to 96 hexadecimal digits, with or without 0x', {
        description: 'Public key or its start, at least 6 digits, with or without 0x.',
      }),
    ),
    pool: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Name of the pool.' })),
    nodeOperator: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Name of a node operator.' })),
    depositAddress: Type.Optional({ ...Address, description: 'Sender of a deposit.' }),
    withdrawalAddress: Type.Optional({ ...Address, description: 'Withdrawal address.' }),
    limit: integer(100, 1, pageSizeMax, 'Validators, or pools, per page.'),
    after: Type.Optional({ ...ValidatorIndex, description: 'Set by `next`: last index of the previous page.' }),
  }),
  reply: Type.Object({
    validators: Type.Array(FoundValidator, { description: 'Ordered by index.' }),
    pools: recordList('The requested pool, or all pools.', {
      pool: { ...Text, description: 'Name of the pool.' },
      validators: { ...Count, description: 'Number of its validators.' },
    }),
    next: { ...nullable(Text), description: 'Path and query of the next page; null on the last page.' },
  }),
  faults: [],
  example: {
    input: { pool: 'Lantern Pool', limit: 1 },
    reply: {
      validators: [
        {
          validatorIndex: 12,
          validatorPubkey: `0x${'ab'.repeat(48)}`,
          status: 'active',
          pool: 'Lantern Pool',
          subpool: 'Lantern North',
          nodeOperators: ['Fjord Nodes'],
          withdrawalAddress: '0x2222222222222222222222222222222222222222',
          activationEpoch: 102400,
          exitEpoch: null,
        },
      ],
      pools: [{ pool: 'Lantern Pool', validators: 24 }],
      next: '/v1/eth/validators?pool=Lantern%20Pool&limit=1&after=12',
    },
  },
})
