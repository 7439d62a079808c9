// Endpoints of group A beyond the specification: the served chains, the usage of the caller's key, and the label of an
// address (behaviour/explorer.md#served-chains, #usage-of-a-key and #label-of-an-address).
import { Address, Count, endpoint, nullable, oneOf, type Static, Text, Type, Whole } from '../kit.ts'
import { chainid, envelope } from './explorer.ts'

export const ServedChain = Type.Object({
  chainname: { ...Text, description: 'Name of the chain.' },
  chainid: { ...Text, description: 'Chain identifier, as in `chainid` of other calls.' },
  blockexplorer: { ...Text, description: 'URL of a website about the chain; empty.' },
  apiurl: Type.String({ format: 'uri', description: 'URL of calls about this chain, without module and action.' }),
  status: Type.Integer({
    minimum: 0,
    maximum: 2,
    description:
      '1: all nodes respond. 2: some nodes do not respond, or the index has stopped. 0: no node responds; stored data is still served.',
  }),
  comment: { ...Text, description: 'Why `status` is not 1; otherwise empty.' },
})
export type ServedChain = Static<typeof ServedChain>

export const chainList = endpoint('explorer.chainList', {
  summary: 'The chains that this server offers, with the state of their nodes.',
  notes: 'Needs no key. The reply has no `status` and no `message`.',
  input: Type.Object({}),
  reply: Type.Object({
    comments: { ...Text, description: 'Meaning of `status`.' },
    totalcount: { ...Count, description: 'Number of chains.' },
    result: Type.Array(ServedChain, { description: 'In the order of the configuration.' }),
  }),
  faults: [],
  example: {
    input: {},
    reply: {
      comments: 'Status: 0 offline, 1 ok, 2 degraded.',
      totalcount: 1,
      result: [
        {
          chainname: 'Ethereum',
          chainid: '1',
          blockexplorer: '',
          apiurl: 'http://127.0.0.1:8080/v2/api?chainid=1',
          status: 1,
          comment: '',
        },
      ],
    },
  },
})

export const KeyUsage = Type.Object({
  creditsUsed: { ...Count, description: 'Accepted calls of this key today, in all groups. It may lag by a second.' },
  creditsAvailable: { ...nullable(Count), description: 'Calls left today; null: unlimited.' },
  creditLimit: { ...nullable(Count), description: 'Calls per day; null: unlimited.' },
  limitInterval: oneOf(['daily'], { description: 'The limit applies to one UTC day.' }),
  intervalExpiryTimespan: Type.String({
    pattern: '^\\d\\d:\\d\\d:\\d\\d$',
    description: 'Time until the count starts again, as hours, minutes and seconds.',
  }),
})

export const apiLimit = endpoint('explorer.apiLimit', {
  summary: 'How many calls the key has made today, and how many it has left.',
  notes: 'Only about the key that makes the call. This call counts as well.',
  input: Type.Object({}),
  reply: envelope({ ...KeyUsage, description: 'The usage of the key.' }),
  faults: ['explorer.module', 'explorer.action'],
  example: {
    input: {},
    reply: {
      status: '1',
      message: 'OK',
      result: {
        creditsUsed: 207,
        creditsAvailable: 99_793,
        creditLimit: 100_000,
        limitInterval: 'daily',
        intervalExpiryTimespan: '07:20:05',
      },
    },
  },
})

export const AddressTag = Type.Object({
  address: { ...Address, description: 'The requested address, in lower case.' },
  nametag: { ...Text, description: 'Name of the address: the label with the highest confidence.' },
  internal_nametag: { ...Text, description: 'Always empty.' },
  url: { ...Text, description: 'Where to verify the label; may be empty.' },
  shortdescription: { ...Text, description: 'What the first of `labels` is; may be empty.' },
  notes_1: { ...Text, description: 'Remarks about the first of `labels`; may be empty.' },
  notes_2: { ...Text, description: 'Always empty.' },
  labels: Type.Array(Text, { description: 'Names of the entities that own the address, highest confidence first.' }),
  labels_slug: Type.Array(Text, { description: 'Slugs of these entities, in the same order.' }),
  reputation: { ...Whole, description: 'Always 0: unknown.' },
  other_attributes: Type.Array(Text, { description: 'Always empty.' }),
  lastupdatedtimestamp: { ...Whole, description: 'Time of the last change of the label, in Unix seconds.' },
})
export type AddressTag = Static<typeof AddressTag>

const address = '0x6710cd41c8b4216547566d1805701986e28eb702'

export const addressTag = endpoint('explorer.addressTag', {
  summary: 'The label of an address.',
  notes: 'Name, owner and evidence from the label registry. An address without a label is "No data found".',
  input: Type.Object({
    chainid,
    address: Type.String({ description: 'The address: 0x and 40 hexadecimal digits.' }),
  }),
  reply: envelope(Type.Array(AddressTag, { description: 'One record.' })),
  faults: ['explorer.chain_unsupported', 'explorer.module', 'explorer.action', 'record.not_found'],
  example: {
    input: { chainid: '1', address },
    reply: {
      status: '1',
      message: 'OK',
      result: [
        {
          address,
          nametag: 'Cobalt Exchange: hot wallet 4',
          internal_nametag: '',
          url: `https://explorer.example/address/${address}`,
          shortdescription: 'Centralised exchange, deposit and hot wallets.',
          notes_1: '',
          notes_2: '',
          labels: ['Cobalt Exchange'],
          labels_slug: ['cobalt-exchange'],
          reputation: 0,
          other_attributes: [],
          lastupdatedtimestamp: 1_790_000_000,
        },
      ],
    },
  },
})
