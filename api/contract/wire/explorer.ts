// Group A of the specification: envelope, label lists, first funding.
import {
  Address,
  Count,
  endpoint,
  Hash,
  oneOf,
  requiredBySpec,
  type Static,
  Text,
  type TSchema,
  Type,
  Whole,
  withDefault,
} from '../kit.ts'

export const LabelRecord = Type.Object({
  labelname: { ...Text, description: 'Name of the entity.' },
  labelslug: { ...Text, description: 'Name of the entity in URLs; unique on its chain.' },
  shortdescription: { ...Text, description: 'What the entity is; may be empty.' },
  notes: { ...Text, description: 'Remarks about the entity; may be empty.' },
  lastupdatedtimestamp: { ...Whole, description: 'Time of the last change, in Unix seconds.' },
})
export type LabelRecord = Static<typeof LabelRecord>

export const FundingRecord = Type.Object({
  block: { ...Count, description: 'Number of the block that contains the transfer.' },
  timeStamp: Type.String({ pattern: '^\\d+$', description: 'Time of the block, in Unix seconds as a decimal string.' }),
  fundingAddress: { ...Address, description: 'The sender of the transfer, in lower case.' },
  fundingTxn: { ...Hash, description: 'Hash of the transaction that contains the transfer.' },
  value: Type.String({ pattern: '^\\d+$', description: 'Amount in wei, as a decimal string.' }),
})
export type FundingRecord = Static<typeof FundingRecord>

/** The reply of most endpoints of group A. */
export const envelope = <R extends TSchema>(result: R) =>
  Type.Object({
    status: oneOf(['1'], { description: 'Success.' }),
    message: { ...Text, description: '`OK`.' },
    result,
  })

const LabelList = Type.Array(LabelRecord, { description: 'All labels of the chain, ordered by slug.' })
const Link = Type.String({ format: 'uri', description: 'Signed download link, valid for 300 seconds.' })
const LabelListOrLink = Type.Union([Link, LabelList], { description: 'The list, or a link to download it.' })

/** Any error of group A: HTTP 200, the text in `result`. For "No data found", `result` is an empty array. */
export const ExplorerFailure = Type.Object({
  status: oneOf(['0'], { description: 'Failure.' }),
  message: { ...Text, description: '`NOTOK`, or `No data found`.' },
  result: Type.Union([Text, Type.Array(Type.Unknown())], {
    description: 'What went wrong; an empty list if nothing was found.',
  }),
})
export type ExplorerFailure = Static<typeof ExplorerFailure>

export const chainid = withDefault(
  Type.String({
    ...requiredBySpec,
    description: 'Chain identifier; Ethereum is 1, Polygon is 137. This server takes 1 if it is absent.',
  }),
  '1',
)

const label: LabelRecord = {
  labelname: 'Harbour Exchange',
  labelslug: 'harbour-exchange',
  shortdescription: 'Centralised exchange, deposit and hot wallets.',
  notes: '',
  lastupdatedtimestamp: 1790000000,
}

export const labelListV2 = endpoint('explorer.labelListV2', {
  summary: 'Label master list of one chain, as an array or a signed download link.',
  notes:
    'Returns the array, or a link that is valid for 300 seconds if the list is longer than `explorer.labels.inlineMax` or `format` is given.',
  input: Type.Object({
    chainid,
    format: Type.Optional(oneOf(['csv', 'json'], { description: 'Return a download link of this format.' })),
  }),
  reply: envelope(LabelListOrLink),
  etag: true,
  faults: [
    'explorer.chain_unsupported',
    'explorer.chain_unavailable',
    'explorer.module',
    'explorer.action',
    'record.not_found',
  ],
  example: { input: { chainid: '1' }, reply: { status: '1', message: 'OK', result: [label] } },
})

export const labelListV1 = endpoint('explorer.labelListV1', {
  summary: 'Label master list of chain 1, always as an array.',
  notes: 'The first version of the list: no chain parameter, never a link.',
  input: Type.Object({}),
  reply: envelope(LabelList),
  etag: true,
  faults: ['explorer.chain_unavailable', 'explorer.module', 'explorer.action', 'record.not_found'],
  example: { input: {}, reply: { status: '1', message: 'OK', result: [label] } },
})

export const fundedBy = endpoint('explorer.fundedBy', {
  summary: "The first incoming transfer of the chain's own coin to an address.",
  notes:
    'The earliest by block, transaction index and position. Internal transfers count; genesis balances, withdrawals and rewards do not. Two calls per second on every plan.',
  input: Type.Object({
    chainid,
    address: Type.String({ description: 'The funded address: 0x and 40 hexadecimal digits.' }),
  }),
  reply: envelope({ ...FundingRecord, description: 'The first funding.' }),
  faults: [
    'explorer.chain_unsupported',
    'explorer.not_covered',
    'explorer.node_unavailable',
    'explorer.not_archive',
    'explorer.no_traces',
    'explorer.probe_bounds',
    'explorer.needs_index',
    'explorer.unexplained_block',
    'explorer.module',
    'explorer.action',
    'record.not_found',
  ],
  example: {
    input: { chainid: '1', address: '0xaa5993de8a2532c51b64aacd03c7b65f736f7643' },
    reply: {
      status: '1',
      message: 'OK',
      result: {
        block: 786,
        timeStamp: '1794668400',
        fundingAddress: '0xfa4f2dec1a0e52458e93ece8a38bbd402eafbb15',
        fundingTxn: '0xde80cafa56617d3b725c150ec2a67f8b569b6a88a30165aed2b67cc10e038ea8',
        value: '116224073233121703',
      },
    },
  },
})
