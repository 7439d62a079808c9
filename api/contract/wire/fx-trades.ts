// Endpoints of group B beyond the specification: accept a quote, read trades, and report their settlement
// (behaviour/fx.md#trades). Path, body and most members are those of Circle's StableFX in 2026.
import {
  Address,
  DateTime,
  endpoint,
  Hash,
  integer,
  Num,
  nullable,
  oneOf,
  PatternText,
  type Static,
  Text,
  Type,
} from '../kit.ts'
import { Amount, createQuote, TypedData } from './fx.ts'
import { exampleId } from './fx-extensions.ts'

export const tradeStatuses = ['accepted', 'expired', 'settled', 'failed'] as const
export type TradeStatus = (typeof tradeStatuses)[number]

const Signature = PatternText('^0x([0-9a-fA-F]{2})*$', 'be 0x and hexadecimal bytes of two digits each', {
  maxLength: 32_768,
  description: 'The signature over the typed data of the quote.',
})

export const Trade = Type.Object({
  id: Type.String({ format: 'uuid', description: 'Id of the trade. It is that of its quote.' }),
  quoteId: Type.String({ format: 'uuid', description: 'Id of the quote.' }),
  status: oneOf(tradeStatuses, {
    description:
      '`accepted`: to be settled. `expired`: its maturity has passed without a report. `settled`, `failed`: reported by the operator.',
  }),
  rate: { ...Num, description: 'As in the quote.' },
  from: { ...Amount, description: 'What the taker pays.' },
  to: { ...Amount, description: 'What the taker receives, before the fee.' },
  fee: { ...Text, description: 'In units of `to`.' },
  collateral: Type.Optional({ ...Text, description: 'In units of `from`; absent without collateral.' }),
  tenor: oneOf(['instant', 'hourly', 'daily'], { description: 'Settlement schedule.' }),
  address: { ...Address, description: 'Who signed, and pays.' },
  recipient: { ...Address, description: 'Who receives.' },
  createDate: { ...DateTime, description: 'When the quote was accepted.' },
  updateDate: { ...DateTime, description: 'When the status last changed.' },
  maturity: { ...DateTime, description: 'The signature cannot be settled after this time.' },
  settlementTransactionHash: Type.Optional({ ...Hash, description: 'The reported transaction.' }),
  completeDate: Type.Optional({ ...DateTime, description: 'When the settlement was reported.' }),
})
export type Trade = Static<typeof Trade>

const quoteExample = createQuote.example.reply
const tradeExample: Trade = {
  id: quoteExample.id,
  quoteId: quoteExample.id,
  status: 'accepted',
  rate: quoteExample.rate,
  from: quoteExample.from,
  to: quoteExample.to,
  fee: quoteExample.fee,
  tenor: 'instant',
  address: '0x5555555555555555555555555555555555555555',
  recipient: '0x1111111111111111111111111111111111111111',
  createDate: '2026-11-15T10:00:12.000Z',
  updateDate: '2026-11-15T10:00:12.000Z',
  maturity: '2026-11-15T10:30:00.000Z',
}
const exampleHash = `0x${'a7'.repeat(32)}`
const tradeId = Type.String({ format: 'uuid', description: 'The `id` of the trade.' })
const ownTradeNote = 'Accept a quote with the same key and use its `id`.'
const adminNote = 'A key made with `tetrad keys create --admin`, and a trade.'

