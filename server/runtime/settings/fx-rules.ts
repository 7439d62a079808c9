// Settings of pricing rules: which quotes a rule applies to, and what it changes (behaviour/fx.md#pricing-rules).
import { oneOf, PatternText, type Static, Type } from '#api/contract/kit.ts'
import { compare, decimal } from '#core/decimal.ts'
import type { Problem } from '#core/fault.ts'
import { duplicateProblems } from './duplicate-problems.ts'
import { Closed, isTimeZone } from './fx-closed.ts'
import { boolean, list, object } from './server.ts'

export const tenors = ['instant', 'hourly', 'daily'] as const
export type Tenor = (typeof tenors)[number]

const BasisPointsText = (pattern: string, minimum: number, description: string) =>
  Type.Unsafe<number | string>({
    type: ['integer', 'string'],
    minimum,
    maximum: 9999,
    pattern,
    'x-must': 'be an integer, or a string with at most two decimals',
    description,
  })

const Size = (description: string) =>
  PatternText('^\\d{1,13}(\\.\\d{1,6})?$', 'be a decimal with at most 13 digits before the point, as a string', {
    description: `${description} In units of the first token of \`pairs\`.`,
  })

const When = Type.Object(
  {
    ...Closed.properties,
    file: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description: 'File with more dates, one per line. Read again when it changes.',
      }),
    ),
  },
  { additionalProperties: false, description: 'Hours and days in which the rule applies. Default: always.' },
)

export const Rule = object({
  id: PatternText('^[a-z0-9-]{1,32}$', 'be 1 to 32 lowercase letters, digits and hyphens', {
    description: 'Name in receipts and logs.',
  }),
  pairs: list(
    PatternText('^[A-Za-z0-9]{2,16}/[A-Za-z0-9]{2,16}$', 'be two tokens, such as EURC/USDC'),
    256,
    'Pairs of tokens, in both directions: `EURC/USDC`. Empty: every pair.',
  ),
  tenors: list(oneOf(tenors), 3, 'Tenors. Empty: every tenor.'),
  minSize: Type.Optional(Size('Smallest size.')),
  when: Type.Optional(When),
  spreadBps: Type.Optional(
    BasisPointsText(
      '^\\d{1,4}(\\.\\d{1,2})?$',
      0,
      'Spread in basis points, instead of that of the tenor and of earlier rules.',
    ),
  ),
  skewBps: Type.Optional(
    BasisPointsText(
      '^-?\\d{1,4}(\\.\\d{1,2})?$',
      -9999,
      'Raises the price of the first token in both directions, in basis points. Negative: lowers it.',
    ),
  ),
  stop: boolean(false, 'True: no quotes.'),
  maxPerHour: Type.Optional(Size('Most that the tradable quotes of one key may sum up to within an hour.')),
})
export type FxRule = Static<typeof Rule>

export const ruleProblems = (rules: readonly FxRule[], codes: readonly string[]): readonly Problem[] => [
  ...duplicateProblems(
    rules.map(({ id }) => id),
    ['fx', 'rules'],
    'id',
  ),
  ...rules.flatMap((rule, index) =>
    problemsOf(rule, codes).map(({ at, message }) => ({ at: ['fx', 'rules', String(index), ...at], message })),
  ),
]

function problemsOf(rule: FxRule, codes: readonly string[]): readonly Problem[] {
  const { pairs, minSize, maxPerHour, skewBps, spreadBps, stop, when } = rule
  const first = new Set(pairs.map((pair) => pair.split('/')[0]))
  const hasUnit = first.size === 1
  const problem = (name: keyof FxRule, message: string): Problem => ({ at: [name], message })
  return [
    ...(rule.id === 'override'
      ? [problem('id', 'must not be override, which is the name of overrides in receipts')]
      : []),
    ...pairs.flatMap((pair) => {
      const [base = '', quote = ''] = pair.split('/')
      if (base === quote) return [problem('pairs', `must be pairs of two different tokens; ${pair} is not`)]
      const unknown = [base, quote].filter((code) => !codes.includes(code))
      return unknown.length > 0 ? [problem('pairs', `must be codes of tokens; unknown: ${unknown.join(', ')}`)] : []
    }),
    ...(spreadBps === undefined && skewBps === undefined && maxPerHour === undefined && !stop
      ? [problem('id', 'must have at least one of spreadBps, skewBps, stop and maxPerHour')]
      : []),
    ...(minSize !== undefined && !hasUnit
      ? [problem('minSize', 'needs pairs that all begin with the same token')]
      : []),
    ...(maxPerHour !== undefined && !hasUnit
      ? [problem('maxPerHour', 'needs pairs that all begin with the same token')]
      : []),
    ...(maxPerHour !== undefined && compare(decimal(maxPerHour), decimal('1000000000000')) > 0
      ? [problem('maxPerHour', 'must be at most 1000000000000')]
      : []),
    ...(skewBps !== undefined && pairs.length === 0 ? [problem('skewBps', 'needs pairs')] : []),
    // Otherwise a taker could buy at one skew and sell at another.
    ...(skewBps !== undefined && (minSize !== undefined || rule.tenors.length > 0)
      ? [problem('skewBps', 'must not depend on minSize or tenors: the bid would be above the ask')]
      : []),
    ...(when && !isTimeZone(when.timeZone) ? [{ at: ['when', 'timeZone'], message: 'is not a known time zone' }] : []),
    ...(when &&
    when.week === undefined &&
    when.holidays === 'none' &&
    when.dates.length === 0 &&
    when.file === undefined
      ? [problem('when', 'needs a week, holidays, dates or a file')]
      : []),
  ]
}
