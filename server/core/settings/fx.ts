// Settings of group B: currencies, pairs, prices' sources and the contracts behind the typed data.
import { Address, oneOf, Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

const Token = Type.Object(
  {
    code: Type.String({ pattern: '^[A-Za-z0-9]{2,16}$', description: 'Currency code on the wire.' }),
    tracks: Type.String({ pattern: '^[A-Z]{3}$', description: 'Reference currency it follows.' }),
    decimals: Type.Integer({ minimum: 0, maximum: 36 }),
    contract: Address,
  },
  { additionalProperties: false },
)

const Source = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9-]{1,32}$' }),
    kind: oneOf(['http-json']),
    url: Type.String({ format: 'uri' }),
    everyMs: withDefault(Type.Integer({ minimum: 250 }), 5000),
    staleMs: withDefault(Type.Integer({ minimum: 1000, description: 'A rate older than this is not used.' }), 60_000),
  },
  { additionalProperties: false },
)

const basisPoints = (value: number, description: string) =>
  withDefault(Type.Number({ minimum: 0, maximum: 10_000, multipleOf: 0.01, description }), value)

const Terms = (spread: number) =>
  section(
    {
      spreadBps: basisPoints(spread, 'Taken off the mid, in basis points.'),
      feeBps: basisPoints(2, 'Fee on the `to` amount, in basis points.'),
      collateralBps: basisPoints(0, 'Collateral on the `from` amount, in basis points; 0 leaves it out.'),
    },
    'Terms of one tenor.',
  )

export const fxSettings = section(
  {
    chainId: withDefault(Type.Integer({ minimum: 1, description: 'Chain the typed data is for.' }), 1),
    permit2: withDefault(Address, '0x000000000022D473030F116dDEE9F6B43aC78BA3'),
    spender: withDefault(
      Type.String({
        pattern: '^0x[0-9a-fA-F]{40}$',
        description: 'Contract that settles: it may pull the permitted tokens.',
      }),
      '0x7e7Ad0000000000000000000000000000000F00d',
    ),
    tokens: withDefault(Type.Array(Token, { maxItems: 256, description: 'Currencies offered.' }), [
      { code: 'USDC', tracks: 'USD', decimals: 6, contract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' },
      { code: 'EURC', tracks: 'EUR', decimals: 6, contract: '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c' },
    ]),
    terms: section({ instant: Terms(5), hourly: Terms(8), daily: Terms(12) }, 'Spread, fee and collateral by tenor.'),
    expirySeconds: section(
      {
        tradable: withDefault(Type.Integer({ minimum: 1 }), 30),
        reference: withDefault(Type.Integer({ minimum: 1 }), 300),
      },
      'How long a quote stands.',
    ),
    sources: withDefault(Type.Array(Source, { maxItems: 64, description: 'Where rates come from.' }), []),
  },
  'FX quotes.',
)
