// FX settings: currencies, pairs, terms, rate sources and the contracts of the typed data.
import { Address, oneOf, PatternText, type Static, Type, withDefault } from '#api/contract/kit.ts'
import { compare, decimal } from '#core/decimal.ts'
import type { Problem } from '#core/fault.ts'
import { duplicateProblems } from './duplicate-problems.ts'
import { Rule, ruleProblems } from './fx-rules.ts'
import { type FxSource, Source, sourceProblems } from './fx-sources.ts'
import { boolean, integer, list, object, section } from './server.ts'
import { webhookTarget } from './webhook-target.ts'

export type { FxSource } from './fx-sources.ts'

const Token = object({
  code: PatternText('^[A-Za-z0-9]{2,16}$', 'be 2 to 16 letters and digits', {
    description: 'Currency code in requests and responses.',
  }),
  tracks: PatternText('^[A-Z]{3}$', 'be three capital letters', {
    description: 'Currency whose value the token follows.',
  }),
  decimals: Type.Integer({ minimum: 0, maximum: 36, description: 'Decimals of the token.' }),
  contract: { ...Address, description: 'Token contract on the chain of `fx.chainId`.' },
})

/** Text for fractions, because floating point is not exact (behaviour/fx.md#basis-points). */
const BasisPoints = (wholeMax: number, description: string) =>
  Type.Unsafe<number | string>({
    type: ['integer', 'string'],
    minimum: 0,
    maximum: wholeMax,
    pattern: '^\\d{1,4}(\\.\\d{1,2})?$',
    'x-must': 'be an integer, or a string with at most two decimals',
    description: `${description} In basis points: an integer, or a string such as "2.5".`,
  })

const spreadBps = BasisPoints(9999, 'Subtracted from the mid.')
const feeBps = BasisPoints(9999, 'Fee on the `to` amount.')
const collateralBps = BasisPoints(10_000, 'Collateral on the `from` amount; 0: none.')

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
  object({
    spreadBps: Type.Optional(spreadBps),
    feeBps: Type.Optional(feeBps),
    collateralBps: Type.Optional(collateralBps),
  }),
)

/** Limited so that the base units of any token stay below 2^256. */
const AmountText = (description: string) =>
  PatternText(
    '^\\d{1,18}(\\.\\d{1,6})?$',
    'be a decimal with at most 18 digits before the point and 6 after it, as a string',
    {
      description: `${description} In units of \`from\`.`,
    },
  )

const minAmount = AmountText('Smallest amount that is quoted.')
const maxAmount = AmountText('Largest amount that is quoted.')

const Pair = object(
  {
    from: Type.String({ description: 'Currency that the taker pays.' }),
    to: Type.String({ description: 'Currency that the recipient gets.' }),
    offered: boolean(true, 'False: requests for this direction are refused.'),
    min: Type.Optional(minAmount),
    max: Type.Optional(maxAmount),
    instant: PairTerms,
    hourly: PairTerms,
    daily: PairTerms,
  },
  { description: 'Overrides for one direction of a pair.' },
)

export const tradeEvents = ['trade_accepted', 'trade_expired', 'trade_settled', 'trade_failed'] as const
export type TradeEvent = (typeof tradeEvents)[number]

const TradeWebhook = object({
  ...webhookTarget,
  events: withDefault(
    Type.Array(oneOf(tradeEvents), { minItems: 1, uniqueItems: true, description: 'Events to send.' }),
    [...tradeEvents],
  ),
})

