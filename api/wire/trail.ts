// Group A beyond the specification: the trail of first fundings, hop by hop (behaviour/http.md#endpoints-beyond-the-specification, behaviour/explorer.md#funding-trail). It speaks as its
// group does: the same envelope, the same spelling of a funding, the same way to show a key.
import { Address, endpoint, oneOf, type Static, Text, Type, withDefault } from '../kit.ts'
import { extensionRoutes } from '../routes.ts'
import { FundingRecord } from './explorer.ts'

/** Why a trail goes no further. */
export const trailEnds = ['label', 'genesis', 'none', 'loop', 'depth', 'time', 'unknown'] as const
export type TrailEnd = (typeof trailEnds)[number]

export const AddressLabel = Type.Object({
  name: Text,
  entity: Type.Optional(Type.String({ description: 'Slug of the entity it belongs to.' })),
  source: Type.String({ description: 'Whose word it is.' }),
  confidence: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent.' }),
  evidence: Type.Optional(Type.String({ description: 'Where it can be verified.' })),
})
export type AddressLabel = Static<typeof AddressLabel>

export const TrailHop = Type.Object({
  address: { ...Address, description: 'Who was funded.' },
  ...FundingRecord.properties,
  label: Type.Optional({ ...AddressLabel, description: 'What the funding address is called.' }),
})
export type TrailHop = Static<typeof TrailHop>

export const Trail = Type.Object({
  chainid: Text,
  address: Address,
  label: Type.Optional({
    ...AddressLabel,
    description: 'What the address itself is called; it does not end the trail.',
  }),
  hops: Type.Array(TrailHop, { description: 'From the address back in time.' }),
  end: Type.Object({
    reason: oneOf(trailEnds, {
      description:
        '`label`: a named address. `genesis`: no transfer came in before it paid. `none`: no transfer ever came in to the address itself. `loop`: an address of this trail again. `depth`, `time`: the bounds of this call. `unknown`: the next funding cannot be told.',
    }),
    address: { ...Address, description: 'Where it ends.' },
    message: Text,
  }),
})
export type Trail = Static<typeof Trail>

export const hopsMax = 100

const start = '0xa21f1cbf7b13336aa823e56cfb4b727c409a5bc7'
const between = ['0x620ae4c7c47c1e9bb877f4e0b7497de545eb3dcc', '0xa1267f509a58746537cb8cd8a5845c70a227adfa'] as const
const exchange = '0x6710cd41c8b4216547566d1805701986e28eb702'

export const trail = endpoint({
  ...extensionRoutes['explorer.trail'],
  id: 'explorer.trail',
  summary: 'Who funded an address, who funded that one, and so on back to a named address.',
  notes:
    'Each hop is a first funding as explorer.fundedBy tells it. When the next one cannot be told, the trail ends there and says why; asking again later goes on from what was found meanwhile, and `retry-after` says when that is worth it.',
  input: Type.Object({
    chainid: withDefault(Type.String({ description: 'Chain identifier; Ethereum is 1, Polygon is 137.' }), '1'),
    address: Type.String({ description: 'Where the trail starts; 0x and 40 hexadecimal digits.' }),
    depth: withDefault(Type.Integer({ minimum: 1, maximum: hopsMax, description: 'Hops at most.' }), 20),
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
