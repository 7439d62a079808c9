// Settings of group B: currencies, pairs, prices' sources and the contracts behind the typed data.
import { Address, PatternText, type Static, Type, withDefault } from '#api/kit.ts'
import { compare, decimal } from '#core/decimal.ts'
import type { Problem } from '#core/fault.ts'
import { duplicateProblems } from './duplicate-problems.ts'
import { type FxSource, Source, sourceProblems } from './fx-sources.ts'
import { section } from './server.ts'

export type { FxSource } from './fx-sources.ts'

const Token = Type.Object(
  {
    code: PatternText('^[A-Za-z0-9]{2,16}$', 'be 2 to 16 letters and digits', {
      description: 'Currency code on the wire.',
    }),
    tracks: PatternText('^[A-Z]{3}$', 'be three capital letters', { description: 'Reference currency it follows.' }),
    decimals: Type.Integer({ minimum: 0, maximum: 36, description: 'Decimals of the token contract.' }),
    contract: { ...Address, description: 'Token contract on the chain of `fx.chainId`.' },
  },
  { additionalProperties: false },
)

/** Exact without floating point (behaviour/fx.md#basis-points): a whole number, or a text with up to two decimals. */
const BasisPoints = (wholeMax: number, description: string) =>
  Type.Unsafe<number | string>({
    type: ['integer', 'string'],
    minimum: 0,
    maximum: wholeMax,
    pattern: '^\\d{1,4}(\\.\\d{1,2})?$',
    'x-must': 'be a whole number, or a text with at most two decimals',
    description: `${description} In basis points: a whole number, or a text such as "2.5".`,
  })

const spreadBps = BasisPoints(9999, 'Taken off the mid.')
const feeBps = BasisPoints(9999, 'Fee on the `to` amount.')
const collateralBps = BasisPoints(10_000, 'Collateral on the `from` amount; 0 leaves it out.')

const Terms = (spread: number) =>
  section(
    {
      spreadBps: withDefault(spreadBps, spread),
      feeBps: withDefault(feeBps, 2),
      collateralBps: withDefault(collateralBps, 0),
    },
    'Terms of one tenor.',
  )

const PairTerms = Type.Optional(
  Type.Object(
    {
      spreadBps: Type.Optional(spreadBps),
      feeBps: Type.Optional(feeBps),
      collateralBps: Type.Optional(collateralBps),
    },
    { additionalProperties: false },
  ),
)

/** Few enough digits that the base units of any token stay far below 2^256. */
const AmountText = (description: string) =>
  PatternText('^\\d{1,18}(\\.\\d{1,6})?$', 'be a decimal text with at most 18 digits before the point and 6 after it', {
    description: `${description} In units of \`from\`.`,
  })

const least = AmountText('Smallest amount quoted.')
const most = AmountText('Largest amount quoted.')

const Pair = Type.Object(
  {
    from: Type.String({ description: 'Currency code given away.' }),
    to: Type.String({ description: 'Currency code received.' }),
    offered: withDefault(Type.Boolean({ description: 'False: this direction is refused.' }), true),
    min: Type.Optional(least),
    max: Type.Optional(most),
    instant: PairTerms,
    hourly: PairTerms,
    daily: PairTerms,
  },
  { additionalProperties: false, description: 'What differs for one direction of one pair.' },
)