export const createTrade = endpoint('fx.createTrade', {
  summary: 'Accept a tradable quote with its signature.',
  notes:
    'A quote is accepted once, before its `expiresAt`, and stored durably before the response is sent. The same address and signature again return the same response, also after the quote has expired. The signature is checked as Permit2 checks it. Only for the key that created the quote.',
  input: Type.Object({
    quoteId: Type.String({ format: 'uuid', description: 'The `id` of the quote.' }),
    address: { ...Address, description: 'The address that signed. A contract wallet is its own address.' },
    signature: Signature,
    message: Type.Optional(
      Type.Unsafe<object>({
        type: 'object',
        description: 'The `typedData.message` that was signed. If given, it must be that of the quote.',
      }),
    ),
    idempotencyKey: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'Without effect: a quote is accepted once in any case.',
      }),
    ),
  }),
  reply: Trade,
  faults: [
    'body.too_large',
    'body.type',
    'body.invalid_json',
    'record.not_found',
    'fx.quote_expired',
    'fx.trade_conflict',
    'fx.signature_invalid',
    'fx.node_unavailable',
    'fx.checks_full',
  ],
  example: {
    needs:
      'Create a tradable quote with the same key, sign it, and use its `id`. The signature of this example is not valid.',
    input: {
      quoteId: quoteExample.id,
      address: '0x5555555555555555555555555555555555555555',
      signature: `0x${'5c'.repeat(64)}1b`,
    },
    reply: tradeExample,
  },
})

export const trades = endpoint('fx.trades', {
  summary: 'List the trades of the key, newest first.',
  notes: 'Signatures are not part of it.',
  input: Type.Object({
    status: Type.Optional(oneOf(tradeStatuses, { description: 'Only trades with this status.' })),
    limit: integer(20, 1, 100, 'Trades per page.'),
    before: Type.Optional(
      Type.String({ format: 'uuid', description: '`next` of the page before; default: the newest trades.' }),
    ),
  }),
  reply: Type.Object({
    trades: Type.Array(Trade, { description: 'Newest first.' }),
    next: { ...nullable(Text), description: '`before` of the next page; null on the last page.' },
  }),
  faults: [],
  example: { input: { status: 'accepted', limit: 1 }, reply: { trades: [tradeExample], next: tradeExample.id } },
})

export const trade = endpoint('fx.trade', {
  summary: 'Read a trade.',
  notes: 'Only for the key that created it.',
  input: Type.Object({ id: tradeId }),
  reply: Trade,
  faults: ['record.not_found'],
  example: { needs: ownTradeNote, input: exampleId, reply: tradeExample },
})

export const TradePermit = Type.Object({
  id: Type.String({ format: 'uuid', description: 'Id of the trade.' }),
  owner: { ...Address, description: 'Who signed, and pays.' },
  signature: { ...Text, description: 'For `permitWitnessTransferFrom` of Permit2.' },
  typedData: { ...TypedData, description: 'What was signed.' },
})

export const tradePermit = endpoint('fx.tradePermit', {
  summary: 'What is needed to settle a trade: the permit and its signature.',
  notes:
    'Needs an admin key. Whoever has the signature may be able to settle the trade until its maturity: keep it secret.',
  input: Type.Object({ id: tradeId }),
  reply: TradePermit,
  faults: ['record.not_found'],
  example: {
    needs: adminNote,
    input: exampleId,
    reply: {
      id: quoteExample.id,
      owner: tradeExample.address,
      signature: `0x${'5c'.repeat(64)}1b`,
      typedData: quoteExample.typedData as Static<typeof TypedData>,
    },
  },
})

export const reportTrade = endpoint('fx.reportTrade', {
  summary: 'Report that a trade was settled, or that its settlement failed.',
  notes:
    'Needs an admin key. With a node (`fx.rpcUrl`), the receipt of the transaction must show it. A trade that is settled does not change any more; the same report again changes nothing.',
  input: Type.Object({
    id: tradeId,
    status: oneOf(['settled', 'failed'], { description: 'The result.' }),
    settlementTransactionHash: { ...Hash, description: 'The transaction.' },
  }),
  reply: Trade,
  faults: [
    'body.too_large',
    'body.type',
    'body.invalid_json',
    'record.not_found',
    'fx.trade_conflict',
    'fx.transaction_mismatch',
    'fx.node_unavailable',
    'fx.checks_full',
  ],
  example: {
    needs: adminNote,
    input: { ...exampleId, status: 'settled', settlementTransactionHash: exampleHash },
    reply: {
      ...tradeExample,
      status: 'settled',
      updateDate: '2026-11-15T10:01:40.000Z',
      settlementTransactionHash: exampleHash,
      completeDate: '2026-11-15T10:01:40.000Z',
    },
  },
})
