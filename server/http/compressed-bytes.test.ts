import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countLoopTurns } from '#test/event-loop-turns.ts'
import { CompressedBytes, chooseEncoding, computeEtag } from './compressed-bytes.ts'
import { etagOf } from './etag.ts'

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
  const short = new CompressedBytes(Buffer.from('[]'), '"a"')
  assert.equal(await short.encodedAs('gzip'), short.plain)
})

test('the etag of a large list is that of its bytes, computed in slices of one MiB', async () => {
  const bytes = Buffer.alloc(5 * 1024 * 1024 + 1, 'labels')
  const { result, turns } = await countLoopTurns(() => computeEtag(bytes))
  assert.equal(result, etagOf(bytes))
  assert.ok(turns >= 6, `${turns} turns`)
})
