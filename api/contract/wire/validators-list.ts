// Endpoints of group C beyond the specification: metadata of many validators, and version 0 of the ratings of one
// (behaviour/validators.md#list-of-validators, behaviour/validators.md#version-0-of-ratings).
import {
  Address,
  Count,
  endpoint,
  integer,
  many,
  nullable,
  oneOf,
  otherSpelling,
  Text,
  Type,
  withDefault,
} from '../kit.ts'
import {
  AggregatePage,
  aggregateEffectiveness,
  daysOfOneFaults,
  IndexOrPubkey,
  network,
  pageSizeMax,
  ValidatorIndex,
} from './validators.ts'
import { metadata, ValidatorMetadata } from './validators-metadata.ts'

const operatorsIds = many(Type.String({ minLength: 1, maxLength: 200 }), {
  minItems: 1,
  maxItems: 20,
  description: 'Names or addresses of operators, at most 20. Names match exactly.',
})
const idType = oneOf(['nodeOperator', 'pool', 'depositAddress', 'withdrawalAddress'], {
  description: 'What `operatorsIds` are; default: nodeOperator.',
})
const withdrawalAddress = { ...Address, description: 'Only validators with this withdrawal address.' }

export const ListPage = Type.Object({
  from: { ...Count, description: 'As in the request.' },
  size: { ...Count, description: 'As in the request.' },
})

export const list = endpoint('validators.list', {
  summary: 'Metadata of many validators, by index.',
  notes:
    'All validators, or those of operators, pools, deposit addresses or a withdrawal address. Each record is the reply of `validators.metadata`.',
  input: Type.Object({
    network,
    from: withDefault({ ...ValidatorIndex, description: 'First index.' }, 0),
    size: integer(100, 1, pageSizeMax, 'Validators per page.'),
    operatorsIds: Type.Optional(operatorsIds),
    idType: Type.Optional(idType),
    withdrawalAddress: Type.Optional(withdrawalAddress),
    operators_ids: otherSpelling(operatorsIds, 'operatorsIds'),
    id_type: otherSpelling(idType, 'idType'),
    withdrawal_address: otherSpelling(withdrawalAddress, 'withdrawalAddress'),
  }),
  reply: Type.Object({
    page: { ...ListPage, description: 'The parameters that this page was read with.' },
    data: Type.Array(ValidatorMetadata, { description: 'Ordered by index.' }),
    next: { ...nullable(Text), description: 'Path and query of the next page; null on the last page.' },
  }),
  faults: [],
  example: {
    input: { operatorsIds: ['Lantern Pool'], idType: 'pool', size: 1 },
    reply: {
      page: { from: 0, size: 1 },
      data: [metadata.example.reply],
      next: '/v0/eth/validators?operatorsIds=Lantern%20Pool&idType=pool&size=1&from=13',
    },
  },
})

const {
  network: _,
  pubkeys: _pubkeys,
  indices: _indices,
  groupBy: _groupBy,
  after: _after,
  ...windows
} = aggregateEffectiveness.input.properties

export const effectivenessV0 = endpoint('validators.effectivenessV0', {
  summary: 'Effectiveness of one validator over time, newest window first, with all sums.',
  notes:
    'The records and pages of `validators.aggregateEffectiveness` for one validator. `validators.effectiveness` is the newer version.',
  input: Type.Object({ network, validator_index_or_pubkey: IndexOrPubkey, ...windows }),
  reply: AggregatePage,
  faults: daysOfOneFaults,
  example: {
    input: { validator_index_or_pubkey: '12', size: 1 },
    reply: {
      ...aggregateEffectiveness.example.reply,
      data: aggregateEffectiveness.example.reply.data.map((record) => ({ validatorIndex: 12, ...record })),
      next: '/v0/eth/validators/12/effectiveness?size=1&from=2173',
    },
  },
})
