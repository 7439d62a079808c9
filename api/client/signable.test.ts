import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TypedDataEncoder } from 'ethers'
import { hashTypedData } from 'viem'
import { contract } from '../contract/contract.ts'
import { signable } from './signable.ts'

const typedData = contract['fx.createQuote'].example.reply.typedData
assert.ok(typedData)
const fullTypedData = typedData

test('two signing libraries accept the result of signable and compute the digest of the full typed data', () => {
  const { domain, types, message } = signable(fullTypedData)
  const stripped = TypedDataEncoder.hash(domain, types as never, message)
  assert.equal(stripped, hashTypedData(fullTypedData as never))
  assert.equal(stripped, hashTypedData(signable(fullTypedData) as never))
})

test('one library rejects the full typed data because of unused types', () => {
  assert.throws(
    () => TypedDataEncoder.hash(fullTypedData.domain, fullTypedData.types as never, fullTypedData.message),
    /ambiguous primary types/,
  )
})
