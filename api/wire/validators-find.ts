// Group C beyond the specification: which validators there are (behaviour/http.md#endpoints-beyond-the-specification, behaviour/validators.md#find-validators), by what is known about them.
import {
  Address,
  Count,
  endpoint,
  every,
  nullable,
  oneOf,
  PatternText,
  type Static,
  Text,
  Type,
  Whole,
  withDefault,
} from '../kit.ts'
import { extensionRoutes } from '../routes.ts'
import { network, pageSizeMax, ValidatorIndex } from './validators.ts'
import { metadataDescriptions } from './validators-descriptions.ts'

/** By its epochs, at the last epoch that has been read. */
export const statuses = ['pending', 'active', 'exiting', 'exited', 'withdrawable'] as const
export type ValidatorStatus = (typeof statuses)[number]

export const FoundValidator = Type.Object({
  ...every(Count, ['validatorIndex'], metadataDescriptions),
  ...every(Text, ['validatorPubkey'], metadataDescriptions),
  status: oneOf(statuses, { description: 'By its epochs, at the last epoch that has been read.' }),
  ...every(nullable(Text), ['pool', 'subpool'], metadataDescriptions),
  ...every(Type.Array(Text), ['nodeOperators'], metadataDescriptions),
  ...every(nullable(Text), ['withdrawalAddress'], metadataDescriptions),
  ...every(nullable(Whole), ['activationEpoch', 'exitEpoch'], metadataDescriptions),
})
export type FoundValidator = Static<typeof FoundValidator>

export const find = endpoint({
  ...extensionRoutes['validators.find'],
  id: 'validators.find',
  summary: 'Validators by index, key, pool, node operator, deposit or withdrawal address; or the pools there are.',
  notes:
    'At most one of `index`, `pubkey`, `pool`, `nodeOperator`, `depositAddress` and `withdrawalAddress`. Without any, `pools` lists the pools, the largest first. Names match exactly.',
  input: Type.Object({
    network,
    index: Type.Optional({ ...ValidatorIndex, description: 'Validator index.' }),
    pubkey: Type.Optional(
      PatternText('^(0x)?[0-9a-fA-F]{6,96}$', 'be 6 to 96 hexadecimal digits, with or without 0x', {
        description: 'Public key or the beginning of one, at least 6 digits, with or without 0x.',
      }),
    ),
    pool: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Name of the pool.' })),
    nodeOperator: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Name of a node operator.' })),
    depositAddress: Type.Optional({ ...Address, description: 'Who paid a deposit.' }),
    withdrawalAddress: Type.Optional({ ...Address, description: 'Where withdrawals go.' }),
    limit: withDefault(
      Type.Integer({ minimum: 1, maximum: pageSizeMax, description: 'Validators, or pools, per page.' }),
      100,
    ),
    after: Type.Optional({ ...ValidatorIndex, description: 'Set by `next`: the last validator index already given.' }),
  }),
  reply: Type.Object({
    validators: Type.Array(FoundValidator, { description: 'By index.' }),
    pools: Type.Array(
      Type.Object({
        pool: { ...Text, description: 'Name of the pool.' },
        validators: { ...Count, description: 'How many belong to it.' },
      }),
      {
        description: 'The pool that was asked for, or all of them, with their numbers of validators.',
      },
    ),
    next: { ...nullable(Text), description: 'Path and query of the next page; null on the last one.' },
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
      next: '/v0/eth/validators?pool=Lantern%20Pool&limit=1&after=12',
    },
  },
})
