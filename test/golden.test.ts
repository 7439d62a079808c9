// The responses of group C about known chains equal the golden files, byte for byte.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectResponses, differencesOf, type GoldenResponse, partsCount, readGolden, reportOf } from './golden.ts'
import { scenarios } from './golden-worlds.ts'
import { onlyInLongRun, seedsOf } from './long.ts'

const differencesShown = 5

for (const { name, isLong, run } of scenarios) {
  test(`responses equal the golden file: ${name}`, { skip: isLong && onlyInLongRun }, () =>
    run(async (file, stage, server, plans) => {
      const differences = differencesOf(
        readGolden(file),
        await collectResponses(stage, server, plans, seedsOf(partsCount, 1)),
      )
      assert.equal(differences.length, 0, reportOf(differences, differencesShown))
    }),
  )
}

test('a difference names the request and the first difference of its response', () => {
  const line: GoldenResponse = {
    stage: 'read',
    request: 'hoodi /v0/eth/validators/7',
    status: 200,
    headers: { 'x-tetrad-as-of': '12' },
    body: '{"data":[{"uptime":1}],"total":1}',
  }
  const golden = new Map([['read: hoodi /v0/eth/validators/7', line]])
  const textOf = (change: Partial<GoldenResponse>) =>
    differencesOf(golden, [{ ...line, ...change }]).map(({ text }) => text)
  assert.deepEqual(textOf({}), [])
  assert.deepEqual(textOf({ body: '{"data":[{"uptime":0.5}],"total":1}' }), ['body.data.0.uptime: 1 → 0.5'])
  assert.deepEqual(textOf({ body: '{"data":[],"total":1}' }), ['body.data: 1 → 0 items'])
  assert.deepEqual(textOf({ body: '{"data":[{}],"total":1}' }), ['body.data.0.uptime: 1 → absent'])
  assert.match(textOf({ body: '{"total":1,"data":[{"uptime":1}]}' })[0] ?? '', /^byte 2: …\{"data".*→ …\{"total"/)
  assert.deepEqual(textOf({ headers: {} }), ['headers {"x-tetrad-as-of":"12"} → {}'])
  assert.deepEqual(textOf({ status: 404 }), ['status 200 → 404: {"data":[{"uptime":1}],"total":1}'])
  assert.deepEqual(textOf({ stage: 'filled' }), ['is not in the golden file'])
})
