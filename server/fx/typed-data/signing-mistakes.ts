// What people sign by mistake: the quote's typed data with one thing different, each with words for it. If the signature
// fits one of these and not the quote, that one thing is what went wrong. Pure; the list is finite and tried in order,
// commonest first.
import type { Quote, TypedData } from '#api/wire/fx.ts'
import { decimal, unitsOf } from '#core/decimal.ts'
import type { TypedDocument, Types } from './hash-typed-data.ts'

export interface SigningMistake {
  readonly field: string
  readonly message: string
  readonly expected?: string
  readonly found?: string
  readonly document: TypedDocument
}

/** Chains a wallet may have been on. */
const walletChains = [
  1, 10, 56, 100, 137, 324, 8453, 42_161, 43_114, 59_144, 11_155_111, 17_000, 560_048, 84_532, 31_337, 1337,
]
const zero = `0x${'0'.repeat(40)}`
const uint256Max = 2n ** 256n - 1n
const million = 1_000_000n
const trillion = 1_000_000_000_000n

export function listSigningMistakes(quote: Quote, data: TypedData, signer: string): readonly SigningMistake[] {
  return [...domainMistakes(data), ...typeMistakes(data), ...messageMistakes(quote, data, signer)]
}

const documentOf = ({ domain, types, primaryType, message }: TypedData): TypedDocument => ({
  domain,
  types,
  primaryType,
  message,
})

function domainMistakes(data: TypedData): readonly SigningMistake[] {
  const whole = documentOf(data)
  const { domain } = data
  const withDomain = (changes: Record<string, unknown>) => ({ ...whole, domain: { ...domain, ...changes } })
  const domainType = (...names: string[]): Types => ({
    ...whole.types,
    EIP712Domain: names.map((name) => ({ name, type: domainTypes[name] ?? 'string' })),
  })
  return [
    ...walletChains
      .filter((chainId) => chainId !== domain.chainId)
      .map((chainId) => ({
        field: 'domain.chainId',
        message: 'was signed for another chain',
        expected: String(domain.chainId),
        found: String(chainId),
        document: withDomain({ chainId }),
      })),
    ...[
      { name: 'the settling contract', address: data.message.spender },
      { name: 'the token', address: data.message.permitted.token },
      { name: 'the zero address', address: zero },
    ].map(({ name, address }) => ({
      field: 'domain.verifyingContract',
      message: `was signed for ${name} instead of Permit2`,
      expected: domain.verifyingContract,
      found: address,
      document: withDomain({ verifyingContract: address }),
    })),
    {
      field: 'domain.version',
      message: 'was signed with a version; the domain of Permit2 has none',
      found: '1',
      document: {
        ...withDomain({ version: '1' }),
        types: domainType('name', 'version', 'chainId', 'verifyingContract'),
      },
    },
    {
      field: 'domain.chainId',
      message: 'was left out of the domain',
      expected: String(domain.chainId),
      document: { ...whole, types: domainType('name', 'verifyingContract') },
    },
    {
      field: 'domain.name',
      message: 'was left out of the domain',
      expected: domain.name,
      document: { ...whole, types: domainType('chainId', 'verifyingContract') },
    },
  ]
}

const domainTypes: Readonly<Record<string, string>> = { chainId: 'uint256', verifyingContract: 'address' }

function typeMistakes(data: TypedData): readonly SigningMistake[] {
  const whole = documentOf(data)
  const { types } = data
  const without = (list: readonly { name: string; type: string }[], name: string) =>
    list.filter((one) => one.name !== name)
  const mistake = (text: string, changes: Types, primaryType = data.primaryType): SigningMistake => ({
    field: 'types',
    message: text,
    document: { ...whole, types: { ...types, ...changes }, primaryType },
  })
  const taker = types.TakerDetails
  const permit = types.PermitWitnessTransferFrom
  const asTexts = types.Consideration.map(({ name, type }) => ({
    name,
    type: name === 'maturity' ? type : 'string',
  }))
  return [
    mistake(
      'were a plain permit without a witness',
      { PermitTransferFrom: without(permit, 'witness') },
      'PermitTransferFrom',
    ),
    mistake('had no witness in the permit', { PermitWitnessTransferFrom: without(permit, 'witness') }),
    mistake('had no spender in the permit', { PermitWitnessTransferFrom: without(permit, 'spender') }),
    mistake('had the fee before the recipient in TakerDetails', {
      TakerDetails: [...without(taker, 'recipient'), ...taker.filter(({ name }) => name === 'recipient')],
    }),
    mistake('had MakerDetails as the witness', {
      PermitWitnessTransferFrom: permit.map((one) => (one.name === 'witness' ? { ...one, type: 'MakerDetails' } : one)),
    }),
    mistake('had texts in Consideration where the contract has bytes32, address and uint256', {
      Consideration: asTexts,
    }),
    mistake('had the permit in another order: nonce and deadline before the spender', {
      PermitWitnessTransferFrom: [
        ...permit.filter(({ name }) => name === 'permitted'),
        ...permit.filter(({ name }) => name === 'nonce' || name === 'deadline'),
        ...permit.filter(({ name }) => name === 'spender' || name === 'witness'),
      ],
    }),
  ]
}

