// Endpoint of group A beyond the specification: the first fundings of many addresses, from stored data
// (behaviour/explorer.md#many-fundings).
import { Address, endpoint, many, oneOf, type Static, Type } from '../kit.ts'
import { chainid, envelope, FundingRecord, fundedBy } from './explorer.ts'
import { AddressLabel, trail } from './trail.ts'

export const fundingsMax = 1000

export const StoredFunding = Type.Object({
  address: { ...Address, description: 'A requested address, in lower case.' },
  status: oneOf(['funded', 'none', 'not_covered'], {
    description:
      '`funded`: `funding` is the first one. `none`: every final block is indexed, and no transfer came in. `not_covered`: the stored data does not prove the result.',
  }),
  funding: Type.Optional({ ...FundingRecord, description: 'The first funding, as in explorer.fundedBy.' }),
  finality: Type.Optional(
    oneOf(['finalized', 'head'], { description: '`head`: a reorganisation may still change the result.' }),
  ),
  label: Type.Optional({ ...AddressLabel, description: 'Label of the funding address.' }),
  message: Type.Optional(
    Type.String({ description: 'Of `none`, the blocks it is about. Of `not_covered`, what is missing.' }),
  ),
})
export type StoredFunding = Static<typeof StoredFunding>

const { address = '' } = fundedBy.example.input
const labelled = trail.example.reply.result.hops.at(-1)
if (!labelled?.label) throw new Error('the example of the trail ends without a label')
const { label, address: last, ...funding } = labelled

export const fundings = endpoint('explorer.fundings', {
  summary: 'The first fundings of up to 1000 addresses, from stored data.',
  notes:
    'Answers from the index and from earlier searches, and asks no node. Use explorer.fundedBy or `tetrad fundings` for addresses that are `not_covered`. A call counts once, however many addresses it has.',
  input: Type.Object({
    chainid,
    addresses: many(Type.String(), {
      minItems: 1,
      maxItems: fundingsMax,
      description: 'Addresses: 0x and 40 hexadecimal digits each, in any case.',
    }),
  }),
  reply: envelope(
    Type.Array(StoredFunding, { description: 'One record for each address, in the order of the request.' }),
  ),
  faults: ['explorer.chain_unsupported'],
  example: {
    input: { chainid: '1', addresses: [address, last] },
    reply: {
      status: '1',
      message: 'OK',
      result: [
        { address, status: 'funded', funding: fundedBy.example.reply.result, finality: 'finalized' },
        { address: last, status: 'funded', funding, finality: 'finalized', label },
      ],
    },
  },
})
