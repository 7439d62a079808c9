import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transferRecipient } from './transfer-recipient.ts'

type Item = Uint8Array | readonly Item[]

/** RLP, written independently of the reader. */
function encode(item: Item): Buffer {
  const isList = Array.isArray(item)
  const content = isList ? Buffer.concat(item.map(encode)) : Buffer.from(item as Uint8Array)
  if (!isList && content.length === 1 && (content[0] as number) < 0x80) return content
  const base = isList ? 0xc0 : 0x80
  if (content.length <= 55) return Buffer.concat([Buffer.from([base + content.length]), content])
  const hex = content.length.toString(16)
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([base + 55 + length.length]), length, content])
}

const bytes = (hex: string) => Buffer.from(hex, 'hex')
const to = bytes('ab'.repeat(20))
const value = bytes('0de0b6b3a7640000')
const signature = [bytes('1c'), bytes('11'.repeat(32)), bytes('22'.repeat(32))]
/** Longer than 55 bytes, as in calls of contracts. */
const data = bytes('a9059cbb'.repeat(80))

function encodeAs(type: number, recipient: Buffer, amount: Buffer, input = bytes('')): Buffer {
  const [nonce, price, gas] = [bytes('07'), bytes('3b9aca00'), bytes('5208')]
  if (type === 0) return encode([nonce, price, gas, recipient, amount, input, ...signature])
  const fees = type === 1 ? [price] : [price, price]
  const fields = [bytes('01'), nonce, ...fees, gas, recipient, amount, input, [], ...signature]
  return Buffer.concat([Buffer.from([type]), encode(fields)])
}

test('the recipient of a transfer is read from every type of transaction', () => {
  for (const type of [0, 1, 2, 3, 4]) {
    for (const input of [bytes(''), data])
      assert.equal(transferRecipient(encodeAs(type, to, value, input)), `0x${'ab'.repeat(20)}`, `type ${type}`)
    assert.equal(transferRecipient(encodeAs(type, to, bytes(''))), null, 'no value')
    assert.equal(transferRecipient(encodeAs(type, bytes(''), value, data)), null, 'a contract is created')
  }
})

test('a transaction of an unknown type, or that is cut off, has no known recipient', () => {
  assert.equal(transferRecipient(encodeAs(5, to, value)), undefined)
  assert.equal(transferRecipient(Buffer.alloc(12, 7)), undefined)
  assert.equal(transferRecipient(bytes('')), undefined)
  for (const type of [0, 2]) {
    const whole = encodeAs(type, to, value, data)
    for (let length = 0; length < whole.length; length++)
      assert.equal(transferRecipient(whole.subarray(0, length)), undefined)
  }
})