function messageMistakes(quote: Quote, data: TypedData, signer: string): readonly SigningMistake[] {
  const { message } = data
  const { consideration } = message.witness
  const seconds = (text: string) => BigInt(Math.floor(Date.parse(text) / 1000))
  const deadline = BigInt(message.deadline)
  const id = quote.id.replaceAll('-', '')
  const candidates: readonly [path: string, message: string, values: readonly unknown[]][] = [
    [
      'permitted.amount',
      'is another amount',
      otherAmounts(message, [consideration.quoteAmount, consideration.baseAmount]),
    ],
    [
      'deadline',
      'is another time',
      [seconds(quote.expiresAt), deadline * 1000n, BigInt(Date.parse(quote.expiresAt)), 0n, uint256Max],
    ],
    ['spender', 'is another address', [signer, message.witness.recipient, data.domain.verifyingContract, zero]],
    ['nonce', 'is another nonce', [0n, 1n, BigInt(message.nonce) + 1n, BigInt(message.nonce) - 1n]],
    ['permitted.token', 'is another token', [consideration.base, zero]],
    ['witness.recipient', 'is another address', [signer, message.spender, zero]],
    ['witness.fee', 'is another fee', [0n, ...scaled(BigInt(message.witness.fee))]],
    [
      'witness.consideration.baseAmount',
      'is another amount',
      otherFigures(consideration.baseAmount, message.witness.fee),
    ],
    [
      'witness.consideration.quoteAmount',
      'is another amount',
      otherFigures(consideration.quoteAmount, message.permitted.amount),
    ],
    [
      'witness.consideration.quoteId',
      'is not the id with zeros before it',
      [`0x${id.padEnd(64, '0')}`, `0x${'0'.repeat(64)}`],
    ],
    ['witness.consideration.maturity', 'is another time', [seconds(quote.expiresAt), deadline * 1000n, 0n]],
  ]
  const single = candidates.flatMap(([path, text, values]) =>
    [...new Set(values.map(String))]
      .filter((value) => value !== String(valueAt(message, path)))
      .map((value) => ({
        field: `message.${path}`,
        message: text,
        expected: String(valueAt(message, path)),
        found: value,
        document: { ...documentOf(data), message: withValue(message, path, value) },
      })),
  )
  return [...single, ...swapMistakes(data), ...millisecondMistakes(data)]
}

const scaled = (value: bigint): readonly bigint[] =>
  [value * trillion, value / trillion, value * million, value / million].filter((one) => one > 0n && one <= uint256Max)

/** What is left of an integer that went through a float, by its value and by its shortest text. */
const rounded = (value: bigint): readonly bigint[] => [
  BigInt(Number(value)),
  unitsOf(decimal(String(Number(value))), 0, 'down'),
]

/** The amount as the other side, in other decimals, without limit, or rounded by a parser that has only floats. */
function otherAmounts(message: TypedData['message'], others: readonly string[]): readonly bigint[] {
  const amount = BigInt(message.permitted.amount)
  return [...others.map(BigInt), ...rounded(amount), ...scaled(amount), uint256Max, 0n]
}

function otherFigures(text: string, part: number | bigint): readonly bigint[] {
  const value = BigInt(text)
  const less = value - BigInt(part)
  return [BigInt(part), ...(less > 0n ? [less] : []), value + BigInt(part), ...rounded(value), ...scaled(value)]
}

function swapMistakes(data: TypedData): readonly SigningMistake[] {
  const { message } = data
  const { consideration } = message.witness
  const { base, quote, baseAmount, quoteAmount } = consideration
  const path = 'witness.consideration'
  const mistake = (text: string, changes: object): SigningMistake => ({
    field: `message.${path}`,
    message: text,
    document: { ...documentOf(data), message: withValue(message, path, { ...consideration, ...changes }) },
  })
  const sides = { base: quote, quote: base }
  const amounts = { baseAmount: quoteAmount, quoteAmount: baseAmount }
  return [
    mistake('has base and quote the other way round, amounts included', { ...sides, ...amounts }),
    mistake('has the tokens of base and quote the other way round', sides),
    mistake('has the amounts of base and quote the other way round', amounts),
  ]
}

/** Signed at another moment: an earlier quote of the same trade has another deadline in both places. */
function millisecondMistakes(data: TypedData): readonly SigningMistake[] {
  const { message } = data
  const both = BigInt(message.deadline) * 1000n
  const once = withValue(message, 'deadline', String(both))
  return [
    {
      field: 'message.deadline',
      message: 'is in milliseconds, and so is the maturity',
      expected: String(message.deadline),
      found: String(both),
      document: { ...documentOf(data), message: withValue(once, 'witness.consideration.maturity', String(both)) },
    },
  ]
}

const valueAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((held, name) => (held as Record<string, unknown> | undefined)?.[name], value)

function withValue(value: object, path: string, replacement: unknown): Record<string, unknown> {
  const [name = '', ...rest] = path.split('.')
  const held = value as Record<string, unknown>
  return {
    ...held,
    [name]: rest.length === 0 ? replacement : withValue(held[name] as object, rest.join('.'), replacement),
  }
}
