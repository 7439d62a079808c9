// Endpoint of group A beyond the specification: trace first fundings back to a named address
// (behaviour/explorer.md#funding-trail). Envelope and field names are those of the group.
import { Address, endpoint, oneOf, type Static, Text, Type, withDefault } from '../kit.ts'
import { FundingRecord } from './explorer.ts'

/** Why a trail ends. */
export const trailEnds = ['label', 'genesis', 'none', 'loop', 'depth', 'time', 'unknown'] as const
export type TrailEnd = (typeof trailEnds)[number]

export const AddressLabel = Type.Object({
  name: Text,
  entity: Type.Optional(Type.String({ description: 'Slug of the entity that owns the address.' })),
  source: Type.String({ description: 'Source of the label.' }),
  confidence: Type.Integer({ minimum: 0, maximum: 100, description: 'Confidence in percent.' }),
  evidence: Type.Optional(Type.String({ description: 'Where to verify the label.' })),
})
export type AddressLabel = Static<typeof AddressLabel>

export const TrailHop = Type.Object({
  address: { ...Address, description: 'The funded address.' },
  ...FundingRecord.properties,
  label: Type.Optional({ ...AddressLabel, description: 'Label of the funding address.' }),
})
export type TrailHop = Static<typeof TrailHop>

export const Trail = Type.Object({
  chainid: Text,
  address: Address,
  label: Type.Optional({
    ...AddressLabel,
    description: 'Label of the requested address. It does not end the trail.',
  }),
  hops: Type.Array(TrailHop, { description: 'Fundings, from the requested address back in time.' }),
  end: Type.Object({
    reason: oneOf(trailEnds, {
      description:
        '`label`: a labelled address. `genesis`: the balance comes from genesis, a withdrawal or a reward. `none`: the requested address has no incoming transfer. `loop`: the address is already part of the trail. `depth`, `time`: a limit of this call. `unknown`: the next funding could not be determined.',
    }),
    address: { ...Address, description: 'The last address of the trail.' },
    message: Text,
  }),
})
export type Trail = Static<typeof Trail>

export const hopsMax = 100

const start = '0xa21f1cbf7b13336aa823e56cfb4b727c409a5bc7'
const between = ['0x620ae4c7c47c1e9bb877f4e0b7497de545eb3dcc', '0xa1267f509a58746537cb8cd8a5845c70a227adfa'] as const
const exchange = '0x6710cd41c8b4216547566d1805701986e28eb702'

export const trail = endpoint('explorer.trail', {
  summary: 'Trace the first funding of an address back to a labelled address.',
  notes:
    'Each hop is a first funding, as in explorer.fundedBy. If the next funding cannot be determined, the trail ends with reason `unknown`. Call again after `retry-after`: fundings that were found meanwhile are stored.',
  input: Type.Object({
    chainid: withDefault(Type.String({ description: 'Chain identifier; Ethereum is 1, Polygon is 137.' }), '1'),
    address: Type.String({ description: 'Start of the trail: 0x and 40 hexadecimal digits.' }),
    depth: withDefault(Type.Integer({ minimum: 1, maximum: hopsMax, description: 'Maximum number of hops.' }), 20),
  }),
  reply: Type.Object({ status: Text, message: Text, result: Trail }),
  faults: ['explorer.chain_unsupported'],
  example: {
    input: { chainid: '1', address: start },
    reply: {
      status: '1',
      message: 'OK',
      result: {
        chainid: '1',
        address: start,
        hops: [
          {
            address: start,
            block: 733,
            timeStamp: '1794743196',
            fundingAddress: between[0],
            fundingTxn: '0x83b65ee5d1be9d7788271a841d71bbdc5bf2e79a8b030b5147428c29486c1264',
            value: '407573540925921893',
          },
          {
            address: between[0],
            block: 152,
            timeStamp: '1794736224',
            fundingAddress: between[1],
            fundingTxn: '0xf97f6359dc02eeb292499ba89761c77ee09fc79aea8d6e4a73f65bbe59f95948',
            value: '62675559880503144',
          },
          {
            address: between[1],
            block: 59,
            timeStamp: '1794735108',
            fundingAddress: exchange,
            fundingTxn: '0x42a4588ba0d30bea73f5398e7111d6c67eac394644e341044ea1ca8a1144eff0',
            value: '31446540880503144',
            label: {
              name: 'Cobalt Exchange: hot wallet 4',
              entity: 'cobalt-exchange',
              source: 'registry',
              confidence: 95,
              evidence: `https://explorer.example/address/${exchange}`,
            },
          },
        ],
        end: { reason: 'label', address: exchange, message: 'Cobalt Exchange: hot wallet 4' },
      },
    },
  },
})