export const fxSettings = section(
  {
    chainId: withDefault(
      Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Chain the typed data is for.' }),
      1,
    ),
    permit2: withDefault(
      { ...Address, description: 'The Permit2 contract of that chain.' },
      '0x000000000022D473030F116dDEE9F6B43aC78BA3',
    ),
    spender: withDefault(
      PatternText('^$|^0x[0-9a-fA-F]{40}$', 'be 0x and 40 hexadecimal digits', {
        description: 'Contract that settles: it may pull the permitted tokens. Empty: only reference quotes are given.',
      }),
      '',
    ),
    tokens: withDefault(Type.Array(Token, { maxItems: 256, description: 'Currencies offered.' }), [
      { code: 'USDC', tracks: 'USD', decimals: 6, contract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' },
      { code: 'EURC', tracks: 'EUR', decimals: 6, contract: '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c' },
    ]),
    terms: section({ instant: Terms(5), hourly: Terms(8), daily: Terms(12) }, 'Spread, fee and collateral by tenor.'),
    limits: section({ min: withDefault(least, '1'), max: withDefault(most, '10000000') }, 'Amounts quoted.'),
    pairs: withDefault(
      Type.Array(Pair, {
        maxItems: 4096,
        description:
          'Every pair of two tokens is offered, unless both track the same currency; what differs goes here.',
      }),
      [],
    ),
    expirySeconds: section(
      {
        tradable: withDefault(Type.Integer({ minimum: 1, maximum: 86_400, description: 'A tradable one.' }), 30),
        reference: withDefault(Type.Integer({ minimum: 1, maximum: 86_400, description: 'An indicative one.' }), 300),
      },
      'How long a quote stands.',
    ),
    sources: withDefault(Type.Array(Source, { maxItems: 64, description: 'Where rates come from.' }), []),
    outlierBps: withDefault(
      BasisPoints(9999, 'A source that departs from the median of the others by more than this is left out.'),
      200,
    ),
    historyDays: withDefault(
      Type.Integer({ minimum: 1, maximum: 36_500, description: 'How long rates are kept to be read back.' }),
      30,
    ),
    rpcUrl: withDefault(
      PatternText('^$|^https?://', 'begin with http:// or https://', {
        description:
          'JSON-RPC address of a node of `fx.chainId`: the check of a signature asks it what is on the chain.',
      }),
      '',
    ),
    crossVia: withDefault(
      Type.Array(PatternText('^[A-Z]{3}$', 'be three capital letters'), {
        maxItems: 16,
        description: 'Currencies a pair without a direct rate is crossed through; the first that works is taken.',
      }),
      ['USD', 'EUR'],
    ),
  },
  'FX quotes.',
)

export type FxSettings = Static<typeof fxSettings>
export type FxToken = Static<typeof Token>

/** What a schema cannot see: names used twice, names that stand for nothing, ranges the wrong way round. */
export function fxProblems(fx: FxSettings): readonly Problem[] {
  const codes = fx.tokens.map((token) => token.code)
  const directions = fx.pairs.map((pair) => `${pair.from}/${pair.to}`)
  const problems: Problem[] = [
    ...duplicateProblems(codes, ['fx', 'tokens'], 'code'),
    ...duplicateProblems(
      fx.sources.map((source) => source.id),
      ['fx', 'sources'],
      'id',
    ),
    ...duplicateProblems(directions, ['fx', 'pairs'], 'from'),
    ...fx.sources.flatMap((source: FxSource, index) => sourceProblems(source, ['fx', 'sources', String(index)])),
    ...rangeProblems(['fx', 'limits'], fx.limits.min, fx.limits.max),
    // Nobody can settle from there (behaviour/fx.md#settling-contract).
    ...(/^0x0{40}$/i.test(fx.spender)
      ? [{ at: ['fx', 'spender'], message: 'must not be the zero address; empty gives reference quotes only' }]
      : []),
  ]
  for (const [index, pair] of fx.pairs.entries()) {
    const at = ['fx', 'pairs', String(index)]
    for (const side of ['from', 'to'] as const) {
      if (!codes.includes(pair[side])) {
        problems.push({ at: [...at, side], message: 'must be the code of a token', value: pair[side] })
      }
    }
    problems.push(...rangeProblems(at, pair.min ?? fx.limits.min, pair.max ?? fx.limits.max))
  }
  return problems
}

/** Either end may be a default, so neither alone is named as the wrong one. */
const rangeProblems = (at: readonly string[], min: string, max: string): readonly Problem[] =>
  compare(decimal(min), decimal(max)) > 0
    ? [{ at, message: `must have a max (${max}) that is not below its min (${min})` }]
    : []
