import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompressedBytes, chooseEncoding } from './compressed-bytes.ts'

const cases: readonly (readonly [accepted: string | undefined, encoding: string])[] = [
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br;q=0', 'identity'],
  ['br;q=0, *', 'gzip'],
  ['*', 'br'],
  ['*;q=0', 'identity'],
  ['deflate, zstd', 'identity'],
  ['identity, gzip;q=0.5', 'identity'],
  ['gzip;q=nonsense', 'identity'],
]
for (const [accepted, encoding] of cases) {
  test(`accept-encoding "${accepted}" selects ${encoding}`, () => assert.equal(chooseEncoding(accepted), encoding))
}

test('a short text is not compressed', async () => {
  const short = new CompressedBytes(Buffer.from('[]'))
  assert.equal(await short.encodedAs('gzip'), short.plain)
})
