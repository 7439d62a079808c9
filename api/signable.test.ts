import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TypedDataEncoder } from 'ethers'
import { hashTypedData } from 'viem'
import { contract } from './contract.ts'
import { signable } from './signable.ts'

const typedData = contract['fx.createQuote'].example.reply.typedData
assert.ok(typedData)
const whole = typedData

test('two signing libraries accept what signable returns and agree on the digest of the whole typed data', () => {
  const { domain, types, message } = signable(whole)
  const stripped = TypedDataEncoder.hash(domain, types as never, message)
  assert.equal(stripped, hashTypedData(whole as never))
  assert.equal(stripped, hashTypedData(signable(whole) as never))
})

test('the library that refuses unused types does refuse the whole: stripping is needed', () => {
  assert.throws(
    () => TypedDataEncoder.hash(whole.domain, whole.types as never, whole.message),
    /ambiguous primary types/,
  )
})
