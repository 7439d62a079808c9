import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { seededRandom } from '#test/context.ts'
import { compareEach, randomBelow, SourceUnavailable, sampleOf } from './verification.ts'

const population = (size: number, seed: string) => {
  const random = seededRandom(seed)
  return {
    takeFirst: async (limit: number) => Array.from({ length: Math.min(limit, size) }, (_, at) => at),
    drawOne: async () => (size === 0 ? undefined : randomBelow({ random }, size)),
    keyOf: String,
  }
}

test('a sample has no duplicates, at most the requested size, and everything if there is less', () =>
  fc.assert(
    fc.asyncProperty(fc.nat(60), fc.integer({ min: 1, max: 30 }), fc.string(), async (size, count, seed) => {
      const drawn = await sampleOf(count, population(size, seed))
      assert.equal(new Set(drawn).size, drawn.length)
      assert.ok(drawn.length <= count && drawn.every((one) => one >= 0 && one < size))
      if (size <= count) assert.equal(drawn.length, size)
      else assert.ok(drawn.length > 0)
    }),
  ))

test('over many samples every item is drawn', async () => {
  const seen = new Set<number>()
  for (let seed = 0; seed < 40; seed++) for (const one of await sampleOf(5, population(30, String(seed)))) seen.add(one)
  assert.equal(seen.size, 30)
})

test('an unavailable source ends the sample with its reason; other errors are thrown', async () => {
  const compare = async (item: number) => {
    if (item === 2) throw new SourceUnavailable('the node is gone')
    return item === 1 ? 'one differs' : undefined
  }
  assert.deepEqual(await compareEach([0, 1, 2, 3], compare), {
    checked: 2,
    differing: ['one differs'],
    unable: 'the node is gone',
  })
  const broken = compareEach([0], async () => {
    throw new TypeError('broken')
  })
  await assert.rejects(broken, TypeError)
})
