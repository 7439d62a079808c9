import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompressedBytes, chooseEncoding } from './compressed-bytes.ts'

const cases: readonly (readonly [accepted: string | undefined, packing: string])[] = [
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
for (const [accepted, packing] of cases) {
  test(`accept-encoding "${accepted}" is answered with ${packing}`, () =>
    assert.equal(chooseEncoding(accepted), packing))
}

test('a short text is not packed, because its headers would be longer', async () => {
  const short = new CompressedBytes(Buffer.from('[]'))
  assert.equal(await short.encodedAs('gzip'), short.plain)
})
