import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignTypedDataVersion, TypedDataUtils } from '@metamask/eth-sig-util'
import { TypedDataEncoder } from 'ethers'
import fc from 'fast-check'
import { getAddress, type Hex, hashTypedData as hashByViem } from 'viem'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { TypedData } from '#api/contract/wire/fx.ts'
import { hashTypedData } from '../extensions/signature-check/hash-typed-data.ts'
import { buildTypedData, type Permit, toBytes32, toSignableAddress } from './typed-data.ts'

const permit: Permit = {
  chainId: 1,
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  spender: '0x7e7Ad0000000000000000000000000000000F00d',
  quoteId: '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c',
  from: { contract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', amount: 1_000_000_000n },
  to: { contract: '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c', amount: 921_934_000n },
  fee: 184_387n,
  collateral: 0n,
  recipient: '0xDEADBEEF00000000000000000000000000000001',
  nonce: 4_503_599_627_370_497,
  maturitySeconds: 1_794_738_600,
}

/** A client signs what it has received as JSON. */
const received = (of: Permit): TypedData => parseJson(stringifyJson(buildTypedData(of))) as TypedData

const byViem = ({ domain, types, message }: TypedData): string =>
  hashByViem({
    domain: { ...domain, verifyingContract: domain.verifyingContract as Hex },
    types: types as Record<string, { name: string; type: string }[]>,
    primaryType: 'PermitWitnessTransferFrom',
    message: message as Record<string, unknown>,
  })

/** This library computes the domain type itself and refuses unused types. */
const byEthers = ({ domain, types, message }: TypedData): string => {
  const { EIP712Domain: _, MakerDetails: __, ...used } = types
  return TypedDataEncoder.hash(domain, used, message)
}

const bySigUtil = (data: TypedData): string =>
  `0x${TypedDataUtils.eip712Hash(data as never, SignTypedDataVersion.V4).toString('hex')}`

test('three independent libraries and the server’s own digest agree', () => {
  const data = received(permit)
  const digests = [byViem(data), byEthers(data), bySigUtil(data), `0x${hashTypedData(data).toHex()}`]
  assert.equal(new Set(digests).size, 1)
})

test('the types match those that the contract hashes', () => {
  const { EIP712Domain: _, MakerDetails: __, ...used } = buildTypedData(permit).types
  assert.equal(
    TypedDataEncoder.from(used).encodeType('PermitWitnessTransferFrom'),
    'PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,' +
      'TakerDetails witness)' +
      'Consideration(bytes32 quoteId,address base,address quote,uint256 baseAmount,uint256 quoteAmount,' +
      'uint256 maturity)' +
      'TakerDetails(Consideration consideration,address recipient,uint256 fee)' +
      'TokenPermissions(address token,uint256 amount)',
  )
})

test('base is what the taker receives, quote what the taker pays, and the deadline is the maturity', () => {
  const { message } = buildTypedData(permit)
  const { consideration } = message.witness
  assert.deepEqual(
    [consideration.base, consideration.baseAmount, consideration.quote, consideration.quoteAmount],
    [permit.to.contract, '921934000', permit.from.contract, '1000000000'],
  )
  assert.equal(message.deadline, consideration.maturity)
  assert.equal(consideration.quoteId, `0x${'0'.repeat(32)}6f1c0a527f6e4c1a9b0e0d8f2f3a4b5c`)
  assert.equal(toBytes32(permit.quoteId).length, 66)
})

test('the collateral is permitted if there is one, otherwise the whole amount', () => {
  assert.equal(buildTypedData(permit).message.permitted.amount, 1_000_000_000)
  assert.equal(buildTypedData({ ...permit, collateral: 5n }).message.permitted.amount, 5)
})

test('changing any field changes the digest', () => {
  const other = '0x2222222222222222222222222222222222222222'
  const changes: Partial<Permit>[] = [
    { chainId: 2 },
    { permit2: other },
    { spender: other },
    { quoteId: '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5d' },
    { from: { ...permit.from, contract: other } },
    { from: { ...permit.from, amount: permit.from.amount + 1n } },
    { to: { ...permit.to, contract: other } },
    { to: { ...permit.to, amount: permit.to.amount + 1n } },
    { fee: permit.fee + 1n },
    { collateral: 1n },
    { recipient: other },
    { nonce: permit.nonce + 1 },
    { maturitySeconds: permit.maturitySeconds + 1 },
  ]
  const digests = [{}, ...changes].map((change) => byEthers(received({ ...permit, ...change })))
  assert.equal(new Set(digests).size, changes.length + 1)
})

test('amounts beyond 2^53 stay exact through JSON and all libraries', () => {
  const units = fc.bigInt(1n, 2n ** 256n - 1n)
  fc.assert(
    fc.property(units, units, units, (given, taken, fee) => {
      const big = { ...permit, from: { ...permit.from, amount: given }, to: { ...permit.to, amount: taken }, fee }
      const data = received(big)
      assert.equal(BigInt(data.message.permitted.amount), given)
      assert.equal(BigInt(data.message.witness.fee), fee)
      assert.equal(byViem(data), byEthers(data))
      assert.equal(byViem(data), bySigUtil(data))
      assert.equal(byViem(data), `0x${hashTypedData(data).toHex()}`)
    }),
  )
  const text = stringifyJson(buildTypedData({ ...permit, fee: 1_234_567_654_321_000_000_000_001n }))
  assert.match(text, /"fee":1234567654321000000000001,/)
})

test('addresses with a correct checksum or in lower case are unchanged, others are lowercased', () => {
  const lower = '0xdeadbeef00000000000000000000000000000001'
  const good = getAddress(lower)
  assert.equal(toSignableAddress(lower), lower)
  assert.equal(toSignableAddress(good), good)
  assert.equal(toSignableAddress('0xDEADBEEF00000000000000000000000000000001'), lower)
  assert.equal(toSignableAddress('0xdEadbeef00000000000000000000000000000001'), lower)
})