export const fxSettings = section(
  {
    chainId: integer(1, 1, Number.MAX_SAFE_INTEGER, 'Chain of the typed data.'),
    permit2: withDefault(
      { ...Address, description: 'The Permit2 contract of that chain.' },
      '0x000000000022D473030F116dDEE9F6B43aC78BA3',
    ),
    spender: withDefault(
      PatternText('^$|^0x[0-9a-fA-F]{40}$', 'be 0x followed by 40 hexadecimal digits', {
        description: 'Settlement contract, which may transfer the permitted tokens. Empty: reference quotes only.',
      }),
      '',
    ),
    tokens: withDefault(Type.Array(Token, { maxItems: 256, description: 'Currencies offered.' }), [
      { code: 'USDC', tracks: 'USD', decimals: 6, contract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' },
      { code: 'EURC', tracks: 'EUR', decimals: 6, contract: '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c' },
    ]),
    terms: section({ instant: Terms(5), hourly: Terms(8), daily: Terms(12) }, 'Spread, fee and collateral by tenor.'),
    limits: section(
      { min: withDefault(minAmount, '1'), max: withDefault(maxAmount, '10000000') },
      'Range of amounts that are quoted.',
    ),
    pairs: list(
      Pair,
      4096,
      'Overrides for single pairs. By default, every pair is offered, unless both tokens track the same currency.',
    ),
    rules: list(
      Rule,
      256,
      'Pricing rules. They apply in this order; a later one replaces the spread and the skew of an earlier one.',
    ),
    expirySeconds: section(
      {
        tradable: integer(30, 1, 86_400, 'Seconds until a tradable quote expires.'),
        reference: integer(300, 1, 86_400, 'Seconds until a reference quote expires.'),
      },
      'How long a quote is valid.',
    ),
    sources: list(Source, 64, 'Rate sources.'),
    outlierBps: withDefault(
      BasisPoints(9999, 'A rate that differs from the median of the others by more than this is excluded.'),
      200,
    ),
    historyDays: integer(30, 1, 36_500, 'How long the history of rates is kept.'),
    numbersAsText: boolean(
      false,
      'True: typed data of new quotes has `permitted.amount`, `nonce`, `deadline` and `witness.fee` as decimal text, which every JSON parser keeps exact. The digest to sign is the same.',
    ),
    rpcUrl: withDefault(
      PatternText('^$|^https?://', 'begin with http:// or https://', {
        description:
          'JSON-RPC URL of a node of `fx.chainId`. Signature checks read balance, allowance and nonce from it, and ask contract wallets whether they accept the signature.',
      }),
      '',
    ),
    rpcGasMax: integer(
      2_000_000,
      100_000,
      100_000_000,
      'Gas limit of each call of a signature check. Raise it if your contract wallets need more to check a signature.',
    ),
    rpcHeadMaxAgeMs: integer(
      120_000,
      0,
      86_400_000,
      'A node whose newest block is older than this does not check signatures of trades; 0: any age.',
    ),
    webhooks: list(TradeWebhook, 16, 'Webhooks for events of trades.'),
    crossVia: withDefault(
      Type.Array(PatternText('^[A-Z]{3}$', 'be three capital letters'), {
        maxItems: 16,
        description: 'Currencies through which a pair without a direct rate is crossed; the first that works is used.',
      }),
      ['USD', 'EUR'],
    ),
  },
  'FX quotes.',
)

export type FxSettings = Static<typeof fxSettings>
export type FxToken = Static<typeof Token>

/** Checks that a schema cannot express: duplicate names, unknown names and reversed ranges. */
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
    ...duplicateProblems(
      fx.webhooks.map(({ id }) => id),
      ['fx', 'webhooks'],
      'id',
    ),
    ...fx.sources.flatMap((source: FxSource, index) => sourceProblems(source, ['fx', 'sources', String(index)])),
    ...ruleProblems(fx.rules, codes),
    ...rangeProblems(['fx', 'limits'], fx.limits.min, fx.limits.max),
    // The zero address cannot settle (behaviour/fx.md#settlement-contract).
    ...(/^0x0{40}$/i.test(fx.spender)
      ? [
          {
            at: ['fx', 'spender'],
            message: 'must not be the zero address; leave it empty to give reference quotes only',
          },
        ]
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

/** Either limit may be a default, so the problem is reported for both. */
const rangeProblems = (at: readonly string[], min: string, max: string): readonly Problem[] =>
  compare(decimal(min), decimal(max)) > 0
    ? [{ at, message: `must have a max (${max}) that is at least its min (${min})` }]
    : []
