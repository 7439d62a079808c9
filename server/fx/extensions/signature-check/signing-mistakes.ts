// Common signing mistakes: variants of the quote's typed data with one difference each, and a text that explains it. If a
// signature matches a variant, that difference is the mistake. The list is tried in order, most common first. Pure.
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import type { SignatureFinding } from '#api/contract/wire/fx-signature-check.ts'
import { decimal, unitsOf } from '#core/decimal.ts'
import { valueAtPath } from '#core/value-at-path.ts'
import type { TypedDocument, Types } from './hash-typed-data.ts'

export interface SigningMistake extends SignatureFinding {
  readonly document: TypedDocument
}

/** Chains that a wallet may be connected to. */
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

function domainMistakes(data: TypedData): readonly SigningMistake[] {
  const { domain } = data
  const withDomain = (changes: Record<string, unknown>) => ({ ...data, domain: { ...domain, ...changes } })
  const domainType = (...names: string[]): Types => ({
    ...data.types,
    EIP712Domain: names.map((name) => ({ name, type: domainTypes[name] ?? 'string' })),
  })
  return [
    ...walletChains
      .filter((chainId) => chainId !== domain.chainId)
      .map((chainId) => ({
        field: 'domain.chainId',
        message: 'was signed for a different chain',
        expected: String(domain.chainId),
        found: String(chainId),
        document: withDomain({ chainId }),
      })),
    ...[
      { name: 'the settlement contract', address: data.message.spender },
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
      document: { ...data, types: domainType('name', 'verifyingContract') },
    },
    {
      field: 'domain.name',
      message: 'was left out of the domain',
      expected: domain.name,
      document: { ...data, types: domainType('chainId', 'verifyingContract') },
    },
  ]
}

const domainTypes: Readonly<Record<string, string>> = { chainId: 'uint256', verifyingContract: 'address' }

function typeMistakes(data: TypedData): readonly SigningMistake[] {
  const { types } = data
  const without = (list: readonly { name: string; type: string }[], name: string) =>
    list.filter((field) => field.name !== name)
  const mistake = (text: string, changes: Types, primaryType = data.primaryType): SigningMistake => ({
    field: 'types',
    message: text,
    document: { ...data, types: { ...types, ...changes }, primaryType },
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
      PermitWitnessTransferFrom: permit.map((field) =>
        field.name === 'witness' ? { ...field, type: 'MakerDetails' } : field,
      ),
    }),
    mistake('had string fields in Consideration where the contract has bytes32, address and uint256', {
      Consideration: asTexts,
    }),
    mistake('had the permit in a different order: nonce and deadline before the spender', {
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
      'is a different amount',
      otherAmounts(message, [consideration.quoteAmount, consideration.baseAmount]),
    ],
    [
      'deadline',
      'is a different time',
      [seconds(quote.expiresAt), deadline * 1000n, BigInt(Date.parse(quote.expiresAt)), 0n, uint256Max],
    ],
    ['spender', 'is a different address', [signer, message.witness.recipient, data.domain.verifyingContract, zero]],
    ['nonce', 'is a different nonce', [0n, 1n, BigInt(message.nonce) + 1n, BigInt(message.nonce) - 1n]],
    ['permitted.token', 'is a different token', [consideration.base, zero]],
    ['witness.recipient', 'is a different address', [signer, message.spender, zero]],
    ['witness.fee', 'is a different fee', [0n, ...scaled(BigInt(message.witness.fee))]],
    [
      'witness.consideration.baseAmount',
      'is a different amount',
      otherFigures(consideration.baseAmount, message.witness.fee),
    ],
    [
      'witness.consideration.quoteAmount',
      'is a different amount',
      otherFigures(consideration.quoteAmount, message.permitted.amount),
    ],
    [
      'witness.consideration.quoteId',
      'is not the id padded with zeros on the left',
      [`0x${id.padEnd(64, '0')}`, `0x${'0'.repeat(64)}`],
    ],
    ['witness.consideration.maturity', 'is a different time', [seconds(quote.expiresAt), deadline * 1000n, 0n]],
  ]
  const single = candidates.flatMap(([path, text, values]) =>
    [...new Set(values.map(String))]
      .filter((value) => value !== String(valueAtPath(message, path)))
      .map((value) => ({
        field: `message.${path}`,
        message: text,
        expected: String(valueAtPath(message, path)),
        found: value,
        document: { ...data, message: withValue(message, path, value) },
      })),
  )
  return [...single, ...swapMistakes(data), ...millisecondMistakes(data)]
}

const scaled = (value: bigint): readonly bigint[] =>
  [value * trillion, value / trillion, value * million, value / million].filter(
    (amount) => amount > 0n && amount <= uint256Max,
  )

/** An integer after conversion to a float: its value, and the value of its shortest text. */
const rounded = (value: bigint): readonly bigint[] => [
  BigInt(Number(value)),
  unitsOf(decimal(String(Number(value))), 0, 'down'),
]

/** The amount of the other side, in other decimals, unlimited, or rounded to a float. */
function otherAmounts(message: TypedData['message'], others: readonly string[]): readonly bigint[] {
  const amount = BigInt(message.permitted.amount)
  return [...others.map(BigInt), ...rounded(amount), ...scaled(amount), uint256Max, 0n]
}

function otherFigures(text: string, partText: number | bigint | string): readonly bigint[] {
  const [value, part] = [BigInt(text), BigInt(partText)]
  const less = value - part
  return [part, ...(less > 0n ? [less] : []), value + part, ...rounded(value), ...scaled(value)]
}

function swapMistakes(data: TypedData): readonly SigningMistake[] {
  const { message } = data
  const { consideration } = message.witness
  const { base, quote, baseAmount, quoteAmount } = consideration
  const path = 'witness.consideration'
  const mistake = (text: string, changes: object): SigningMistake => ({
    field: `message.${path}`,
    message: text,
    document: { ...data, message: withValue(message, path, { ...consideration, ...changes }) },
  })
  const sides = { base: quote, quote: base }
  const amounts = { baseAmount: quoteAmount, quoteAmount: baseAmount }
  return [
    mistake('has base and quote swapped, including the amounts', { ...sides, ...amounts }),
    mistake('has the tokens of base and quote swapped', sides),
    mistake('has the amounts of base and quote swapped', amounts),
  ]
}

/** The deadline is in the typed data twice, so both are wrong together. */
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
      document: { ...data, message: withValue(once, 'witness.consideration.maturity', String(both)) },
    },
  ]
}

function withValue(value: object, path: string, replacement: unknown): Record<string, unknown> {
  const [name = '', ...rest] = path.split('.')
  const members = value as Record<string, unknown>
  return {
    ...members,
    [name]: rest.length === 0 ? replacement : withValue(members[name] as object, rest.join('.'), replacement),
  }
}
