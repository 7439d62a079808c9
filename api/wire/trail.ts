// Group A beyond the specification: the trail of first fundings, hop by hop (decisions 0049, 0096). It speaks as its
// group does: the same envelope, the same spelling of a funding, the same way to show a key.
import { Address, endpoint, oneOf, type Static, Text, Type, withDefault } from '../kit.ts'
import { extensionRoutes } from '../routes.ts'
import { FundingRecord } from './explorer.ts'

/** Why a trail goes no further. */
export const trailEnds = ['label', 'genesis', 'loop', 'depth', 'time', 'unknown'] as const
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
        '`label`: a named address. `genesis`: no transfer came in before. `loop`: an address of this trail again. `depth`, `time`: the bounds of this call. `unknown`: the next funding cannot be told.',
    }),
    address: { ...Address, description: 'Where it ends.' },
    says: Text,
  }),
})
export type Trail = Static<typeof Trail>

export const hopsMax = 100

const start = '0x4675c7e5baafbffbca748158becba61ef3b0a263'
const exchange = '0x28c6c06298d514db089934071355e5743bf21d60'

export const trail = endpoint({
  ...extensionRoutes['explorer.trail'],
  id: 'explorer.trail',
  summary: 'Who funded an address, who funded that one, and so on back to a named address.',
  notes:
    'Each hop is a first funding as explorer.fundedBy tells it. When the next one cannot be told, the trail ends there and says why; asking again later goes on from what was found meanwhile.',
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
            block: 21_400_000,
            timeStamp: '1734000000',
            fundingAddress: exchange,
            fundingTxn: '0x3f2a9b1c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8',
            value: '1500000000000000000',
            label: {
              name: 'Harbour Exchange: hot wallet 1',
              entity: 'harbour-exchange',
              source: 'registry',
              confidence: 95,
              evidence: `https://explorer.example/address/${exchange}`,
            },
          },
        ],
        end: { reason: 'label', address: exchange, says: 'Harbour Exchange: hot wallet 1' },
      },
    },
  },
})
