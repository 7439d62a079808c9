// Endpoint of group A beyond the specification: trace first fundings back to a named address
// (behaviour/explorer.md#funding-trail). Envelope and field names are those of the group.
import { Address, endpoint, integer, oneOf, record, type Static, Text, Type } from '../kit.ts'
import { chainid, envelope, FundingRecord } from './explorer.ts'

/** Why a trail ends. */
export const trailEnds = ['label', 'genesis', 'none', 'loop', 'depth', 'time', 'unknown'] as const
export type TrailEnd = (typeof trailEnds)[number]

export const AddressLabel = Type.Object({
  name: { ...Text, description: 'Name of the address.' },
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
  chainid: { ...Text, description: 'As in the request.' },
  address: { ...Address, description: 'The requested address, in lower case.' },
  label: Type.Optional({
    ...AddressLabel,
    description: 'Label of the requested address. It does not end the trail.',
  }),
  hops: Type.Array(TrailHop, { description: 'Fundings, from the requested address back in time.' }),
  end: record('Where and why the trail ends.', {
    reason: oneOf(trailEnds, {
      description:
        '`label`: a labelled address. `genesis`: the balance comes from genesis, a withdrawal or a reward. `none`: the requested address has no incoming transfer. `loop`: the address is already part of the trail. `depth`, `time`: a limit of this call. `unknown`: the next funding could not be determined.',
    }),
    address: { ...Address, description: 'The last address of the trail.' },
    message: { ...Text, description: 'The reason in words, or the label of the last address.' },
  }),
})
export type Trail = Static<typeof Trail>

const start = '0xaa5993de8a2532c51b64aacd03c7b65f736f7643'
const between = ['0xfa4f2dec1a0e52458e93ece8a38bbd402eafbb15', '0xed6449cfc8a02852b6d6c0a083108057afab1aae'] as const
const exchange = '0xd7f71da0535af7e18c61c8767b7f6533d4984571'

export const trail = endpoint('explorer.trail', {
  summary: 'Trace the first funding of an address back to a labelled address.',
  notes:
    'Each hop is a first funding, as in explorer.fundedBy. If the next funding cannot be determined, the trail ends with reason `unknown`. Call again after `retry-after`: fundings that were found meanwhile are stored.',
  input: Type.Object({
    chainid,
    address: Type.String({ description: 'Start of the trail: 0x and 40 hexadecimal digits.' }),
    depth: integer(20, 1, 100, 'Maximum number of hops.'),
  }),
  reply: envelope({ ...Trail, description: 'The trail.' }),
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
            block: 786,
            timeStamp: '1794668400',
            fundingAddress: between[0],
            fundingTxn: '0xde80cafa56617d3b725c150ec2a67f8b569b6a88a30165aed2b67cc10e038ea8',
            value: '116224073233121703',
          },
          {
            address: between[0],
            block: 74,
            timeStamp: '1790823600',
            fundingAddress: between[1],
            fundingTxn: '0x22faf0800294a13364b640b4a333da920c3beb4f092a3e6e4eaf3022a5648097',
            value: '5277777777777777',
          },
          {
            address: between[1],
            block: 49,
            timeStamp: '1790688600',
            fundingAddress: exchange,
            fundingTxn: '0x0d0841236420beda75f6914e3c2616704932ccfabf9e7369070bd4fbed14d14e',
            value: '263157894736842105',
            label: {
              name: 'Meridian Exchange: hot wallet 2',
              entity: 'meridian-exchange',
              source: 'registry',
              confidence: 95,
              evidence: `https://explorer.example/address/${exchange}`,
            },
          },
        ],
        end: { reason: 'label', address: exchange, message: 'Meridian Exchange: hot wallet 2' },
      },
    },
  },
})
